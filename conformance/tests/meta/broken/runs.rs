//! A broken device makes other runs from a copy's plan.
#![allow(unsafe_code)] // enqueues other copies than it was given, over a backend with its own memory

use devarray::{
    Layout, Result,
    backend::{Capabilities, CopyOp, Device, Stream},
    copy::Plan,
};

use super::Bug;

/// Source, destination and length of a run, in bytes.
type Run = (usize, usize, usize);

/// The runs that a device with this bug makes from a plan; none if it makes the right ones.
pub(super) fn spoilt(bug: Bug, plan: &Plan) -> Option<Vec<Run>> {
    let right: Vec<Run> = plan.runs().collect();
    let mut runs = right.clone();
    match bug {
        Bug::CopyDoesNothing => runs.clear(),
        Bug::CopyLosesLastRun if runs.len() > 1 => drop(runs.pop()),
        Bug::CopyLosesLastOfManyRuns if runs.len() > 256 => drop(runs.pop()),
        Bug::CopyWritesGaps => fill_gaps(&mut runs),
        Bug::CopyIgnoresReversal if plan.axes().iter().any(|axis| axis.src_stride_bytes < 0) => {
            let forward: Vec<usize> = runs.iter().rev().map(|run| run.0).collect();
            runs.iter_mut().zip(forward).for_each(|(run, src)| run.0 = src);
        }
        Bug::CopyIgnoresSourceOffset => {
            let first = runs.iter().map(|run| run.0).min().unwrap_or(0);
            runs.iter_mut().for_each(|run| run.0 -= first);
        }
        Bug::CopyIgnoresDestinationOffset => {
            let first = runs.iter().map(|run| run.1).min().unwrap_or(0);
            runs.iter_mut().for_each(|run| run.1 -= first);
        }
        Bug::CopyLosesLastByte => {
            let last = runs.len() - 1;
            runs[last].2 -= 1;
            runs.retain(|run| run.2 > 0);
        }
        Bug::CopyStopsAt64KiB => runs.iter_mut().for_each(|run| run.2 = run.2.min(0x1_0000)),
        _ => return None,
    }
    (runs != right).then_some(runs)
}

/// Lengthens each run up to the next one, if there is room on both sides.
fn fill_gaps(runs: &mut [Run]) {
    for at in 1..runs.len() {
        let (next_src, next_dst, _) = runs[at];
        let (src, dst, len) = &mut runs[at - 1];
        let room = next_src.saturating_sub(*src).min(next_dst.saturating_sub(*dst));
        *len = room.max(*len);
    }
}

/// Copies bytes from a position in one buffer to a position in another.
pub(super) fn copy_bytes<D: Device>(
    stream: &D::Stream,
    (to, dst): (&D::Buffer, usize),
    (from, src): (&D::Buffer, usize),
    len: usize,
) -> Result<()> {
    let bytes = |offset| Layout::new(&[len], &[1], offset);
    let plan = Plan::new(&bytes(dst)?, &bytes(src)?, 1, &Capabilities::default())?;
    // SAFETY: inside the span of the operation's plan, in the same order.
    stream.copy(&unsafe { CopyOp::new_unchecked(to, from, &plan) })
}
