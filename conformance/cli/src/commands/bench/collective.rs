//! `devarray bench collective`: exchanges between ranks, a thread and a device each.

mod case;
mod rank;

use std::thread;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, builder::RangedU64ValueParser};
use devarray::{Context, backend::Collects, collective::CommunicatorId};
use devarray_cuda::CudaDevice;
use devarray_host::HostDevice;
use devarray_mock::MockDevice;
use serde::Serialize;

use self::{
    case::Case,
    rank::{Found, Rank},
};
use super::{Measurable, heading};
use crate::{Status, backend::enough_devices, bench::median, limits, output::Output};

/// The arguments of `devarray bench collective`.
#[derive(Debug, Args)]
#[command(after_help = "\
A CASE is NAME;DTYPE@COUNT, such as \"all_reduce;f32@67108864\".
  NAME   all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, or send
  DTYPE  u8, i32, f32 or f64
  COUNT  elements that a rank gives, or gets from all_gather; rounded up to whole parts
Seconds are the slowest rank's, for each of many calls in a row: a call whose ranks compare theirs first,
and a call of an unchecked communicator. GB/s are of the bus: bytes a second, times 2(n-1)/n for all_reduce,
(n-1)/n for all_gather, reduce_scatter and all_to_all, and 1 for broadcast and send, of n ranks.

Examples:
  devarray bench collective --backend cuda --ranks 8
  devarray bench collective --backend cuda --ranks 2 --json \"all_reduce;f32@67108864\"
  devarray bench collective --backend host --ranks 4 \"send;u8@1048576\"

Exit status: 0 if every result was right, 1 if one was not, 2 if a case cannot be read or measured.")]
#[non_exhaustive]
pub struct Arguments {
    /// Where the ranks are; on CUDA each has a device of its own
    #[arg(long, value_enum, default_value_t)]
    pub backend: Measurable,
    /// The number of ranks
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = RangedU64ValueParser::<usize>::new().range(1..=limits::RANKS as u64))]
    pub ranks: usize,
    /// Print one JSON object a case
    #[arg(long)]
    pub json: bool,
    /// Exchanges to measure; otherwise each with 8 bytes, 4 KiB, 1 MiB and 256 MiB of f32, with less on the simulator
    #[arg(value_name = "CASE")]
    pub cases: Vec<String>,
}

/// One measured exchange.
#[derive(Debug, Serialize)]
struct Line {
    case: String,
    ranks: usize,
    /// Bytes that a rank gives; of all_gather, that it gets.
    bytes: usize,
    median_s: f64,
    bus_gbps: f64,
    unchecked_s: f64,
    unchecked_bus_gbps: f64,
}

/// Runs the command.
///
/// # Errors
///
/// A case cannot be read, there are fewer devices than ranks, or a device fails.
pub fn run(arguments: &Arguments, output: &mut Output<'_>) -> Result<Status> {
    let ranks = arguments.ranks;
    let is_simulated = arguments.backend == Measurable::Mock;
    let cases = match arguments.cases.as_slice() {
        [] => case::defaults(ranks, is_simulated),
        texts => texts.iter().map(|text| text.parse()).collect::<Result<Vec<Case>>>()?,
    };
    if let Some(case) = cases.iter().find(|case| ranks < case.least_ranks()) {
        bail!("{case}: takes two ranks or more");
    }
    let collectives = Collectives { arguments, cases: &cases, output };
    match arguments.backend {
        Measurable::Cuda => {
            enough_devices(ranks, devarray_cuda::devices().context("no CUDA device can be used")?.len())?;
            collectives.measure((0..ranks).map(CudaDevice::open).collect::<devarray::Result<_>>()?)
        }
        Measurable::Host => {
            // Ranks share the machine.
            let threads = (HostDevice::new().threads() / ranks).max(1);
            let open = |_| HostDevice::builder().threads(threads).build();
            collectives.measure((0..ranks).map(open).collect())
        }
        Measurable::Mock => {
            let first = MockDevice::new();
            let open = |rank| if rank == 0 { first.clone() } else { first.sibling() };
            collectives.measure((0..ranks).map(open).collect())
        }
    }
}

struct Collectives<'a, 'o> {
    arguments: &'a Arguments,
    cases: &'a [Case],
    output: &'a mut Output<'o>,
}

