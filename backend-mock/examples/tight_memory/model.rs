//! The oracle, which adds up the live allocations again at each request.

use std::collections::VecDeque;

/// One allocation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    pub(crate) is_pinned: bool,
    pub(crate) len_bytes: usize,
    pub(crate) tag: Option<&'static str>,
    /// The number of the allocation among the allocations of its kind.
    pub(crate) number: u64,
}

/// The sums of one kind of memory.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sums {
    pub(crate) allocations: u64,
    pub(crate) frees: u64,
    pub(crate) peak_bytes: usize,
}

/// A refused allocation: whether a limit or the device refuses it, and the bytes that are left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) by_limit: bool,
    pub(crate) left_bytes: usize,
}

/// The memory of a context.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) held: Vec<Block>,
    /// Blocks that were dropped and not given back yet.
    pub(crate) waiting: VecDeque<Block>,
    /// The most allocations, and the most bytes, that may wait.
    pub(crate) may_wait: (usize, usize),
    pub(crate) capacity_bytes: usize,
    pub(crate) limit_bytes: usize,
    pub(crate) pinned_limit_bytes: usize,
    /// The sums of device memory, and of pinned memory.
    pub(crate) sums: [Sums; 2],
    /// The number of times that all waiting memory was given back because memory was short.
    pub(crate) flushed: u64,
}

impl Model {
    pub(crate) fn new(capacity_bytes: usize) -> Self {
        Self {
            held: Vec::new(),
            waiting: VecDeque::new(),
            may_wait: (0, 0),
            capacity_bytes,
            limit_bytes: usize::MAX,
            pinned_limit_bytes: usize::MAX,
            sums: [Sums::default(); 2],
            flushed: 0,
        }
    }

    /// All blocks of a kind that were not given back.
    pub(crate) fn live(&self, is_pinned: bool) -> impl Iterator<Item = &Block> {
        self.held.iter().chain(&self.waiting).filter(move |block| block.is_pinned == is_pinned)
    }

    pub(crate) fn live_bytes(&self, is_pinned: bool) -> usize {
        self.live(is_pinned).map(|block| block.len_bytes).sum()
    }

    pub(crate) fn waiting_bytes(&self) -> usize {
        self.waiting.iter().map(|block| block.len_bytes).sum()
    }

    fn refusal(&self, is_pinned: bool, len_bytes: usize) -> Option<Refusal> {
        let live_bytes = self.live_bytes(is_pinned);
        let limit_bytes = if is_pinned { self.pinned_limit_bytes } else { self.limit_bytes };
        let left = |most: usize| most.saturating_sub(live_bytes);
        if len_bytes > left(limit_bytes) {
            return Some(Refusal { by_limit: true, left_bytes: left(limit_bytes) });
        }
        let short = !is_pinned && len_bytes > left(self.capacity_bytes);
        short.then(|| Refusal { by_limit: false, left_bytes: left(self.capacity_bytes) })
    }

    /// Allocates. If memory is short, gives all waiting memory back first.
    pub(crate) fn allocate(
        &mut self,
        is_pinned: bool,
        len_bytes: usize,
        tag: Option<&'static str>,
    ) -> Result<Block, Refusal> {
        if self.refusal(is_pinned, len_bytes).is_some() {
            self.flushed += u64::from(!self.waiting.is_empty());
            self.give_back_all();
            if let Some(refusal) = self.refusal(is_pinned, len_bytes) {
                return Err(refusal);
            }
        }
        let sums = &mut self.sums[usize::from(is_pinned)];
        sums.allocations += 1;
        let block = Block { is_pinned, len_bytes, tag, number: sums.allocations };
        self.held.push(block.clone());
        let live_bytes = self.live_bytes(is_pinned);
        let sums = &mut self.sums[usize::from(is_pinned)];
        sums.peak_bytes = sums.peak_bytes.max(live_bytes);
        Ok(block)
    }

    /// Drops a held block. It then waits to be given back, if the limits allow.
    pub(crate) fn drop(&mut self, block: &Block) {
        self.held.retain(|other| other != block);
        self.waiting.push_back(block.clone());
        self.apply_limits();
    }

    /// Gives all waiting memory back if more waits than the limits allow.
    pub(crate) fn apply_limits(&mut self) {
        if self.waiting.len() > self.may_wait.0 || self.waiting_bytes() > self.may_wait.1 {
            self.give_back_all();
        }
    }

    pub(crate) fn give_back_all(&mut self) {
        for block in self.waiting.drain(..) {
            self.sums[usize::from(block.is_pinned)].frees += 1;
        }
    }
}
