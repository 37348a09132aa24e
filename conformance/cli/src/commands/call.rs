//! `devarray call`: makes an order call or a matrix product on array files.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use devarray::{
    Context, ErasedArray, Order, StreamHandle, backend::Compute, function::ElementType, npy::Header,
};

use super::array_files::{Destination, Sink, Stage, download, file_order, open, upload};
use crate::{
    Status,
    backend::Backend,
    calls::{self, AnyCall, argument},
    functions,
    output::{Output, is_standard_output},
};

/// The arguments of `devarray call`.
#[derive(Debug, Args)]
#[command(after_help = "\
Calls, their inputs, their arguments (default), and below their results:
  sort, argsort  x             axis descending(false)
                 the elements in order; their positions
  topk           x             k axis largest(true)
                 the first k of the order, and their positions
  unique         x             -
                 the distinct elements, where each is first, which each element of x is,
                 how many there are of each
  searchsorted   ascending v   side=left|right
                 how many are below each of v, or not above it
  bincount       x [weights]   n
                 how many are 0 ... n-1, or the sums of their weights
  histogram      x edges       -
                 how many are in each interval
  put            x indices v   op=add|minimum|maximum axis
                 x, with each slice of v combined into its place
  segments       x offsets     op=sum|minimum|maximum
                 the slices between neighbouring offsets, combined
  csr_dot        values        -
                 columns offsets x
                 the rows of a sparse matrix times a vector, or the columns of a matrix
  nonzero        x             -
                 the positions of what is not zero, as rows
  quantile       x             q axis
                 what is at q (n - 1) of the order
  matmul         a b           -
                 the matrix product, by NumPy's rules of shapes

What contains `=` behind a name of small letters is an argument; write ./a=b.npy for a
file of such a name.

Examples:
  devarray call sort a.npy -o sorted.npy axis=-1 descending=true
  devarray call topk a.npy -o values.npy,positions.npy k=10 axis=0
  devarray call unique a.npy -o ,,inverse.npy
  devarray call put y.npy rows.npy v.npy -o sums.npy op=add axis=0
  devarray call matmul a.npy b.npy -o product.npy
  devarray call bincount labels.npy -o - n=10 --quiet | sha256sum")]
#[non_exhaustive]
pub struct Arguments {
    /// The call
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The array files to read, and the arguments as NAME=VALUE, in any order
    #[arg(required = true, value_name = "IN.npy|ARGUMENT=VALUE")]
    pub inputs: Vec<PathBuf>,
    /// The array files to write, one a result, separated by commas; a result without a name is not
    /// made. `-` is standard output, and what is said goes to standard error
    #[arg(short, long = "out", value_name = "OUT.npy,...")]
    pub outputs: String,
    /// Where the call is made
    #[arg(long, value_enum, default_value_t)]
    pub backend: Backend,
}

/// Runs the command.
///
/// # Errors
///
/// There is no such call, an argument cannot be read, a file cannot be read or written, types or
/// shapes do not fit, an index is out of range, or the device fails.
pub fn run(arguments: &Arguments, output: &mut Output<'_>) -> Result<Status> {
    call(arguments.backend.open()?, arguments, output)
}

