//! The device's memory: the ranges that are allocated, and their content.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Range,
    panic::Location,
};

use devarray::backend::{MemoryInfo, PoolStatistics};

use super::bytes::Bytes;
use crate::{
    allocation::BufferId,
    fault::Pressure,
    judge::ByteSet,
    poison::{Poison, PoisonKind, repeat},
    report::LiveBuffer,
    schedule::{Choice, Chooser},
};

/// The first device address. It is in a part of the address space that no processor maps for
/// programs.
const FIRST_ADDRESS: u64 = 0xDADA_0000_0000_0100;
/// Addresses are 256 modulo this number: they have the alignment that a device promises at least,
/// and no more.
const ADDRESS_STEP: u64 = 512;
/// The most freed ranges that are remembered for reuse.
const MOST_HOLES: usize = 64;

/// Allocations, freed ranges, and the limit.
#[derive(Debug)]
pub(crate) struct Memory {
    blocks: BTreeMap<u64, Block>,
    /// Freed ranges, the most recently freed one last.
    holes: VecDeque<Hole>,
    limit_bytes: usize,
    used_bytes: usize,
    /// The bytes that the pool has taken from the system, and the most that it keeps after a wait.
    reserved_bytes: usize,
    threshold_bytes: usize,
    peak_used_bytes: usize,
    peak_reserved_bytes: usize,
    /// The scarcity that a plan of faults imposes.
    pressure: Pressure,
    /// The bytes that were allocated so far, whether freed or not.
    allocated_bytes: usize,
    /// The bytes that were freed but stay in use until the host waits.
    held_bytes: usize,
    next_number: u64,
    next_address: u64,
}

/// The result of a reservation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reserved {
    pub(crate) buffer: BufferId,
    pub(crate) address: u64,
}

/// One allocation.
#[derive(Debug)]
pub(super) struct Block {
    generation: u64,
    place: Place,
    /// The number of the device it belongs to.
    device: Option<usize>,
    len_bytes: usize,
    location: &'static Location<'static>,
    /// Empty, but with reserved memory, until the allocation takes effect in stream order.
    bytes: Bytes,
    /// The bytes that scatters could have given a value, and did not.
    unput: ByteSet,
}

impl Block {
    /// The host address of the bytes, from the reservation on.
    fn host_start(&self) -> u64 {
        self.bytes.start().expose_provenance() as u64
    }
}

/// A range of addresses.
#[derive(Debug, Clone, Copy)]
struct Place {
    address: u64,
    /// The bytes up to the next range: a multiple of the address step.
    room_bytes: u64,
}

#[derive(Debug)]
struct Hole {
    id: BufferId,
    place: Place,
}

/// The state of a buffer's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The buffer is there, and ready for use.
    Ready,
    /// The buffer is there, but its allocation has not taken effect.
    Reserved,
    /// There is nothing, or a later allocation.
    Gone,
}

impl Memory {
    pub(super) fn new(limit_bytes: usize, pressure: Pressure) -> Self {
        Self {
            blocks: BTreeMap::new(),
            holes: VecDeque::new(),
            limit_bytes,
            used_bytes: 0,
            reserved_bytes: 0,
            threshold_bytes: usize::MAX,
            peak_used_bytes: 0,
            peak_reserved_bytes: 0,
            pressure,
            allocated_bytes: 0,
            held_bytes: 0,
            next_number: 0,
            next_address: FIRST_ADDRESS,
        }
    }

    pub(super) fn info(&self) -> MemoryInfo {
        MemoryInfo::new(self.limit_bytes - self.used_bytes, self.limit_bytes)
    }

    /// The statistics of the pool. Memory that it keeps counts as free, because the next allocation
    /// may use it.
    pub(crate) fn pool(&self) -> PoolStatistics {
        let mut pool = PoolStatistics::new(self.used_bytes, self.reserved_bytes);
        pool.peak_used_bytes = self.peak_used_bytes;
        pool.peak_reserved_bytes = self.peak_reserved_bytes;
        pool
    }

    /// Restarts the peaks of the pool.
    pub(crate) fn reset_peaks(&mut self) {
        (self.peak_used_bytes, self.peak_reserved_bytes) = (self.used_bytes, self.reserved_bytes);
    }

    /// Sets how many bytes are kept after a wait.
    pub(crate) fn set_threshold(&mut self, len_bytes: usize) {
        self.threshold_bytes = len_bytes;
    }

    /// Gives unused memory back to the system, until at most `keep_bytes` are held.
    pub(crate) fn trim(&mut self, keep_bytes: usize) {
        self.reserved_bytes = self.reserved_bytes.min(keep_bytes).max(self.used_bytes);
    }

