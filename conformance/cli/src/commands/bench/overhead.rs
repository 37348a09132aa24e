//! `devarray bench overhead`: the time that one call takes on the host.

use std::{hint::black_box, time::Instant};

use anyhow::Result;
use clap::Args;
use devarray::{Context, ErasedArray, Order, StreamHandle, ix, layout::IndexItem};
use serde::Serialize;

use super::{Measurable, Measurement, heading};
use crate::{
    Status,
    bench::{RawCalls, Seconds, Target, UntrackedCopy, interleaved},
    output::Output,
};

/// The arguments of `devarray bench overhead`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  devarray bench overhead --backend cuda
  devarray bench overhead --backend mock --json")]
#[non_exhaustive]
pub struct Arguments {
    /// Where the calls are made
    #[arg(long, value_enum, default_value_t)]
    pub backend: Measurable,
    /// Print one JSON object a call
    #[arg(long)]
    pub json: bool,
}

/// The number of calls in a round: so few that no queue of the driver fills up.
const CALLS: u32 = 64;
/// The number of rounds from which the median is taken.
const ROUNDS: usize = 201;
/// The number of bytes in a small copy and in a small allocation.
const SMALL_BYTES: usize = 4096;

/// One kind of call.
#[derive(Debug, Serialize)]
struct Line {
    call: &'static str,
    ns: f64,
    /// The time of the driver's own calls for the same work, if there are any.
    raw_ns: Option<f64>,
    ratio: Option<f64>,
}

/// Runs the command.
///
/// # Errors
///
/// The device fails.
pub fn run(arguments: &Arguments, output: &mut Output<'_>) -> Result<Status> {
    arguments.backend.run(Overhead { json: arguments.json, output })
}

struct Overhead<'a, 'o> {
    json: bool,
    output: &'a mut Output<'o>,
}

impl Measurement for Overhead<'_, '_> {
    type Output = Status;

    fn measure<D: Target>(self, device: D) -> Result<Status> {
        if !self.json {
            self.output.line(heading(&device))?;
            self.output.line(format_args!("{:<44}{:>10}{:>10}{:>8}", "call", "ns", "raw ns", "ratio"))?;
        }
        let context = Context::new(device)?;
        let (stream, waiter) = (context.stream()?, context.stream()?);
        let mut lines = layouts(&stream)?;
        let raw = D::raw_calls(&stream, &waiter)?;
        lines.extend(memory(&stream, raw.as_deref())?);
        lines.extend(events(&stream, &waiter, raw.as_deref())?);
        for line in &lines {
            if self.json {
                self.output.line(serde_json::to_string(line)?)?;
            } else {
                let show =
                    |value: Option<f64>, digits| value.map_or("-".to_owned(), |v| format!("{v:.digits$}"));
                let (raw, ratio) = (show(line.raw_ns, 1), show(line.ratio, 3));
                self.output.line(format_args!("{:<44}{:>10.1}{raw:>10}{ratio:>8}", line.call, line.ns))?;
            }
        }
        Ok(Status::Success)
    }
}

/// The seconds of a call, on the host's clock.
fn each(mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    let begun = Instant::now();
    for _ in 0..CALLS {
        call()?;
    }
    Ok(begun.elapsed().as_secs_f64() / f64::from(CALLS))
}

fn line(call: &'static str, seconds: f64, raw: Option<f64>) -> Line {
    Line { call, ns: seconds * 1e9, raw_ns: raw.map(|raw| raw * 1e9), ratio: raw.map(|raw| seconds / raw) }
}

/// Measures calls of the library and, if there are any, calls of the driver next to them. No work
/// is pending at the start and at the end of a round.
fn beside<D: Target>(
    stream: &StreamHandle<D>,
    call: Seconds<'_>,
    raw: Option<Seconds<'_>>,
) -> Result<(f64, Option<f64>)> {
    let mut call = || {
        let seconds = call()?;
        stream.synchronize()?;
        Ok(seconds)
    };
    let Some(raw) = raw else { return Ok((interleaved(ROUNDS, [&mut call])?[0], None)) };
    let mut raw = || {
        let seconds = raw()?;
        stream.synchronize()?;
        Ok(seconds)
    };
    let [call, raw] = interleaved(ROUNDS, [&mut call, &mut raw])?;
    Ok((call, Some(raw)))
}

