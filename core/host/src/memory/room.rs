//! The allocator of a device's memory, within a capacity.
#![allow(unsafe_code)] // lets free blocks cross threads

use std::{
    mem,
    ptr::NonNull,
    sync::{Mutex, MutexGuard},
};

use devarray::{
    Error, Result,
    backend::{MemoryInfo, PoolStatistics},
    kernel::Running,
};

use super::{
    Block,
    classes::{self, class_of, len_of},
    kept::Kept,
    pages::{HUGE_BYTES, Pages},
};
use crate::backend::BACKEND;

/// The memory of one device.
///
/// Small blocks are parts of shared pages, in size classes; their pages stay until the device is dropped.
/// Larger blocks have pages of their own, which are kept for later when the blocks are freed. New memory is
/// zeroed, and a block that was used before keeps its old content, so every byte has a value.
#[derive(Debug)]
pub(crate) struct Room {
    capacity_bytes: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The bytes of blocks in use, as they were asked for.
    used_bytes: usize,
    peak_used_bytes: usize,
    peak_reserved_bytes: usize,
    /// The most bytes that are kept.
    threshold_bytes: usize,
    kept: Kept,
    /// The bytes of pages that are in use or hold small blocks.
    mapped_bytes: usize,
    /// Free small blocks, by class.
    free: [Vec<NonNull<u8>>; classes::COUNT],
    /// The unused end of the last pages for small blocks.
    rest: Rest,
    /// The pages that hold small blocks.
    shared: Vec<Pages>,
}

/// Bytes that were never handed out.
#[derive(Debug)]
struct Rest {
    start: NonNull<u8>,
    len_bytes: usize,
}

// SAFETY: free blocks are memory that the state owns; it only tells where they lie.
unsafe impl Send for State {}

/// A block, and whether it holds zeros.
type Made = (Block, bool);

impl Room {
    pub(crate) fn new(capacity_bytes: usize, threshold_bytes: usize) -> Self {
        let state = State {
            used_bytes: 0,
            peak_used_bytes: 0,
            peak_reserved_bytes: 0,
            threshold_bytes,
            kept: Kept::default(),
            mapped_bytes: 0,
            free: [const { Vec::new() }; classes::COUNT],
            rest: Rest { start: NonNull::dangling(), len_bytes: 0 },
            shared: Vec::new(),
        };
        Self { capacity_bytes, state: Mutex::new(state) }
    }

    /// A block of `len_bytes` bytes, not 0, aligned to 256, and whether it holds zeros.
    pub(crate) fn alloc(&self, operation: &'static str, len_bytes: usize) -> Result<Made> {
        let mut state = self.state();
        let fits = len_bytes <= self.capacity_bytes - state.used_bytes;
        let made = if fits { state.make(len_bytes, self.capacity_bytes) } else { None };
        let Some(made) = made else {
            let info = self.info_of(&state);
            return Err(Error::out_of_memory(BACKEND, operation, len_bytes, Some(info)));
        };
        state.used_bytes += len_bytes;
        state.note_peaks();
        Ok(made)
    }

    /// Takes a block back.
    pub(crate) fn free(&self, block: Block) {
        let mut state = self.state();
        state.used_bytes -= block.len_bytes();
        match block {
            Block::Small { start, class, .. } => state.free[class].push(start),
            Block::Large { pages, .. } => {
                state.mapped_bytes -= pages.len_bytes();
                state.kept.push(pages);
                let keep_bytes = state.threshold_bytes;
                let over = state.trimmed(keep_bytes);
                drop(state);
                // Outside the lock, because the system takes a while.
                drop(over);
            }
        }
    }

    /// Counts pages that were made elsewhere as memory in use.
    pub(crate) fn count(&self, operation: &'static str, len_bytes: usize) -> Result<()> {
        let mut state = self.state();
        if len_bytes > self.capacity_bytes - state.used_bytes {
            let info = self.info_of(&state);
            return Err(Error::out_of_memory(BACKEND, operation, len_bytes, Some(info)));
        }
        state.used_bytes += len_bytes;
        state.mapped_bytes += len_bytes;
        state.note_peaks();
        Ok(())
    }