    /// Reserves memory and addresses for an allocation. None if the limit, the host's memory or the
    /// addresses do not allow it.
    pub(super) fn reserve(
        &mut self,
        len_bytes: usize,
        location: &'static Location<'static>,
        chooser: &mut Chooser,
    ) -> Option<Reserved> {
        let Pressure { budget_bytes, hole_bytes, .. } = self.pressure;
        let budget_bytes = budget_bytes.unwrap_or(usize::MAX).saturating_sub(self.allocated_bytes);
        let most_bytes =
            budget_bytes.min(hole_bytes.unwrap_or(usize::MAX)).min(self.limit_bytes - self.used_bytes);
        if len_bytes > most_bytes {
            return None;
        }
        let bytes = Bytes::reserve(len_bytes)?;
        let (id, place) = self.place(len_bytes, chooser)?;
        self.used_bytes += len_bytes;
        self.reserved_bytes = self.reserved_bytes.max(self.used_bytes);
        self.peak_used_bytes = self.peak_used_bytes.max(self.used_bytes);
        self.peak_reserved_bytes = self.peak_reserved_bytes.max(self.reserved_bytes);
        self.allocated_bytes = self.allocated_bytes.saturating_add(len_bytes);
        let (generation, unput) = (id.generation, ByteSet::default());
        let block = Block { generation, place, device: None, len_bytes, location, bytes, unput };
        self.blocks.insert(id.number, block);
        Some(Reserved { buffer: id, address: place.address })
    }

    /// New addresses, or the addresses of a freed buffer.
    fn place(&mut self, len_bytes: usize, chooser: &mut Chooser) -> Option<(BufferId, Place)> {
        let room_bytes = u64::try_from(len_bytes).ok()?.checked_next_multiple_of(ADDRESS_STEP)?;
        let fits = |hole: &Hole| hole.place.room_bytes >= room_bytes;
        let mut fitting = (0..self.holes.len()).rev().filter(|&index| fits(&self.holes[index]));
        let choice = chooser.choose(Choice::Reuse, 1 + fitting.clone().count());
        let index = choice.checked_sub(1).and_then(|k| fitting.nth(k));
        if let Some(hole) = index.and_then(|index| self.holes.remove(index)) {
            let BufferId { number, generation } = hole.id;
            return Some((BufferId { number, generation: generation + 1 }, hole.place));
        }
        let place = Place { address: self.next_address, room_bytes };
        self.next_address = self.next_address.checked_add(room_bytes)?;
        let id = BufferId { number: self.next_number, generation: 0 };
        self.next_number += 1;
        Some((id, place))
    }

    /// Gives host memory a place among the device's memories: ready for use, and not counted as
    /// device memory.
    pub(super) fn lend(&mut self, host: Bytes, location: &'static Location<'static>) -> Option<Reserved> {
        let len_bytes = host.len_bytes();
        let room_bytes = u64::try_from(len_bytes).ok()?.checked_next_multiple_of(ADDRESS_STEP)?;
        let place = Place { address: self.next_address, room_bytes };
        self.next_address = self.next_address.checked_add(room_bytes)?;
        let number = self.next_number;
        self.next_number += 1;
        let (bytes, unput) = (host, ByteSet::default());
        self.blocks
            .insert(number, Block { generation: 0, place, device: None, len_bytes, location, bytes, unput });
        Some(Reserved { buffer: BufferId { number, generation: 0 }, address: place.address })
    }

    /// Notes the number of the device that the memory belongs to.
    pub(super) fn own(&mut self, id: BufferId, device: usize) {
        if let Some(block) = self.block(id) {
            block.device = Some(device);
        }
    }

    /// The first address and the length of an allocation, if it exists.
    pub(super) fn place_of(&self, id: BufferId) -> Option<(u64, usize)> {
        let block = self.blocks.get(&id.number).filter(|block| block.generation == id.generation)?;
        Some((block.place.address, block.len_bytes))
    }

    /// The device that the memory belongs to.
    pub(super) fn owner(&self, id: BufferId) -> Option<usize> {
        self.blocks.get(&id.number).and_then(|block| block.device)
    }

    /// The allocation that contains these addresses, which are addresses of the device or of the
    /// host; its own first address of that kind, and its length.
    pub(super) fn find(&self, addresses: &Range<u64>) -> Option<(BufferId, u64, usize)> {
        let inside = |start: u64, block: &Block| {
            start <= addresses.start && addresses.end <= start + block.len_bytes as u64
        };
        self.blocks.iter().find_map(|(&number, block)| {
            let mut starts = [block.place.address, block.host_start()].into_iter();
            let start = starts.find(|&start| inside(start, block))?;
            Some((BufferId { number, generation: block.generation }, start, block.len_bytes))
        })
    }

