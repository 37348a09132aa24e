//! `devarray map`: computes a function of array files on a device.

use std::{path::PathBuf, time::Instant};

use anyhow::{Context as _, Error, Result, ensure};
use clap::Args;
use devarray::{Context, ErasedArray, NdLayout, Order, backend::Compute, function::ElementType, npy::Header};

use super::array_files::{Destination, Sink, Stage, dense, download, file_order, open, upload};
use crate::{
    Status,
    backend::Backend,
    functions::{self, Call, OfElements},
    output::Output,
};

/// The arguments of `devarray map`.
#[derive(Debug, Args)]
#[command(after_help = "\
The expression has Python's precedence. Its inputs are x0, x1 ... in the order of the files, its scalars k0, k1 ...,
and i0, i1 ... are positions along the axes. A literal takes the type of what stands beside it; types never mix
silently: write `cast(x0, f32)`. Operators and functions:
  + - * / // % **   == != < <= > >=   & | ^ ~ << >>   where(c,a,b)  clip(x,lo,hi)  fma(a,b,c)  cast(a,TYPE)
  abs sign square sqrt rsqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh
  asinh acosh atanh erf erfc sigmoid floor ceil trunc rint atan2 hypot copysign fmod minimum maximum fmin fmax
  isnan isinf isfinite signbit bitwise_count bitcast(a,TYPE) reciprocal nextafter logaddexp

Examples:
  devarray map \"x0 * 2.5 + x1\" a.npy b.npy -o out.npy
  devarray map \"x0 * k0\" a.npy -o out.npy --scalar k0=f32:2.5
  devarray map \"(cast(x0, f32) / 255 - x1) / x2\" images.npy mean.npy std.npy -o normal.npy
  devarray map \"x0 * x1\" a.npy b.npy -o dots.npy --reduce sum --axes 1
  devarray map x0 a.npy -o means.npy --reduce mean --axes 0,1 --keepdims
  devarray map x0 a.npy -o running.npy --scan sum --axis 0
  devarray map \"x0 > 0\" a.npy -o - --quiet | sha256sum")]
#[non_exhaustive]
pub struct Arguments {
    /// What is computed for each element
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub expression: String,
    /// The array files to read: bool, integers of 8 to 64 bits, floats of 16, 32 and 64 bits
    #[arg(value_name = "IN.npy")]
    pub inputs: Vec<PathBuf>,
    /// The array file to write; `-` is standard output, and what is said goes to standard error
    #[arg(short, long = "out", value_name = "OUT.npy")]
    pub output: PathBuf,
    /// A scalar of the expression: its name, type and value, such as k0=f32:2.5
    #[arg(long = "scalar", value_name = "NAME=TYPE:VALUE")]
    pub scalars: Vec<String>,
    /// Reduce what is computed: sum prod min max argmin argmax any all count_nonzero mean var std
    #[arg(long, value_name = "OPERATION", conflicts_with = "scan")]
    pub reduce: Option<String>,
    /// The axes to reduce, separated by commas; all if not given
    #[arg(
        long,
        requires = "reduce",
        conflicts_with = "scan",
        value_name = "AXES",
        allow_hyphen_values = true
    )]
    pub axes: Option<String>,
    /// Keep reduced axes, with extent 1
    #[arg(long, requires = "reduce", conflicts_with = "scan")]
    pub keepdims: bool,
    /// Cast elements to this type before they are reduced
    #[arg(long, requires = "reduce", conflicts_with = "scan", value_name = "TYPE")]
    pub dtype: Option<String>,
    /// What is taken from the count that var and std divide by
    #[arg(
        long,
        requires = "reduce",
        conflicts_with = "scan",
        value_name = "N",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub ddof: u64,
    /// Combine each element with those before it: sum prod min max
    #[arg(long, requires = "axis", value_name = "OPERATION")]
    pub scan: Option<String>,
    /// The axis to go along
    #[arg(
        long,
        requires = "scan",
        conflicts_with = "reduce",
        value_name = "AXIS",
        allow_negative_numbers = true
    )]
    pub axis: Option<isize>,
    /// Combine only what is before each element
    #[arg(long, requires = "scan", conflicts_with = "reduce")]
    pub exclusive: bool,
    /// Where it is computed
    #[arg(long, value_enum, default_value_t)]
    pub backend: Backend,
}

/// Runs the command.
///
/// # Errors
///
/// The expression, a scalar or an operation cannot be read, a file cannot be read or written,
/// shapes do not fit, or the device fails.
pub fn run(arguments: &Arguments, output: &mut Output<'_>) -> Result<Status> {
    map(arguments.backend.open()?, arguments, output)
}

