//! `devarray bench call`: order, search, sums by index and products on the device.

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use devarray::{Context, ErasedArray, StreamHandle, backend::Compute, function::ElementType};
use devarray_host::HostDevice;

use super::{Measurable, Measurement, heading};
use crate::{
    Status,
    bench::{CallLine, CallMeasured, Table, Target, beside_memcpy, call_input, cold_sets},
    functions::with_views,
    output::Output,
    steps::Step,
};

/// The calls that are measured if none is given: on hardware, and on devices in host memory.
const LIST: &[(&str, &str)] = &[
    ("sort;f32@N;axis=0", ""),
    ("sort;u8@N;axis=0", ""),
    ("argsort;f32@N;axis=0", ""),
    ("topk;f32@N;k=10,axis=0", ""),
    ("unique;u32@N", ""),
    ("searchsorted;f32@1048576,f32@N;side=left", "searchsorted;f32@1024,f32@N;side=left"),
    ("bincount;i32@N;n=10000", ""),
    ("histogram;u8@N,u8@65", ""),
    ("put;f32@10000,i32@N,f32@N;op=add,axis=0", ""),
    ("segments;f32@N,i64@10001;op=sum", ""),
    (
        "csr_dot;f32@10000000,i32@10000000,i32@1000001,f32@1000000",
        "csr_dot;f32@10000,i32@10000,i32@1001,f32@1000",
    ),
    ("nonzero;u8@N", ""),
    ("quantile;f32@N;q=0.5,axis=0", ""),
    ("matmul;f32@MxM,f32@MxM", ""),
    ("matmul;f64@MxM,f64@MxM/permute(1,0)", ""),
];

/// The arguments of `devarray bench call`.
#[derive(Debug, Args)]
#[command(after_help = "\
A CASE is NAME;INPUTS or NAME;INPUTS;ARGS: a call as of `devarray call`, its inputs, and its arguments.
  INPUTS  DTYPE@SHAPE or DTYPE@SHAPE/STEPS, separated by commas, as of `devarray bench compute`
  ARGS    NAME=VALUE, separated by commas; columns=stencil draws the columns of csr_dot as those of a grid
Elements are drawn: indices inside, rows of csr_dot of one length, offsets, bins and edges ascending.
GB/s count the least traffic: inputs once and results once, what is put into twice, of topk its input.

Examples:
  devarray bench call --backend cuda --json
  devarray bench call \"sort;f32@268435456;axis=0\" \"matmul;f32@4096x4096,f32@4096x4096/permute(1,0)\"
  devarray bench call --backend host \"put;f32@10000,i32@1000000,f32@1000000;op=add,axis=0\"

Exit status: 0 if every result was right, 1 if one was not, 2 if a case cannot be read or measured.")]
#[non_exhaustive]
pub struct Arguments {
    /// Where the calls are made
    #[arg(long, value_enum, default_value_t)]
    pub backend: Measurable,
    /// Print one JSON object a case
    #[arg(long)]
    pub json: bool,
    /// What to measure; a built-in list if none is given, of small arrays on the host and the simulator
    #[arg(value_name = "CASE")]
    pub cases: Vec<String>,
}

/// Runs the command.
///
/// # Errors
///
/// A case cannot be read, or the device fails.
pub fn run(arguments: &Arguments, output: &mut Output<'_>) -> Result<Status> {
    let (n, m) = if arguments.backend == Measurable::Cuda { (1 << 26, 4096) } else { (1 << 14, 64) };
    let listed = |&(large, small): &(&str, &str)| {
        let text = if small.is_empty() || arguments.backend == Measurable::Cuda { large } else { small };
        text.replace("@N", &format!("@{n}")).replace("MxM", &format!("{m}x{m}"))
    };
    let texts =
        if arguments.cases.is_empty() { LIST.iter().map(listed).collect() } else { arguments.cases.clone() };
    // All cases are read before any is run.
    let cases = texts.iter().map(|text| CallMeasured::parse(text)).collect::<Result<Vec<_>>>()?;
    arguments.backend.run(Calls { cases: &cases, json: arguments.json, output })
}

struct Calls<'a, 'o> {
    cases: &'a [CallMeasured],
    json: bool,
    output: &'a mut Output<'o>,
}