    /// The host address for an address of the device.
    pub(super) fn on_host(&self, address: u64) -> Option<u64> {
        self.blocks.values().find_map(|block| {
            let within = address.checked_sub(block.place.address)?;
            (within < block.len_bytes as u64).then(|| block.host_start() + within)
        })
    }

    /// Takes host memory's place away.
    pub(super) fn take_back(&mut self, id: BufferId) {
        if self.block(id).is_some_and(|block| block.bytes.is_lent()) {
            self.blocks.remove(&id.number);
        }
    }

    /// Lets an allocation take effect: the memory may be used from now on.
    pub(super) fn make_ready(&mut self, id: BufferId) {
        if let Some(block) = self.block(id) {
            let poison = Poison::of_buffer(PoisonKind::Fresh, id).bytes();
            if block.bytes.is_lent() {
                repeat(block.bytes.part_mut(0..block.len_bytes), &poison, 0);
            } else {
                block.bytes.come_to_be(block.len_bytes, poison);
            }
        }
    }

    /// Lets a free take effect. Returns false if there is no such allocation.
    pub(super) fn release(&mut self, id: BufferId) -> bool {
        // The stream must not free lent memory.
        if self.block(id).is_none_or(|block| block.bytes.is_lent()) {
            return false;
        }
        let Some(block) = self.blocks.remove(&id.number) else { return false };
        if self.pressure.holds_freed {
            self.held_bytes += block.len_bytes;
        } else {
            self.used_bytes -= block.len_bytes;
        }
        if self.holes.len() == MOST_HOLES {
            self.holes.pop_front();
        }
        self.holes.push_back(Hole { id, place: block.place });
        true
    }

    /// Notes that the host has waited: freed memory is free now, and the pool gives memory beyond
    /// its threshold back.
    pub(super) fn let_go(&mut self) {
        self.used_bytes -= std::mem::take(&mut self.held_bytes);
        self.trim(self.threshold_bytes);
    }

    /// Whether the buffer may be used.
    pub(super) fn state(&self, id: BufferId) -> State {
        match self.blocks.get(&id.number) {
            Some(block) if block.generation == id.generation => {
                if block.bytes.len_bytes() == 0 {
                    State::Reserved
                } else {
                    State::Ready
                }
            }
            _ => State::Gone,
        }
    }

    /// The bytes at the buffer's addresses. If the buffer was freed and its addresses reused, these
    /// are the bytes of a later allocation, as on a device. None if there is nothing.
    pub(super) fn bytes(&self, id: BufferId) -> Option<&Bytes> {
        self.blocks.get(&id.number).map(|block| &block.bytes)
    }

    /// Like [`bytes`](Self::bytes), for writing.
    pub(super) fn bytes_mut(&mut self, id: BufferId) -> Option<&mut Bytes> {
        self.blocks.get_mut(&id.number).map(|block| &mut block.bytes)
    }

    /// The bytes that scatters could have given a value, and did not.
    pub(super) fn unput_mut(&mut self, id: BufferId) -> Option<&mut ByteSet> {
        self.block(id).map(|block| &mut block.unput)
    }

    /// Takes the bytes out, so that another buffer can be read at the same time; [`put`](Self::put)
    /// puts them back.
    pub(super) fn take(&mut self, id: BufferId) -> Bytes {
        self.blocks.get_mut(&id.number).map_or_else(Bytes::default, |block| std::mem::take(&mut block.bytes))
    }

    pub(super) fn put(&mut self, id: BufferId, bytes: Bytes) {
        if let Some(block) = self.blocks.get_mut(&id.number) {
            block.bytes = bytes;
        }
    }

    /// The allocations whose free has not taken effect.
    pub(super) fn live(&self) -> Vec<LiveBuffer> {
        let live = |(&number, block): (&u64, &Block)| LiveBuffer {
            id: BufferId { number, generation: block.generation },
            len_bytes: block.len_bytes,
            address: block.place.address,
            location: block.location,
        };
        self.blocks.iter().filter(|(_, block)| !block.bytes.is_lent()).map(live).collect()
    }

    fn block(&mut self, id: BufferId) -> Option<&mut Block> {
        self.blocks.get_mut(&id.number).filter(|block| block.generation == id.generation)
    }
}
