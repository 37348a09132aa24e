//! Vectors combined in the order of ranks, on one device, and memory for it.

use std::{num::NonZeroUsize, ops::Range};

use devarray::{
    Layout, Result,
    backend::{Capabilities, Combining},
    copy::Plan,
    function::primitive::Program,
    layout::Order,
};

use super::super::{CudaDevice, CudaStream};
use crate::{
    stream::{CallMemory, RawStream},
    strided::{Addresses, Part},
};

/// Bytes up to which each rank combines a whole vector, rather than its share: one exchange, not two.
pub(super) const WHOLE_BYTES: usize = 64 << 10;
/// Shares begin at multiples of these bytes, so that their elements are aligned like the vector's.
pub(super) const SHARE_BYTES: usize = 512;

/// A rank's share of `count` elements; the shares of all ranks are in their order.
pub(super) fn share(count: usize, item_bytes: usize, rank: usize, ranks: usize) -> Range<usize> {
    let unit = (SHARE_BYTES / item_bytes).max(1);
    let units = count.div_ceil(unit);
    let begin = |rank: usize| (units / ranks * rank + units % ranks * rank / ranks) * unit;
    begin(rank).min(count)..begin(rank + 1).min(count)
}

/// The stream on which a rank combines, and the call that it does it for.
#[derive(Clone, Copy)]
pub(super) struct Combiner<'c> {
    pub(super) device: &'c CudaDevice,
    pub(super) stream: &'c CudaStream,
    pub(super) operation: &'static str,
}

impl<'c> Combiner<'c> {
    /// Enqueues the combination of vectors of `count` elements, in their order, by the addresses of each and of the
    /// outcome. The outcome may be the first or the second of them; it may be a later one if there is a spare
    /// vector, which is overwritten then. It shares no byte with any other.
    pub(super) fn combine(
        self,
        combining: &Combining,
        sources: &[u64],
        (outcome, spare): (u64, u64),
        (count, item_bytes): (usize, usize),
    ) -> Result<()> {
        let Some((&first, others)) = sources.split_first() else { return Ok(()) };
        // Sums so far must not overwrite a vector that is read later.
        let between = if is_read_late(sources, outcome) { spare } else { outcome };
        let mut before = first;
        for (at, &source) in others.iter().enumerate() {
            let to = if at + 1 == others.len() { outcome } else { between };
            self.map(combining.program(), to, &[before, source], count)?;
            before = to;
        }
        match combining.finish() {
            Some(finish) => self.map(finish, outcome, &[before], count),
            None => self.copy(outcome, before, count * item_bytes),
        }
    }

    fn map(self, program: &Program, to: u64, from: &[u64], count: usize) -> Result<()> {
        self.device.computing(self.stream).map_contiguous(self.operation, program, (to, from), count)
    }

    /// Copies bytes between memories that the device reaches, unless they are there.
    pub(super) fn copy(self, to: u64, from: u64, len_bytes: usize) -> Result<()> {
        self.copy_all(&[(to, from, len_bytes)])
    }

    /// Copies several runs of bytes, each by its target, its source and its length; together where that is faster.
    pub(super) fn copy_all(self, runs: &[(u64, u64, usize)]) -> Result<()> {
        let moves = |&&(to, from, len_bytes): &&(u64, u64, usize)| to != from && len_bytes > 0;
        let planned = |&(dst, src, len_bytes): &(u64, u64, usize)| {
            let layout = Layout::contiguous(&[len_bytes], Order::C)?;
            let plan = Plan::new(&layout, &layout, 1, &Capabilities::default())?;
            Ok((plan, Addresses { dst, src }))
        };
        let planned = runs.iter().filter(moves).map(planned).collect::<Result<Vec<_>>>()?;
        let parts: Vec<_> = planned.iter().map(|(plan, at)| Part { plan, addresses: *at }).collect();
        let raw: &RawStream = &self.stream.raw;
        raw.enqueue(self.operation, |driver, _| match &parts[..] {
            [] => Ok(()),
            [one] => raw.copy_planned(driver, one.plan, one.addresses),
            several => raw.copy_parts(driver, several),
        })
    }

    /// Allocates memory for what is enqueued while it is kept; none for 0 bytes.
    pub(super) fn scratch(self, len_bytes: usize) -> Result<Option<CallMemory<'c>>> {
        let memory = |len_bytes| self.stream.raw.call_memory(self.operation, len_bytes);
        NonZeroUsize::new(len_bytes).map(memory).transpose()
    }
}

/// The address of memory; 0 for none.
pub(super) fn address_of(memory: Option<&CallMemory<'_>>) -> u64 {
    memory.map_or(0, CallMemory::address)
}

/// Whether a combination of these reads a vector after a first sum went to where it is.
pub(super) fn is_read_late(sources: &[u64], outcome: u64) -> bool {
    sources.iter().skip(2).any(|&source| source == outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_side_by_side_and_cover_all() {
        for (count, item, ranks) in
            [(0, 4, 2), (1, 4, 3), (129, 4, 2), (100_000, 2, 3), (77_777, 8, 4), (1000, 600, 4)]
        {
            let shares: Vec<_> = (0..ranks).map(|rank| share(count, item, rank, ranks)).collect();
            assert_eq!((shares[0].start, shares[ranks - 1].end), (0, count));
            assert!(shares.windows(2).all(|two| two[0].end == two[1].start), "{shares:?}");
            let longest = shares.iter().map(ExactSizeIterator::len).max().unwrap();
            assert!(longest * ranks <= count + 2 * ranks * (512 / item).max(1), "{shares:?}");
        }
    }

    #[test]
    fn an_outcome_over_the_third_vector_needs_a_spare_one() {
        assert!(!is_read_late(&[1, 2], 2));
        assert!(!is_read_late(&[1, 2, 3], 1));
        assert!(is_read_late(&[1, 2, 3], 3));
    }
}
