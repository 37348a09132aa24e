//! The effect of operations on memory.
#![allow(unsafe_code)] // runs transfers, which read and write host memory through the pointers of their operations

use std::ops::Range;

use devarray::copy::{Plan, copy_bytes};

use super::{
    Engine, HostRange, Memory, Work,
    pieces::{MOST_PIECES, Pieces},
    source::Source,
    walk::Nest,
};
use crate::{
    poison::{Poison, repeat},
    schedule::Choice,
};

impl Engine {
    /// Runs the operation at the front of a lane, or one piece of it. Returns true if nothing of it
    /// is left.
    pub(super) fn execute(&mut self, lane: usize) -> bool {
        self.run_deferred_check(lane);
        let Some(op) = self.lanes.front_mut(lane) else { return true };
        match &op.work {
            Work::Wait(_) | Work::Prefetch { .. } => true,
            Work::Record(stamp) => {
                // The operation runs once, so the stamp is still empty.
                let _ = stamp.as_ref().map(|stamp| stamp.set(self.now));
                true
            }
            Work::Alloc { buffer, .. } => {
                self.memory.make_ready(*buffer);
                true
            }
            Work::Free { buffer, .. } => {
                self.memory.release(*buffer);
                true
            }
            _ if op.cancelled => true,
            Work::Gather(_) => self.run_gather(lane),
            Work::Order(_) => self.run_order(lane),
            Work::Product(_) => self.run_product(lane),
            Work::Launch(_) => self.run_kernel(lane),
            Work::Exchange(_) => self.run_exchange(lane),
            work => {
                let len_bytes = work.len_bytes();
                let chooser = &mut self.chooser;
                let pieces = op.pieces.get_or_insert_with(|| {
                    Pieces::new(len_bytes, 1 + chooser.choose(Choice::Tear, MOST_PIECES.min(len_bytes)))
                });
                let piece = pieces.take(chooser.choose(Choice::Piece, pieces.count()));
                move_bytes(&mut self.memory, work, piece);
                pieces.count() == 0
            }
        }
    }
}

/// Fills the destination of a download with poison. The download is about to be enqueued, and no
/// other operation in flight uses the memory.
pub(super) fn poison_destination(host: &HostRange, poison: Poison) {
    // SAFETY: the destination of an operation that is in flight from now on; nothing else in flight
    // uses it.
    unsafe { host.poison_destination(poison) }
}

/// Reads the source of an upload that is about to be enqueued. The bytes are to be kept until it
/// has run.
pub(super) fn stage(host: &mut HostRange) -> Vec<u8> {
    // SAFETY: the operation is in flight from now on.
    unsafe { host.stage() }
}

/// Moves the bytes of an operation whose positions, in the concatenation of its runs, lie in
/// `piece`.
fn move_bytes(memory: &mut Memory, work: &Work, piece: Range<usize>) {
    match work {
        Work::Alloc { .. }
        | Work::Free { .. }
        | Work::Gather(_)
        | Work::Order(_)
        | Work::Product(_)
        | Work::Launch(_)
        | Work::Exchange(_)
        | Work::Prefetch { .. }
        | Work::Record(_)
        | Work::Wait(_) => {}
        Work::Copy { dst, src, plan } if dst.number == src.number => {
            let Some(bytes) = memory.bytes_mut(*dst) else { return };
            let len_bytes = bytes.len_bytes();
            let is_inside = plan.src_span().end.max(plan.dst_span().end) <= len_bytes;
            if let Some(bytes) = bytes.own_mut().filter(|_| has_loops(plan) && is_inside) {
                return Nest::of(plan).parts(&piece).iter().for_each(|part| part.copy_within(bytes));
            }
            for run in clip(plan.runs(), piece) {
                if run.src().end <= len_bytes && run.dst().end <= len_bytes {
                    let moved = bytes.part(run.src()).to_vec();
                    bytes.part_mut(run.dst()).copy_from_slice(&moved);
                }
            }
        }
        Work::Copy { dst, src, plan } => {
            let mut bytes = memory.take(*dst);
            let source = Source::new(memory, *src);
            // Core's loops are fastest in an optimized build. Copies that reach outside a memory,
            // or outside its lifetime, go run by run. So do copies with host memory, because others
            // may use the gaps between runs.
            let is_whole = piece.len() == plan.len_bytes() && !cfg!(debug_assertions);
            let is_inside = |src: &[u8], dst: &[u8]| {
                has_loops(plan) && plan.src_span().end <= src.len() && plan.dst_span().end <= dst.len()
            };
            let walked = match (source.own(), bytes.own_mut()) {
                (Some(src), Some(dst)) if is_whole => copy_bytes(plan, src, dst).is_ok(),
                (Some(src), Some(dst)) if is_inside(src, dst) => {
                    for part in Nest::of(plan).parts(&piece) {
                        part.copy(plan.width_bytes(), src, dst);
                    }
                    true
                }
                _ => false,
            };
            if !walked {
                for run in clip(plan.runs(), piece) {
                    source.read(run.src().start, bytes.part_mut(run.dst()));
                }
            }
            memory.put(*dst, bytes);
        }
        Work::Fill { dst, plan, pattern } => {
            let Some(bytes) = memory.bytes_mut(*dst) else { return };
            let is_inside = plan.dst_span().end <= bytes.len_bytes();
            if let Some(bytes) = bytes.own_mut().filter(|_| has_loops(plan) && is_inside) {
                for part in Nest::of(plan).parts(&piece) {
                    part.fill(plan.width_bytes(), pattern.bytes(), bytes);
                }
                return;
            }
            for run in clip(plan.runs(), piece) {
                repeat(bytes.part_mut(run.dst()), pattern.bytes(), run.skipped);
            }
        }
        Work::Compute(computation) => computation.run(memory, piece),
        Work::Upload { dst, bytes, host } => {
            let at = bytes.start + piece.start;
            let Some(bytes) = memory.bytes_mut(*dst) else { return };
            let into = bytes.part_mut(at..at + piece.len());
            // SAFETY: the operation is in flight until it is retired, and no wait for it ends
            // before then; the window is no longer than the piece, which lies inside it.
            unsafe { host.read(piece.start, into) }
        }
        Work::Download { src, bytes, host } => {
            let source = Source::new(memory, *src);
            let held = source.held(bytes.start + piece.start, piece.len());
            // SAFETY: the operation is in flight until it is retired, and no wait for it ends
            // before then; `held` is no longer than the piece, which lies inside it.
            unsafe { host.write(piece.start, held) }
            if held.len() < piece.len() {
                let mut missing = vec![0; piece.len() - held.len()];
                source.read(bytes.start + piece.start + held.len(), &mut missing);
                // SAFETY: as above; together the two are as long as the piece.
                unsafe { host.write(piece.start + held.len(), &missing) }
            }
        }
    }
}