impl Measurement for Calls<'_, '_> {
    type Output = Status;

    fn measure<D: Target>(self, device: D) -> Result<Status> {
        let mut table = Table::begin_with(self.json, &heading(&device), "TFLOP/s", self.output)?;
        let stream = Context::new(device)?.stream()?;
        let host = Context::new(HostDevice::new())?.stream()?;
        let mut status = Status::Success;
        for case in self.cases {
            let named = || case.text.clone();
            let mut sets = Sets::new(&stream, case).with_context(named)?;
            let due = Sets::new(&host, case).and_then(|mut sets| sets.bytes()).with_context(named)?;
            let found = sets.bytes().with_context(named)?;
            if let Some(number) = (0..due.len()).find(|&number| due[number] != found[number]) {
                table.wrong(&case.text, &format!("result {number} is not the CPU's"), self.output)?;
                status = Status::Failed;
                continue;
            }
            let copied_bytes = (case.len_bytes / 2).max(1);
            let count = sets.sets.len();
            let timed = beside_memcpy(&stream, copied_bytes, count, &mut |set| sets.enqueue(set));
            table.line(&CallLine::new(case, timed.with_context(named)?), self.output)?;
        }
        table.end(self.output)?;
        Ok(status)
    }
}

/// Inputs, and their results.
type Set<D> = (Vec<ErasedArray<D>>, Vec<ErasedArray<D>>);

/// Inputs and results, in more sets than any cache holds.
struct Sets<'a, D: Compute> {
    stream: &'a StreamHandle<D>,
    case: &'a CallMeasured,
    sets: Vec<Set<D>>,
}

impl<'a, D: Compute> Sets<'a, D> {
    fn new(stream: &'a StreamHandle<D>, case: &'a CallMeasured) -> Result<Self> {
        let first = case
            .inputs
            .iter()
            .enumerate()
            .map(|(number, input)| {
                let item = input.element_type.len_bytes();
                ErasedArray::from_bytes(stream, &input.shape, item, &call_input(case, number))
            })
            .collect::<devarray::Result<Vec<_>>>()?;
        let set = || -> devarray::Result<_> {
            let inputs = first.iter().map(|input| input.view().to_contiguous(stream, devarray::Order::C));
            let results = case
                .outputs
                .iter()
                .map(|output| ErasedArray::uninit(stream, &output.shape, output.element_type.len_bytes()));
            Ok((inputs.collect::<Result<_, _>>()?, results.collect::<Result<_, _>>()?))
        };
        let count = cold_sets(case.len_bytes / 2 + 1);
        let sets = (0..count).map(|_| set()).collect::<devarray::Result<_>>()?;
        Ok(Self { stream, case, sets })
    }

    fn enqueue(&mut self, set: usize) -> Result<()> {
        let count = self.sets.len();
        let (inputs, results) = &mut self.sets[set % count];
        let steps: Vec<&[Step]> = self.case.inputs.iter().map(|input| &input.steps[..]).collect();
        let types: Vec<ElementType> = self.case.inputs.iter().map(|input| input.element_type).collect();
        let (stream, call) = (self.stream, &self.case.call);
        with_views(stream, inputs, &steps, &mut |views| {
            let inputs: Vec<_> = types.iter().copied().zip(views.iter().cloned()).collect();
            let mut results: Vec<_> = results.iter_mut().map(|result| Some(result.view_mut())).collect();
            Ok(call.apply_into(stream, &inputs, &mut results)?)
        })
    }

    /// The results of one call, as bytes.
    fn bytes(&mut self) -> Result<Vec<Vec<u8>>> {
        for (_, results) in &mut self.sets[..1] {
            for (result, output) in results.iter_mut().zip(&self.case.outputs) {
                ensure!(result.item_bytes() == output.element_type.len_bytes(), "a result of another type");
                let item = vec![0xa5; result.item_bytes()];
                result.view_mut().fill_bytes(self.stream, &item)?;
            }
        }
        self.enqueue(0)?;
        self.stream.synchronize()?;
        self.sets[0].1.iter().map(|result| Ok(result.view().to_bytes(self.stream)?)).collect()
    }
}