    /// Counts them as no longer in use.
    pub(crate) fn uncount(&self, len_bytes: usize) {
        let mut state = self.state();
        state.used_bytes -= len_bytes;
        state.mapped_bytes -= len_bytes;
    }

    pub(crate) fn info(&self) -> MemoryInfo {
        self.info_of(&self.state())
    }

    fn info_of(&self, state: &State) -> MemoryInfo {
        MemoryInfo::new(self.capacity_bytes - state.used_bytes, self.capacity_bytes)
    }

    pub(crate) fn statistics(&self) -> PoolStatistics {
        let state = self.state();
        let mut told = PoolStatistics::new(state.used_bytes, state.reserved_bytes());
        told.peak_used_bytes = state.peak_used_bytes;
        told.peak_reserved_bytes = state.peak_reserved_bytes;
        told
    }

    pub(crate) fn reset_peaks(&self) {
        let mut state = self.state();
        state.peak_used_bytes = state.used_bytes;
        state.peak_reserved_bytes = state.reserved_bytes();
    }

    /// Limits kept memory to `len_bytes` from now on.
    pub(crate) fn set_threshold(&self, len_bytes: usize) {
        let mut state = self.state();
        state.threshold_bytes = len_bytes;
        let over = state.trimmed(len_bytes);
        drop(state);
        drop(over);
    }

    /// Gives kept memory back until the total is at most `keep_bytes`, as far as possible.
    pub(crate) fn trim(&self, keep_bytes: usize) {
        let mut state = self.state();
        let mapped_bytes = state.mapped_bytes;
        let over = state.trimmed(keep_bytes.saturating_sub(mapped_bytes));
        drop(state);
        drop(over);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        Running::lock(&self.state)
    }
}

impl State {
    fn make(&mut self, len_bytes: usize, capacity_bytes: usize) -> Option<Made> {
        if len_bytes <= classes::MOST_BYTES {
            let class = class_of(len_bytes);
            let (start, is_zeroed) = match self.free[class].pop() {
                Some(start) => (start, false),
                None => (self.cut(len_of(class))?, true),
            };
            return Some((Block::Small { start, class, len_bytes }, is_zeroed));
        }
        let (pages, is_zeroed) = match self.kept.take(len_bytes) {
            Some(pages) => (pages, false),
            None => {
                // Kept memory counts towards the capacity.
                let room_bytes = capacity_bytes - self.used_bytes - len_bytes;
                drop(self.trimmed(room_bytes));
                (self.map(len_bytes)?, true)
            }
        };
        self.mapped_bytes += pages.len_bytes();
        Some((Block::Large { pages, len_bytes }, is_zeroed))
    }

    /// New pages. If the system has none, kept memory is given back first.
    fn map(&mut self, len_bytes: usize) -> Option<Pages> {
        Pages::new(len_bytes).or_else(|| {
            drop(self.trimmed(0));
            Pages::new(len_bytes)
        })
    }

    /// Cuts a small block from shared pages.
    fn cut(&mut self, len_bytes: usize) -> Option<NonNull<u8>> {
        if self.rest.len_bytes < len_bytes {
            let pages = self.map(HUGE_BYTES)?;
            // The unused end becomes blocks of the largest classes that fit.
            while self.rest.len_bytes > 0 {
                let fitting = (0..classes::COUNT).rev().find(|&class| len_of(class) <= self.rest.len_bytes);
                let Some(class) = fitting else { break };
                let start = self.rest.take(len_of(class))?;
                self.free[class].push(start);
            }
            self.mapped_bytes += pages.len_bytes();
            self.rest = Rest { start: pages.start(), len_bytes: pages.len_bytes() };
            self.shared.push(pages);
        }
        self.rest.take(len_bytes)
    }

