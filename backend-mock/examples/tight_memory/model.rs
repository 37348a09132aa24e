//! The oracle: what is live, by adding it up again each time.

use std::collections::VecDeque;

/// One allocation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    pub(crate) is_pinned: bool,
    pub(crate) len_bytes: usize,
    pub(crate) tag: Option<&'static str>,
    /// Its number among the memories of its kind.
    pub(crate) number: u64,
}

/// Sums of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sums {
    pub(crate) allocations: u64,
    pub(crate) frees: u64,
    pub(crate) peak_bytes: usize,
}

/// Why an allocation is refused: by a limit or by the device, and the bytes that this leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) by_limit: bool,
    pub(crate) left_bytes: usize,
}

/// A context, as far as memory goes.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) held: Vec<Block>,
    /// Dropped, and not given back yet.
    pub(crate) waiting: VecDeque<Block>,
    /// Most allocations and bytes that wait.
    pub(crate) may_wait: (usize, usize),
    pub(crate) capacity_bytes: usize,
    pub(crate) limit_bytes: usize,
    pub(crate) pinned_limit_bytes: usize,
    /// The sums of device memory, and of pinned memory.
    pub(crate) sums: [Sums; 2],
    /// Times that all that waited was given back because memory was short.
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

    /// Everything of a kind that is not given back.
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

    /// Allocates; first gives back memory that waits, if need be.
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

    /// Drops what is held, which then waits if it may.
    pub(crate) fn drop(&mut self, block: &Block) {
        self.held.retain(|other| other != block);
        self.waiting.push_back(block.clone());
        self.apply_limits();
    }

    /// All that waits is given back if there is more than may wait.
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