/// Operations on views, which do not reach the device.
fn layouts<D: Target>(stream: &StreamHandle<D>) -> Result<Vec<Line>> {
    let array = ErasedArray::zeros(stream, &[8, 6, 4, 2], 4)?;
    let (view, row) = (array.view(), ErasedArray::zeros(stream, &[384], 4)?);
    let row = row.view();
    let (half, one): (&[IndexItem], &[IndexItem]) = (&ix![1..7, ..; 2], &ix![3]);
    let mut lines = Vec::new();
    let mut measure = |name, call: &mut dyn FnMut() -> devarray::Result<bool>| -> Result<()> {
        let mut calls = || each(|| Ok(black_box(call()).map(drop)?));
        lines.push(line(name, interleaved(ROUNDS, [&mut calls])?[0], None));
        Ok(())
    };
    measure("permute, 4 axes", &mut || Ok(black_box(view.permute(&[3, 1, 0, 2])?).is_empty()))?;
    measure("transpose, 4 axes", &mut || Ok(black_box(view.transpose()).is_empty()))?;
    measure("index, two slices", &mut || Ok(black_box(view.index(half)?).is_empty()))?;
    measure("index, one integer", &mut || Ok(black_box(view.index(one)?).is_empty()))?;
    measure("slice of an axis", &mut || Ok(black_box(view.slice_axis(0, 1..7)?).is_empty()))?;
    measure("flip", &mut || Ok(black_box(view.flip(&[0])?).is_empty()))?;
    measure("expand_dims", &mut || Ok(black_box(view.expand_dims(1)?).is_empty()))?;
    measure("squeeze", &mut || Ok(black_box(view.squeeze()).is_empty()))?;
    measure("broadcast", &mut || Ok(black_box(view.broadcast_to(&[3, 8, 6, 4, 2])?).is_empty()))?;
    measure("reshape", &mut || Ok(black_box(view.reshape(&[48, 8][..], Order::C)?).is_empty()))?;
    measure("ravel", &mut || Ok(black_box(view.ravel(Order::C)?).is_empty()))?;
    measure("split into 4, all parts", &mut || Ok(row.split(96)?.all(|part| black_box(part).is_empty())))?;
    measure("array_split into 4, all parts", &mut || {
        Ok(view.array_split(0, 4)?.all(|part| black_box(part).is_empty()))
    })?;
    Ok(lines)
}

/// Allocations, frees and small copies.
fn memory<D: Target>(stream: &StreamHandle<D>, raw: Option<&dyn RawCalls>) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    let mut ours = || {
        each(|| {
            ErasedArray::uninit(stream, &[SMALL_BYTES], 1)?;
            Ok(())
        })
    };
    let mut theirs = raw.map(|raw| move || each(|| raw.alloc_free(SMALL_BYTES)));
    let (call, driver) = beside(stream, &mut ours, theirs.as_mut().map(|raw| raw as Seconds<'_>))?;
    lines.push(line("allocate and free 4 KiB", call, driver));

    let src = ErasedArray::zeros(stream, &[SMALL_BYTES], 1)?;
    let mut dst = ErasedArray::zeros(stream, &[SMALL_BYTES], 1)?;
    let (from, to) = (src.address(), dst.address());
    let view = src.view();
    let mut target = dst.view_mut();
    let mut ours = || each(|| Ok(target.copy_from(stream, &view)?));
    let mut theirs = raw.map(|raw| move || each(|| raw.copy(to, from, SMALL_BYTES)));
    let (call, driver) = beside(stream, &mut ours, theirs.as_mut().map(|raw| raw as Seconds<'_>))?;
    lines.push(line("copy 4 KiB, tracked", call, driver));

    let mut untracked = UntrackedCopy::new(stream, SMALL_BYTES)?;
    let mut ours = || {
        let seconds = each(|| untracked.enqueue())?;
        untracked.synchronize()?;
        Ok(seconds)
    };
    let (call, driver) = beside(stream, &mut ours, theirs.as_mut().map(|raw| raw as Seconds<'_>))?;
    lines.push(line("copy 4 KiB, untracked", call, driver));
    Ok(lines)
}

/// Recording events and waiting for them.
fn events<D: Target>(
    stream: &StreamHandle<D>,
    waiter: &StreamHandle<D>,
    raw: Option<&dyn RawCalls>,
) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (name, and_wait) in [("record an event", false), ("record, and wait on another stream", true)] {
        let mut ours = || {
            each(|| {
                let event = stream.record()?;
                if and_wait {
                    waiter.wait(&event)?;
                }
                Ok(())
            })
        };
        let mut theirs = raw.map(|raw| move || each(|| raw.record(and_wait)));
        let (call, driver) = beside(waiter, &mut ours, theirs.as_mut().map(|raw| raw as Seconds<'_>))?;
        lines.push(line(name, call, driver));
    }
    let event = stream.record()?;
    let mut waits = || each(|| Ok(event.synchronize()?));
    lines.push(line("synchronize with a finished event", interleaved(ROUNDS, [&mut waits])?[0], None));
    let mut waits = || each(|| Ok(stream.synchronize()?));
    lines.push(line("synchronize an idle stream", interleaved(ROUNDS, [&mut waits])?[0], None));
    Ok(lines)
}
