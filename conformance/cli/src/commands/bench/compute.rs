//! `devarray bench compute`: functions, reductions and scans on the device.

mod latency;
mod sets;

use anyhow::{Context as _, Result};
use clap::Args;
use devarray::{Context, StreamHandle};
use devarray_mock::MockDevice;

use self::{latency::microseconds, sets::Sets};
use super::{Measurable, Measurement, heading};
use crate::{
    Status,
    bench::{
        ComputeCase, ComputeLine, ListSize, SMALL, SmallResult, Table, Target, beside_memcpy, cold_sets,
        compute_list,
    },
    output::Output,
};

/// The arguments of `devarray bench compute`.
#[derive(Debug, Args)]
#[command(after_help = "\
A CASE is NAME;EXPR;INPUTS or NAME;EXPR;INPUTS;REDUCE: an expression as of `devarray map`, its inputs x0, x1 ... and, if
given, what the elements are reduced to. The result goes into a C-contiguous array.
  INPUTS  DTYPE@SHAPE or DTYPE@SHAPE/STEPS, separated by commas: f32@16384x16384/permute(1,0),f32@16384
  STEPS   permute(1,0)  index(::2,...,None)  flip(0)  broadcast(4,3)  reshape(2,-1)  squeeze(), separated by `/`
  REDUCE  sum prod min max argmin argmax any all count_nonzero mean var std, of all axes, or of some: sum@0,1
          cumsum cumprod cummin cummax along an axis: cumsum@0; of x0 alone: softmax@1 log_softmax@1
          normal uniform: random numbers in place of the elements of x0, which are not read
Scalars are written as literals. GB/s count the least traffic: the selected elements of each input once, and the result.

Examples:
  devarray bench compute --backend cuda --json
  devarray bench compute --backend cuda \"tadd;x0 + x1;f32@16384x16384/permute(1,0),f32@16384x16384\"
  devarray bench compute --backend mock \"sum1;x0;f32@64x64;sum@1\"

Exit status: 0 if every result was right, 1 if one was not, 2 if a case cannot be read or measured.")]
#[non_exhaustive]
pub struct Arguments {
    /// Where it is computed
    #[arg(long, value_enum, default_value_t)]
    pub backend: Measurable,
    /// Print one JSON object a case
    #[arg(long)]
    pub json: bool,
    /// What to compute; a built-in list if none is given, of small arrays on the host and the simulator
    #[arg(value_name = "CASE")]
    pub cases: Vec<String>,
}

/// Runs the command.
///
/// # Errors
///
/// A case cannot be read or has no result, or the device fails.
pub fn run(arguments: &Arguments, output: &mut Output<'_>) -> Result<Status> {
    let size = match arguments.backend {
        Measurable::Cuda => ListSize::Large,
        Measurable::Host | Measurable::Mock => ListSize::Small,
    };
    let is_list = arguments.cases.is_empty();
    let texts = if is_list { compute_list(size) } else { arguments.cases.clone() };
    // All cases are read before any is run.
    let cases = texts.iter().map(|text| ComputeCase::parse(text)).collect::<Result<Vec<_>>>()?;
    let small = if is_list { &SMALL[..] } else { &[] };
    let small = small.iter().map(|&(text, result)| Ok((ComputeCase::parse(text)?, result)));
    let small = small.collect::<Result<Vec<_>>>()?;
    let simulator = Context::new(MockDevice::new())?.stream()?;
    let mut table = arguments.backend.run(Begin { is_json: arguments.json, output })?;
    let mut is_right = true;
    // Each case has its own device, so that nothing is compiled yet.
    for case in &cases {
        let large = Large { case, simulator: &simulator, table: &mut table, output };
        is_right &= arguments.backend.run(large)?;
    }
    table.end(output)?;
    for (case, result) in &small {
        let json = arguments.json;
        is_right &=
            arguments.backend.run(Small { case, result: *result, simulator: &simulator, json, output })?;
    }
    Ok(if is_right { Status::Success } else { Status::Failed })
}

/// The heading of the table.
struct Begin<'a, 'o> {
    is_json: bool,
    output: &'a mut Output<'o>,
}

impl Measurement for Begin<'_, '_> {
    type Output = Table;

    fn measure<D: Target>(self, device: D) -> Result<Table> {
        Table::begin_with(self.is_json, &heading(&device), "first ms", self.output)
    }
}

/// One case of the large list, measured by its traffic. Returns whether its result is right.
struct Large<'a, 'o> {
    case: &'a ComputeCase,
    simulator: &'a StreamHandle<MockDevice>,
    table: &'a mut Table,
    output: &'a mut Output<'o>,
}

impl Measurement for Large<'_, '_> {
    type Output = bool;

    fn measure<D: Target>(self, device: D) -> Result<bool> {
        let Self { case, simulator, table, output } = self;
        let name = || case.name.clone();
        let stream = Context::new(device)?.stream()?;
        // A copy that moves the same number of bytes reads half of them and writes half.
        let copied_bytes = (case.len_bytes / 2).max(1);
        let count = cold_sets(copied_bytes);
        let mut sets = Sets::new(&stream, case, count).with_context(name)?;
        let first_s = sets.first().with_context(name)?;
        if let Err(cause) = sets.check(simulator).with_context(name)? {
            table.wrong(&case.name, &cause, output)?;
            return Ok(false);
        }
        sets.prepare().with_context(name)?;
        let [median_s, copy_s] =
            beside_memcpy(&stream, copied_bytes, count, &mut |set| sets.enqueue(set)).with_context(name)?;
        // Exact up to 2^53 bytes, and a rate is rounded anyway.
        let gbps = case.len_bytes as f64 / 1e9 / median_s;
        let memcpy_gbps = copied_bytes as f64 * 2.0 / 1e9 / copy_s;
        let (bytes, ratio, first_ms) = (case.len_bytes, gbps / memcpy_gbps, first_s * 1e3);
        let line = ComputeLine { case: name(), bytes, median_s, gbps, memcpy_gbps, ratio, first_ms };
        table.line(&line, output)?;
        Ok(true)
    }
}

/// One case of the small list, measured by the time of a call. Returns whether its result is right.
struct Small<'a, 'o> {
    case: &'a ComputeCase,
    result: SmallResult,
    simulator: &'a StreamHandle<MockDevice>,
    json: bool,
    output: &'a mut Output<'o>,
}

impl Measurement for Small<'_, '_> {
    type Output = bool;

    fn measure<D: Target>(self, device: D) -> Result<bool> {
        let Self { case, result, simulator, json, output } = self;
        let name = || case.name.clone();
        let stream = Context::new(device)?.stream()?;
        let mut sets = Sets::new(&stream, case, 1).with_context(name)?;
        sets.first().with_context(name)?;
        let wrong = sets.check(simulator).with_context(name)?.err();
        let line = match wrong {
            Some(ref cause) => serde_json::json!({ "case": case.name, "error": cause }),
            None => {
                let us = microseconds(&stream, &mut sets, result).with_context(name)?;
                serde_json::json!({ "case": case.name, "us": us })
            }
        };
        if json {
            output.line(line)?;
        } else {
            let what = line.get("us").and_then(serde_json::Value::as_f64);
            match what {
                Some(us) => output.line(format_args!("{:<56}{us:>26.1} µs a call", case.name))?,
                None => output.line(format_args!("{}: wrong: {}", case.name, line["error"]))?,
            }
        }
        output.flush()?;
        Ok(wrong.is_none())
    }
}