/// Runs the command on a device.
///
/// # Errors
///
/// The errors of [`run`].
pub fn call<D: Compute>(device: D, arguments: &Arguments, output: &mut Output<'_>) -> Result<Status> {
    // Everything that can be wrong is checked before the first element is read.
    let (paths, call) = parsed(arguments)?;
    let (mut inputs, mut types) = (Vec::new(), Vec::new());
    for path in &paths {
        let name = || path.display().to_string();
        let input = open(path).with_context(name)?;
        types.push(functions::element_type(&input.header().descr).with_context(name)?);
        inputs.push((input, *path));
    }
    let shapes: Vec<_> =
        types.iter().copied().zip(inputs.iter().map(|(input, _)| &input.header().shape[..])).collect();
    let results = call.outputs(&shapes).with_context(|| described(&paths, &shapes))?;
    let names = output_names(&arguments.outputs, &call)?;
    let wanted: Vec<bool> = names.iter().map(Option::is_some).collect();
    let descrs =
        results.iter().map(|result| functions::descr(result.element_type)).collect::<Result<Vec<_>, _>>()?;

    // Results that cannot be written are reported before anything is computed.
    let destinations = names.iter().flatten().map(|name| Destination::create(name));
    let mut destinations = destinations.collect::<Result<Vec<_>>>()?.into_iter();
    let mut sink = Sink::new(destinations.next().context("-o: no name")?, output);
    sink.news(format_args!("{}: {}", device.info().backend, device.info().name))?;
    let context = Context::new(device)?;
    let stream = context.stream()?;
    let (mut reading, mut uploading) = (Stage::new("read"), Stage::new("upload"));
    let (mut arrays, mut moved_bytes) = (Vec::new(), 0_usize);
    for (input, path) in inputs {
        moved_bytes = moved_bytes.saturating_add(input.len_bytes());
        let array = upload(input, path, &stream, (&mut reading, &mut uploading), sink.is_quiet());
        arrays.push(array.with_context(|| path.display().to_string())?);
    }
    uploading.time(0, || stream.synchronize())?;
    sink.news(reading)?;
    sink.news(uploading)?;

    let (begun, mut stage) = (Instant::now(), Stage::new("call"));
    let views: Vec<_> = types.iter().copied().zip(arrays.iter().map(ErasedArray::view)).collect();
    let made = call.apply_to_some(&stream, &views, &wanted)?;
    stream.synchronize()?;
    let written = made.iter().flatten().map(|array| array.layout().len() * array.item_bytes());
    stage.lasted(begun.elapsed(), moved_bytes.saturating_add(written.sum()));
    sink.news(&stage)?;
    for (array, descr) in made.iter().zip(descrs) {
        if let Some(array) = array {
            write(&stream, array, descr, &mut sink)?;
            if let Some(next) = destinations.next() {
                sink.switch_to(next);
            }
        }
    }
    Ok(Status::Success)
}

fn write<D: Compute>(
    stream: &StreamHandle<D>,
    array: &ErasedArray<D>,
    descr: &str,
    sink: &mut Sink<'_, '_>,
) -> Result<()> {
    let (view, order) = (array.view(), Order::C);
    let header = Header::new(descr, file_order(view.shape(), order)?, view.shape())?;
    let (download, write) = download(stream, &view, &header, order, sink)?;
    sink.news(download)?;
    sink.news(write)
}

/// The files, and the call with its arguments.
fn parsed(arguments: &Arguments) -> Result<(Vec<&Path>, AnyCall)> {
    let (mut paths, mut given) = (Vec::new(), calls::Arguments::new());
    for text in &arguments.inputs {
        match text.to_str().and_then(argument) {
            Some((name, value)) => {
                ensure!(given.insert(name.clone(), value).is_none(), "`{name}` is given twice");
            }
            None => paths.push(text.as_path()),
        }
    }
    match AnyCall::named(&arguments.name, &given) {
        Ok(call) => Ok((paths, call)),
        Err(message) => bail!(message),
    }
}

/// A name for each result of the call; none for a result that is not wanted.
fn output_names<'a>(names: &'a str, call: &AnyCall) -> Result<Vec<Option<&'a Path>>> {
    let count = call.count_of_outputs();
    let mut all: Vec<_> = names.split(',').map(|name| (!name.is_empty()).then(|| Path::new(name))).collect();
    ensure!(all.len() <= count, "-o: {} names, {} has {count} results", all.len(), call.name());
    let given: Vec<&Path> = all.iter().flatten().copied().collect();
    for (at, name) in given.iter().enumerate() {
        let is_alone = given.len() == 1 || !is_standard_output(name);
        ensure!(is_alone && !given[..at].contains(name), "-o: {} is given to two results", name.display());
    }
    all.resize(count, None);
    Ok(all)
}

/// The files, types and shapes of all inputs, for messages.
fn described(paths: &[&Path], inputs: &[(ElementType, &[usize])]) -> String {
    let one = |(path, (of, shape)): (&&Path, &(ElementType, &[usize]))| {
        format!("{} {of} {shape:?}", path.display())
    };
    let all: Vec<String> = paths.iter().zip(inputs).map(one).collect();
    all.join(", ")
}
