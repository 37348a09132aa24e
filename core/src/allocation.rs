//! Device memory and its uses.

mod access;
mod freed;
mod recorded;

use std::{
    fmt,
    mem::{self, ManuallyDrop},
    num::NonZeroUsize,
    panic::Location,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use crate::{
    LayoutError, Result,
    backend::{Buffer, Device, Stream},
    context::ContextCore,
    deferred_drop::Owner,
    foreign::UsablePart,
    hazards::{AccessLog, LaneId},
    layout::{Layout, check_inside},
    lock::lock,
    memory::{AllocationState, DeviceMemory, Ledger, LedgerEntry, MemoryKind, Pending, limited},
    recorded::Part,
    stream::StreamCore,
};

pub(crate) use access::AllocationAccess;
use freed::free;
pub(crate) use freed::{give_back, give_back_only};

/// Bytes of one device. They are freed in stream order when the last array, view or transfer that
/// uses them is gone.
///
/// If the memory is lent, its owner is dropped instead, when the device is finished with it.
///
/// An allocation of zero bytes has no buffer and never reaches the backend.
pub(crate) struct Allocation<D: Device> {
    buffer: Option<D::Buffer>,
    len_bytes: usize,
    home: LaneId,
    /// Its place in the ledger, if it has a buffer that this library frees.
    entry: Option<LedgerEntry>,
    /// The owner of the memory, if this library must not free it. It is not dropped while the
    /// device may use the memory.
    owner: Option<ManuallyDrop<Owner>>,
    /// The part of the memory that may be used; `None` for all of it.
    usable: Option<UsablePart>,
    /// Somebody may use the memory for an unknown time, so it is never given back.
    for_good: AtomicBool,
    /// Nobody writes the memory any more, because a [`SharedArray`](crate::SharedArray) has it.
    shared: AtomicBool,
    /// If this stands for memory of recorded work, which part. Then it has no bytes itself.
    part: Option<Part>,
    pub(crate) core: Arc<ContextCore<D>>,
    pub(crate) uses: Mutex<AccessLog>,
}

/// New memory: its place in the ledger, and the operation of its stream after which it may be used.
struct Made<D: Device> {
    buffer: D::Buffer,
    entry: LedgerEntry,
    sequence: u64,
}

impl<D: Device> Allocation<D> {
    /// Allocates uninitialized memory on a stream.
    #[track_caller]
    pub(crate) fn new(stream: &StreamCore<D>, len_bytes: usize) -> Result<Arc<Self>> {
        let Some(len) = NonZeroUsize::new(len_bytes) else { return Ok(Arc::new(Self::empty(&stream.core))) };
        if let Some(recorder) = stream.recorder() {
            return recorder.allocate(&stream.core, len_bytes);
        }
        debug_assert!(
            !stream.replays(),
            "each launch would use this memory, which is freed when the call returns"
        );
        let made = Self::make(stream, len)?;
        let allocation = Arc::new(Self::made(stream, made));
        allocation.tell();
        Ok(allocation)
    }

    /// Allocates memory. If there is none, gives back all memory that it can and tries again.
    #[track_caller]
    #[inline]
    fn make(stream: &StreamCore<D>, len: NonZeroUsize) -> Result<Made<D>> {
        match Self::attempt(stream, len) {
            Err(error) if stream.core.makes_room_after(&error) => Self::attempt(stream, len),
            first => first,
        }
    }

    #[inline]
    fn made(stream: &StreamCore<D>, made: Made<D>) -> Self {
        let Made { buffer, entry, sequence } = made;
        let len_bytes = buffer.len_bytes();
        Self {
            buffer: Some(buffer),
            len_bytes,
            home: stream.lane,
            entry: Some(entry),
            owner: None,
            usable: None,
            for_good: AtomicBool::new(false),
            shared: AtomicBool::new(false),
            part: None,
            core: Arc::clone(&stream.core),
            uses: Mutex::new(AccessLog::of_alloc(stream.lane.index, sequence, len_bytes)),
        }
    }

    /// Tells the hook, if there is one, of the allocation.
    #[inline]
    fn tell(&self) {
        if self.core.watch.is_hooked() {
            self.tell_hook();
        }
    }

    #[cold]
    fn tell_hook(&self) {
        let tracker = lock(&self.core.tracker);
        let record = self.entry.as_ref().map(|entry| tracker.ledger.record(entry));
        drop(tracker);
        if let Some(record) = record {
            self.core.watch.allocated(&record);
        }
    }

    #[track_caller]
    fn attempt(stream: &StreamCore<D>, len: NonZeroUsize) -> Result<Made<D>> {
        // The lock is held also while the device makes room for the memory. Otherwise an operation
        // that another thread submits meanwhile would take the allocation's place in the stream.
        let mut tracker = lock(&stream.core.tracker);
        let buffer = Self::alloc(stream, &tracker.ledger, len)
            .map_err(|error| error.with_live(|| tracker.ledger.live_by_tag(|_| true)))?;
        let entry = tracker.ledger.enter(MemoryKind::Device, len.get(), Location::caller());
        // Other streams may use the memory only after the allocation took effect, so it counts as a
        // write.
        let sequence = tracker.note_alone(stream.lane.index);
        Ok(Made { buffer, entry, sequence })
    }

    /// Allocates memory, if a limit allows it and the device has it.
    #[track_caller]
    fn alloc(stream: &StreamCore<D>, ledger: &Ledger, len: NonZeroUsize) -> Result<D::Buffer> {
        let (held_bytes, limit_bytes) = (ledger.live_bytes(MemoryKind::Device), ledger.limit_bytes);
        if held_bytes.saturating_add(len.get()) > limit_bytes {
            return Err(limited(stream.core.backend(), "alloc", len.get(), (held_bytes, limit_bytes)));
        }
        stream.raw.alloc(len)
    }

    /// Makes an allocation of a buffer whose memory belongs to `owner`, which is dropped after the
    /// last use. Any stream may use the memory at once.
    pub(crate) fn lent(core: &Arc<ContextCore<D>>, buffer: D::Buffer, owner: Owner) -> Self {
        Self::lent_in_part(core, buffer, owner, None, AccessLog::default())
    }

    /// Like [`lent`](Self::lent), but only the part `usable` may be used. `uses` are the accesses
    /// so far.
    #[inline]
    pub(crate) fn lent_in_part(
        core: &Arc<ContextCore<D>>,
        buffer: D::Buffer,
        owner: Owner,
        usable: Option<UsablePart>,
        uses: AccessLog,
    ) -> Self {
        let home = LaneId { index: 0, generation: 0 };
        let (len_bytes, owner) = (buffer.len_bytes(), Some(ManuallyDrop::new(owner)));
        let (buffer, core, uses) = (Some(buffer), Arc::clone(core), Mutex::new(uses));
        let (for_good, shared) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { buffer, len_bytes, home, entry: None, owner, usable, for_good, shared, part: None, core, uses }
    }

    /// Takes over a buffer that other code had. From now on it is freed and counted as if it had
    /// been allocated on `stream`.
    #[track_caller]
    pub(crate) fn reclaimed(stream: &StreamCore<D>, buffer: D::Buffer) -> Self {
        let mut tracker = lock(&stream.core.tracker);
        let entry = tracker.ledger.enter(MemoryKind::Device, buffer.len_bytes(), Location::caller());
        let sequence = tracker.note_alone(stream.lane.index);
        drop(tracker);
        let allocation = Self::made(stream, Made { buffer, entry, sequence });
        allocation.tell();
        allocation
    }

    /// Whether the memory can be given away: it has no other owner, and nobody uses it for an
    /// unknown time.
    pub(crate) fn is_ours(&self) -> bool {
        self.owner.is_none() && !self.for_good.load(Relaxed)
    }

    /// Whether other code owns the memory, which may then belong to another array as well.
    pub(crate) fn is_lent(&self) -> bool {
        self.owner.is_some()
    }

    /// Gives up memory that is not lent: from now on this library neither frees nor counts it.
    /// `None` if there are no bytes.
    pub(crate) fn release(mut self) -> Option<D::Buffer> {
        let buffer = self.buffer.take();
        if let Some(entry) = self.entry.take() {
            let mut tracker = lock(&self.core.tracker);
            let record = tracker.ledger.record(&entry);
            tracker.ledger.leave(entry);
            drop(tracker);
            self.core.watch.freed(&record);
        }
        buffer
    }

    /// Leaks the memory when nobody here has it any more, instead of freeing it.
    pub(crate) fn keep_for_good(&self) {
        self.for_good.store(true, Relaxed);
    }

    /// Makes an allocation of zero bytes.
    pub(crate) fn empty(core: &Arc<ContextCore<D>>) -> Self {
        let home = LaneId { index: 0, generation: 0 };
        let (core, uses) = (Arc::clone(core), Mutex::default());
        Self {
            buffer: None,
            len_bytes: 0,
            home,
            entry: None,
            owner: None,
            usable: None,
            for_good: AtomicBool::new(false),
            shared: AtomicBool::new(false),
            part: None,
            core,
            uses,
        }
    }

    /// Returns an error if a layout of elements of `item_bytes` reaches bytes outside the memory,
    /// or bytes that must not be used.
    ///
    /// Code that takes a layout from a caller checks it with this, not with the size: lent memory
    /// begins before its elements, and the gaps between them belong to somebody else.
    pub(crate) fn check_reach(&self, layout: &Layout, item_bytes: usize) -> Result<(), LayoutError> {
        check_inside(layout, item_bytes, self.len_bytes)?;
        match &self.usable {
            Some(usable) if !usable.covers(layout, item_bytes) => {
                let span = layout.span();
                Err(LayoutError::NotLent { start: span.start, end: span.end })
            }
            _ => Ok(()),
        }
    }

    /// Size of the buffer in bytes. [`check_reach`](Self::check_reach) says which of them may be
    /// used.
    pub(crate) fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// The memory. Only empty operations, and operations of a recording, have none.
    pub(crate) fn buffer(&self) -> &D::Buffer {
        self.buffer.as_ref().expect("neither zero bytes nor memory of a recording are asked for a buffer")
    }

    /// The memory; `None` if it has no bytes or stands for memory of a recording.
    pub(crate) fn any_buffer(&self) -> Option<&D::Buffer> {
        self.buffer.as_ref()
    }

    /// The device address, 0 for zero bytes.
    pub(crate) fn address(&self) -> u64 {
        self.buffer.as_ref().map_or(0, Buffer::address)
    }
}

impl<D: Device> fmt::Debug for Allocation<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Allocation({} bytes on {})",
            self.len_bytes(),
            crate::debug_text::DeviceName(&self.core.device)
        )
    }
}

impl<D: Device> Drop for Allocation<D> {
    /// Frees in stream order: after every access, on the home stream if it still lives. Does not
    /// block.
    fn drop(&mut self) {
        if self.for_good.load(Relaxed) {
            if let Some(entry) = &self.entry {
                lock(&self.core.tracker).ledger.set_state(entry, AllocationState::Lost);
            }
            return;
        }
        if let Some(owner) = self.owner.take() {
            let core = Arc::clone(&self.core);
            return give_back(&core, &self.uses, self.len_bytes, owner);
        }
        let (Some(buffer), Some(entry)) = (self.buffer.take(), self.entry.take()) else { return };
        let uses = self.uses.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !self.core.releases.is_deferring() {
            return free(&self.core, buffer, entry, self.home, uses);
        }
        lock(&self.core.tracker).ledger.set_state(&entry, AllocationState::Pending);
        let later = DeviceMemory { buffer, entry, home: self.home, uses: mem::take(uses) };
        if let Some(Pending::Device(now)) = self.core.releases.defer(Pending::Device(later), self.len_bytes) {
            now.free(&self.core);
        }
    }
}