/// Whether a plan has more than one run.
fn has_loops(plan: &Plan) -> bool {
    !plan.axes().is_empty()
}

/// The part of a run that lies in a piece.
struct Run {
    /// The number of bytes of the run that come before the part.
    skipped: usize,
    src_offset_bytes: usize,
    dst_offset_bytes: usize,
    len_bytes: usize,
}

impl Run {
    fn src(&self) -> Range<usize> {
        self.src_offset_bytes..self.src_offset_bytes + self.len_bytes
    }

    fn dst(&self) -> Range<usize> {
        self.dst_offset_bytes..self.dst_offset_bytes + self.len_bytes
    }
}

fn clip(runs: impl Iterator<Item = (usize, usize, usize)>, piece: Range<usize>) -> impl Iterator<Item = Run> {
    let mut position = 0;
    runs.filter_map(move |(src, dst, len_bytes)| {
        let start = position;
        position += len_bytes;
        let skipped = piece.start.saturating_sub(start);
        let len_bytes = position.min(piece.end).checked_sub(start + skipped)?;
        let run =
            Run { skipped, src_offset_bytes: src + skipped, dst_offset_bytes: dst + skipped, len_bytes };
        (len_bytes > 0).then_some(run)
    })
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;
    use crate::schedule::{Chooser, Schedule};
    use crate::{Code, FaultPlan, Profile, judge::Judge};

    /// No owner of a buffer can do this, so the engine is called directly.
    #[test]
    fn a_second_free_is_a_finding() {
        let mut engine = Engine::new(
            Chooser::new(Schedule::Lazy, 0, false),
            Judge::new(true, false, Profile::Strict),
            100,
            0,
            false,
            FaultPlan::new(),
        );
        let lane = engine.open_lane();
        let buffer = engine.reserve(8, Location::caller()).unwrap().buffer;
        let free = || Work::Free { buffer, len_bytes: 8 };
        for work in [Work::Alloc { buffer, len_bytes: 8 }, free(), free()] {
            engine.enqueue(lane, work, Location::caller());
        }
        let codes: Vec<Code> = engine.report().findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, [Code::DoubleFree]);
        assert_eq!(engine.memory_info().free_bytes, 100);
    }

    #[test]
    fn clipping_keeps_the_bytes_of_the_piece() {
        let runs = [(100, 0, 3), (50, 10, 1), (200, 20, 4)];
        let bytes: Vec<(usize, usize)> =
            runs.iter().flat_map(|&(src, dst, len)| (0..len).map(move |i| (src + i, dst + i))).collect();
        for start in 0..=bytes.len() {
            for end in start..=bytes.len() {
                let clipped: Vec<_> = clip(runs.into_iter(), start..end)
                    .flat_map(|run| run.src().zip(run.dst()).collect::<Vec<_>>())
                    .collect();
                assert_eq!(clipped, bytes[start..end]);
            }
        }
    }
}