impl Collectives<'_, '_> {
    fn measure<D: Collects>(self, devices: Vec<D>) -> Result<Status> {
        let Self { arguments, cases, output } = self;
        let (json, count) = (arguments.json, devices.len());
        if !json {
            output
                .line(format_args!("{}; {count} ranks", devices.first().map(heading).unwrap_or_default()))?;
            output.line(format_args!(
                "{:<32}{:>12}{:>12}{:>10}{:>14}{:>10}",
                "case", "bytes", "median µs", "GB/s", "unchecked µs", "GB/s"
            ))?;
        }
        let contexts = devices.into_iter().map(Context::new).collect::<devarray::Result<Vec<_>>>()?;
        let id = CommunicatorId::with_time_limit(rank::TIME_LIMIT);
        let joined = on_each(contexts.iter().enumerate().collect(), |(number, context)| {
            Rank::join(context, &id, number, count)
        });
        let mut ranks = all_of(joined)?;
        let mut status = Status::Success;
        for case in cases {
            let found = on_each(ranks.iter_mut().collect(), |rank| rank.measure(case));
            let found = all_of(found).with_context(|| case.to_string())?;
            if let Some(wrong) = found.iter().find_map(|found| found.wrong.as_deref()) {
                if json {
                    output.line(serde_json::json!({ "case": case.to_string(), "error": wrong }))?;
                } else {
                    output.line(format_args!("{case}: wrong: {wrong}"))?;
                }
                status = Status::Failed;
                continue;
            }
            let line = Line::new(case, count, &found);
            if json {
                output.line(serde_json::to_string(&line)?)?;
            } else {
                let Line { case, bytes, median_s, bus_gbps, unchecked_s, unchecked_bus_gbps, .. } = line;
                output.line(format_args!(
                    "{case:<32}{bytes:>12}{:>12.1}{bus_gbps:>10.2}{:>14.1}{unchecked_bus_gbps:>10.2}",
                    median_s * 1e6,
                    unchecked_s * 1e6
                ))?;
            }
            // A long list is watched while it runs.
            output.flush()?;
        }
        Ok(status)
    }
}

impl Line {
    fn new(case: &Case, ranks: usize, found: &[Found]) -> Self {
        // A round takes as long as its slowest rank.
        let seconds = |of: fn(&Found) -> &[f64]| {
            let rounds = found.iter().map(|found| of(found).len()).max().unwrap_or(0);
            let slowest =
                |round| found.iter().filter_map(|found| of(found).get(round)).copied().fold(0.0, f64::max);
            median((0..rounds).map(slowest).collect())
        };
        let bytes = case.bytes(ranks);
        let (median_s, unchecked_s) = (seconds(|found| &found.checked), seconds(|found| &found.unchecked));
        // Exact to 2^53 bytes, and a rate is rounded anyway.
        let moved = bytes as f64 * case.factor(ranks) / 1e9;
        Self {
            case: case.to_string(),
            ranks,
            bytes,
            median_s,
            bus_gbps: moved / median_s,
            unchecked_s,
            unchecked_bus_gbps: moved / unchecked_s,
        }
    }
}

/// Does something on a thread for each.
fn on_each<T: Send, R: Send>(all: Vec<T>, run: impl Fn(T) -> Result<R> + Sync) -> Vec<Result<R>> {
    let run = &run;
    thread::scope(|scope| {
        let start = |one| scope.spawn(move || run(one));
        let threads: Vec<_> = all.into_iter().map(start).collect();
        let ended = |thread: thread::ScopedJoinHandle<'_, Result<R>>| {
            thread.join().unwrap_or_else(|_| Err(anyhow!("the thread of a rank panicked")))
        };
        threads.into_iter().map(ended).collect()
    })
}

/// The outcomes of all, or the error that came first, rather than one by which others were told of it.
fn all_of<R>(outcomes: Vec<Result<R>>) -> Result<Vec<R>> {
    let is_told =
        |error: &anyhow::Error| matches!(error.downcast_ref(), Some(devarray::Error::Collective { .. }));
    let mut all = Vec::new();
    let mut told = None;
    for outcome in outcomes {
        match outcome {
            Ok(one) => all.push(one),
            Err(error) if is_told(&error) => told = told.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    told.map_or(Ok(all), Err)
}