    /// Takes out kept pages beyond `keep_bytes`, the largest first. The caller drops them.
    fn trimmed(&mut self, keep_bytes: usize) -> Vec<Pages> {
        let mut over = Vec::new();
        while self.kept.len_bytes() > keep_bytes {
            let Some(pages) = self.kept.take_largest() else { break };
            over.push(pages);
        }
        over
    }

    fn reserved_bytes(&self) -> usize {
        self.mapped_bytes + self.kept.len_bytes()
    }

    fn note_peaks(&mut self) {
        self.peak_used_bytes = self.peak_used_bytes.max(self.used_bytes);
        self.peak_reserved_bytes = self.peak_reserved_bytes.max(self.reserved_bytes());
    }
}

impl Rest {
    /// The first `len_bytes` bytes; none if there are fewer.
    fn take(&mut self, len_bytes: usize) -> Option<NonNull<u8>> {
        if self.len_bytes < len_bytes {
            return None;
        }
        let after = NonNull::new(self.start.as_ptr().wrapping_add(len_bytes))?;
        self.len_bytes -= len_bytes;
        Some(mem::replace(&mut self.start, after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn alloc(room: &Room, len_bytes: usize) -> Block {
        room.alloc("alloc", len_bytes).expect("there is room").0
    }

    #[test]
    fn beyond_the_capacity_is_a_typed_error() {
        let room = Room::new(8 * MIB, 8 * MIB);
        let held = alloc(&room, 3 * MIB);
        assert!(matches!(room.alloc("alloc", 5 * MIB + 1), Err(Error::OutOfMemory { .. })));
        assert!(matches!(room.alloc("alloc", usize::MAX), Err(Error::OutOfMemory { .. })));
        let rest = alloc(&room, 5 * MIB);
        assert_eq!(room.info(), MemoryInfo::new(0, 8 * MIB));
        assert!(room.alloc("alloc", 1).is_err());
        room.free(rest);
        room.free(held);
        assert_eq!(room.info().free_bytes, 8 * MIB);
        // Kept memory of other sizes is not in the way.
        room.free(alloc(&room, 8 * MIB));
    }

    #[test]
    fn freed_blocks_are_kept_up_to_the_threshold_and_reused() {
        let room = Room::new(64 * MIB, 8 * MIB);
        let first = alloc(&room, 4 * MIB);
        let start = first.start();
        room.free(first);
        assert_eq!(room.statistics().reserved_bytes, 4 * MIB);
        let (again, is_zeroed) = room.alloc("alloc", 4 * MIB - 5).expect("it is kept");
        assert!(again.start() == start && !is_zeroed);
        let other = alloc(&room, 8 * MIB);
        room.free(again);
        room.free(other);
        assert_eq!(room.statistics().reserved_bytes, 4 * MIB, "the largest goes first");
        room.trim(0);
        assert_eq!(room.statistics().reserved_bytes, 0);
        let new = alloc(&room, 5 * MIB);
        assert_eq!(room.statistics().peak_used_bytes, 12 * MIB - 5);
        room.free(new);
    }

    #[test]
    fn small_blocks_are_apart() {
        let room = Room::new(64 * MIB, 0);
        let lens = (0..2000_usize).map(|k| 1 + k * 37 % (classes::MOST_BYTES - 1));
        let mut blocks: Vec<Block> = lens.map(|len| alloc(&room, len)).collect();
        for block in blocks.drain(..1000) {
            room.free(block);
        }
        blocks.extend((0..1500_usize).map(|k| alloc(&room, 1 + k * 101 % 5000)));
        let mut places: Vec<_> = blocks.iter().map(|b| (b.start().addr().get(), b.len_bytes())).collect();
        places.sort_unstable();
        assert!(places.iter().all(|(start, _)| start % 256 == 0));
        assert!(places.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
        for block in blocks {
            room.free(block);
        }
        assert_eq!(room.info().free_bytes, 64 * MIB);
    }
}