/// Runs the command on a device.
///
/// # Errors
///
/// The errors of [`run`].
pub fn map<D: Compute>(device: D, arguments: &Arguments, output: &mut Output<'_>) -> Result<Status> {
    // Everything that can be wrong is checked before the first element is read.
    let of_elements = of_elements(arguments)?;
    let scalars = functions::parse_scalars(&arguments.scalars)?;
    let (mut inputs, mut input_types) = (Vec::new(), Vec::new());
    for path in &arguments.inputs {
        let name = || path.display().to_string();
        let input = open(path).with_context(name)?;
        input_types.push(functions::element_type(&input.header().descr).with_context(name)?);
        inputs.push((input, path));
    }
    let scalar_types: Vec<ElementType> = scalars.iter().map(|scalar| scalar.element_type).collect();
    let scalars: Vec<u64> = scalars.iter().map(|scalar| scalar.bits).collect();
    let function = functions::parsed(&arguments.expression, &input_types, &scalar_types)?;
    let result_type = OfElements::result_type(of_elements.as_ref(), function.result_type());
    let descr = functions::descr(result_type)?;
    let shapes: Vec<&[usize]> = inputs.iter().map(|(input, _)| &input.header().shape[..]).collect();
    functions::check(&function, &shapes, &scalars, of_elements.as_ref())
        .with_context(|| described(&arguments.inputs, &shapes))?;

    let mut sink = Sink::new(Destination::create(&arguments.output)?, output);
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

    let (begun, mut stage) = (Instant::now(), Stage::new("compute"));
    let views: Vec<_> = arrays.iter().map(ErasedArray::view).collect();
    let call =
        Call { function: &function, inputs: &views, scalars: &scalars, of_elements: of_elements.as_ref() };
    let result = call.compute(&stream)?;
    let view = result.view();
    let order = if !view.is_c_contiguous() && view.is_f_contiguous() { Order::F } else { Order::C };
    let dense = dense(&stream, &view, order)?;
    stream.synchronize()?;
    let item_bytes = view.item_bytes();
    stage.lasted(begun.elapsed(), moved_bytes.saturating_add(view.layout().len() * item_bytes));
    sink.news(&stage)?;
    let header = Header::new(descr, file_order(view.shape(), order)?, view.shape())?;
    let (download, write) = download(&stream, &dense.view(), &header, order, &mut sink)?;
    sink.news(download)?;
    sink.news(write)?;
    Ok(Status::Success)
}

/// The call on the elements that the arguments ask for.
fn of_elements(arguments: &Arguments) -> Result<Option<OfElements>> {
    let Arguments { reduce, axes, keepdims, dtype, ddof, scan, axis, exclusive, .. } = arguments;
    if let Some(name) = reduce {
        ensure!(
            *ddof == 0 || matches!(&name[..], "var" | "std"),
            "--ddof: {name} divides by no count that it could be taken from"
        );
        let axes = axes.as_deref().map(parse_axes).transpose()?;
        let element_type = |name: &String| {
            ElementType::from_name(name).with_context(|| format!("--dtype: {name:?} is no element type"))
        };
        let element_type = dtype.as_ref().map(element_type).transpose()?;
        let reduced = OfElements::reduced(name, axes.as_deref(), *keepdims, element_type, *ddof);
        return reduced.map(Some).map_err(|error| Error::msg(format!("--reduce: {error}")));
    }
    let (Some(name), Some(axis)) = (scan, axis) else { return Ok(None) };
    let running = OfElements::running(name, *axis, *exclusive);
    running.map(Some).map_err(|error| Error::msg(format!("--scan: {error}")))
}

/// Axes separated by commas; no axes in an empty text.
fn parse_axes(text: &str) -> Result<Vec<isize>> {
    let axis = |part: &str| {
        part.trim().parse().with_context(|| format!("--axes: {text:?} is no list of axes such as 0,1"))
    };
    if text.trim().is_empty() { Ok(Vec::new()) } else { text.split(',').map(axis).collect() }
}

/// The files and shapes of all inputs, for messages.
fn described(paths: &[PathBuf], shapes: &[&[usize]]) -> String {
    let one =
        |(at, (path, shape)): (usize, (&PathBuf, &&[usize]))| format!("x{at} {} {shape:?}", path.display());
    let all: Vec<String> = paths.iter().zip(shapes).enumerate().map(one).collect();
    if all.is_empty() { "without inputs".to_owned() } else { format!("inputs {}", all.join(", ")) }
}
