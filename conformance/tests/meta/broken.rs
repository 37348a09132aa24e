//! Devices that are wrong on purpose, each in one way, which the suite must notice.
//!
//! Pinned memory of such a device is never freed: a device that claims to be finished too early would write
//! into it.
#![allow(unsafe_code)] // implements unsafe traits, wrongly on purpose, over a backend whose memory is its own

use std::{
    collections::{HashMap, VecDeque},
    mem,
    num::NonZeroUsize,
    ops::{Deref, Range},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use devarray::{
    Error, Layout, Result,
    backend::{
        Buffer, Capabilities, CapabilitySet, CopyOp, Device, DeviceInfo, DownloadOp, Event, FillOp, FreeOp,
        HostBuffer, MemoryInfo, Quiesced, Stream, UploadOp,
    },
    copy::Plan,
    gather::IndexError,
};

use crate::bug::Bug;

mod captured;
mod collect;
mod compute;
mod extras;
mod gather;
mod launch;
mod memory;
mod order;
mod product;
mod programs;
mod runs;

pub(crate) use memory::{Kept, Placed};

/// A device with one [`Bug`].
#[derive(Debug)]
pub(crate) struct Broken<D: Device>(Arc<State<D>>);

/// The state of the device, which its streams share.
#[derive(Debug)]
pub(crate) struct State<D: Device> {
    inner: D,
    info: DeviceInfo,
    bug: Bug,
    opened: AtomicUsize,
    /// The ranges of host memory that are registered.
    registered: Mutex<Vec<Range<usize>>>,
    /// The scalars of the first call of each function.
    scalars: Mutex<HashMap<u64, Vec<u64>>>,
    /// The values of the first launch of each kernel.
    values: Mutex<HashMap<&'static str, Vec<u8>>>,
    /// Gathers, the oldest first.
    gathers: Mutex<VecDeque<(u64, Weak<()>)>>,
    /// The index error that was reported last.
    told: Mutex<Option<IndexError>>,
    /// Memory that captured operations find by its address.
    captures: captured::Known<D>,
}

impl<D: Device> Deref for Broken<D> {
    type Target = State<D>;

    fn deref(&self) -> &State<D> {
        &self.0
    }
}

/// A stream of it. `aside` is a second queue, for operations that the bug takes out of order.
#[derive(Debug)]
pub(crate) struct BrokenStream<D: Device> {
    device: Broken<D>,
    inner: D::Stream,
    aside: D::Stream,
    bug: Bug,
    /// The captured operations, on a stream that captures.
    taken: Option<captured::Taken<D>>,
    /// Whether all operations go to `aside` now.
    strays: AtomicBool,
    copies: AtomicUsize,
    /// An event from before the last operation, if the bug needs it.
    before: Mutex<Option<D::Event>>,
    full: AtomicBool,
    /// The first number that was written to each place, by address and length.
    numbers: Mutex<HashMap<(u64, usize), Vec<u8>>>,
    alive: Arc<()>,
}

/// An event of it.
#[derive(Debug)]
pub(crate) struct BrokenEvent<D: Device> {
    inner: D::Event,
    bug: Bug,
    ready: AtomicBool,
}

impl<D: Device> Broken<D> {
    pub(crate) fn new(inner: D, bug: Bug) -> Self {
        let mut info = inner.info().clone();
        if bug == Bug::ExtrasWorkUndeclared {
            info.capabilities.extras = CapabilitySet::default();
        }
        Self(Arc::new(State {
            inner,
            info,
            bug,
            captures: captured::Known::default(),
            opened: AtomicUsize::new(0),
            registered: Mutex::default(),
            scalars: Mutex::default(),
            values: Mutex::default(),
            gathers: Mutex::default(),
            told: Mutex::default(),
        }))
    }

    /// A stream, which may capture operations.
    fn open(&self, taken: Option<captured::Taken<D>>) -> Result<BrokenStream<D>> {
        let (inner, aside) = (self.inner.open_stream()?, self.inner.open_stream()?);
        Ok(BrokenStream {
            device: Self(Arc::clone(&self.0)),
            inner,
            aside,
            bug: self.bug,
            taken,
            strays: AtomicBool::new(false),
            copies: AtomicUsize::new(0),
            before: Mutex::default(),
            full: AtomicBool::new(false),
            numbers: Mutex::default(),
            alive: Arc::default(),
        })
    }
}

// SAFETY: no promise is kept; only used over a simulator, which checks every access to device memory.
unsafe impl<D: Device> Device for Broken<D> {
    type Buffer = Placed<D::Buffer>;
    type HostBuffer = Kept<D>;
    type Event = BrokenEvent<D>;
    type Stream = BrokenStream<D>;

    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn memory(&self) -> Result<MemoryInfo> {
        self.inner.memory()
    }

    fn open_stream(&self) -> Result<Self::Stream> {
        if self.opened.fetch_add(1, Ordering::Relaxed) >= 256 && self.bug == Bug::FewStreams {
            return Err(driver("open_stream", "NO_STREAMS"));
        }
        self.open(None)
    }

    fn alloc_host(&self, len_bytes: NonZeroUsize) -> Result<Self::HostBuffer> {
        let buffer = self.inner.alloc_host(len_bytes)?;
        if self.bug == Bug::HostMemoryHoldsWhatItHeld {
            // SAFETY: the memory is new, has that length, and belongs to nobody else.
            unsafe { buffer.as_ptr().write_bytes(0xA5, buffer.len_bytes()) };
        }
        Ok(Kept::new(buffer))
    }
}

// SAFETY: no promise is kept, as for the device.
unsafe impl<D: Device> Event for BrokenEvent<D> {
    fn query(&self) -> Result<bool> {
        match self.bug {
            Bug::QueryNeverReady => Ok(false),
            Bug::QueryReadyAtOnce => Ok(true),
            Bug::QueryReadyOnce => Ok(self.inner.query()? && !self.ready.swap(true, Ordering::Relaxed)),
            _ => self.inner.query(),
        }
    }

    fn synchronize(&self) -> Quiesced {
        match self.bug {
            Bug::EventSynchronizeReturnsAtOnce => Quiesced::Done,
            _ => self.inner.synchronize(),
        }
    }
}

// SAFETY: no promise is kept, as for the device.
unsafe impl<D: Device> Stream for BrokenStream<D> {
    type Device = Broken<D>;

    fn alloc(&self, len_bytes: NonZeroUsize) -> Result<Placed<D::Buffer>> {
        if self.full.load(Ordering::Relaxed) {
            return Err(driver("alloc", "STILL_FULL"));
        }
        match (self.inner.alloc(len_bytes), self.bug) {
            (Err(Error::OutOfMemory { .. }), Bug::OutOfMemoryMislabelled) => {
                Err(driver("alloc", "NO_MEMORY"))
            }
            (Err(error), Bug::OutOfMemoryForGood) => {
                self.full.store(true, Ordering::Relaxed);
                Err(error)
            }
            (Err(error @ Error::OutOfMemory { free_bytes: Some(free_bytes), .. }), Bug::OutOfMemoryLeaks) => {
                let most = NonZeroUsize::new(free_bytes / 4 * 3);
                mem::forget(most.map(|most| self.inner.alloc(most)).transpose()?);
                Err(error)
            }
            (outcome, bug) => outcome.map(|buffer| self.device.captures.note(Placed::new(buffer, bug))),
        }
    }

    fn free(&self, op: FreeOp<Placed<D::Buffer>>) -> Result<()> {
        let Some(buffer) = op.into_buffer().into_inner() else { return Err(driver("free", "IN_USE")) };
        // SAFETY: the same operation.
        let op = unsafe { FreeOp::new_unchecked(buffer) };
        match self.bug {
            Bug::FreeAtOnce => {
                self.aside.free(op)?;
                self.aside.synchronize().into_result()
            }
            Bug::FreeForgets => Ok(()),
            _ => self.inner.free(op),
        }
    }

    fn copy(&self, op: &CopyOp<'_, Placed<D::Buffer>>) -> Result<()> {
        if let Some(taken) = &self.taken {
            return taken.copy(self, op);
        }
        self.mark()?;
        let nth = self.copies.fetch_add(1, Ordering::Relaxed);
        let stream = self.unless(self.bug == Bug::EveryOtherCopyOutOfOrder && nth % 2 == 1);
        let (dst, src) = (&op.dst().inner, &op.src().inner);
        if self.bug == Bug::CopySwapsSides {
            return op
                .plan()
                .runs()
                .try_for_each(|(from, to, len)| runs::copy_bytes::<D>(stream, (src, from), (dst, to), len));
        }
        if let Some(wrong) = runs::spoilt(self.bug, op.plan()) {
            return wrong
                .into_iter()
                .try_for_each(|(from, to, len)| runs::copy_bytes::<D>(stream, (dst, to), (src, from), len));
        }
        // SAFETY: the same operation.
        stream.copy(&unsafe { CopyOp::new_unchecked(dst, src, op.plan()) })
    }

    fn fill(&self, op: &FillOp<'_, Placed<D::Buffer>>) -> Result<()> {
        if let Some(taken) = &self.taken {
            return taken.fill(self, op);
        }
        self.mark()?;
        // SAFETY: the same operation.
        let op = &unsafe { FillOp::new_unchecked(&op.dst().inner, op.plan(), op.pattern()) };
        match self.bug {
            Bug::FillLosesLastElement => {
                let runs: Vec<_> = op.plan().runs().collect();
                let (_, last, len) = runs[runs.len() - 1];
                let whole = &runs[..runs.len() - 1];
                whole.iter().try_for_each(|&(_, dst, len)| self.fill_run(op, dst, len, op.pattern()))?;
                self.fill_run(op, last, len - op.pattern().len(), op.pattern())
            }
            Bug::FillRepeatsFirstByte => {
                let pattern = vec![op.pattern()[0]; op.pattern().len()];
                op.plan().runs().try_for_each(|(_, dst, len)| self.fill_run(op, dst, len, &pattern))
            }
            // A launch of recorded work writes its numbers in this way.
            Bug::RecordingsKeepNumbers if op.plan().len_bytes() == op.pattern().len() => {
                let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
                let first = numbers
                    .entry((op.dst().address(), op.pattern().len()))
                    .or_insert_with(|| op.pattern().to_vec());
                // SAFETY: the same bytes are filled, with other values.
                self.inner.fill(&unsafe { FillOp::new_unchecked(op.dst(), op.plan(), first) })
            }
            _ => self.unless(self.bug == Bug::FillsOutOfOrder).fill(op),
        }
    }

    fn upload(&self, op: &UploadOp<'_, Placed<D::Buffer>>) -> Result<()> {
        self.runs()?;
        self.mark()?;
        let (mut offset, mut len) = (op.dst_range_bytes().start, op.len_bytes());
        match self.bug {
            Bug::UploadLosesLastByte => len -= 1,
            Bug::UploadIgnoresOffset => offset = 0,
            _ => {}
        }
        if len == 0 {
            return Ok(());
        }
        // SAFETY: the same operation, or fewer of its bytes, or equally many at the start of its buffer.
        let op = unsafe { UploadOp::new_unchecked(&op.dst().inner, offset, op.src(), len) };
        self.unless(self.bug == Bug::UploadsOutOfOrder).upload(&op)
    }

    fn download(&self, op: &DownloadOp<'_, Placed<D::Buffer>>) -> Result<()> {
        self.runs()?;
        let (mut offset, mut len) = (op.src_range_bytes().start, op.len_bytes());
        match self.bug {
            Bug::DownloadLosesLastByte => len -= 1,
            Bug::DownloadIgnoresOffset => offset = 0,
            _ => {}
        }
        if len == 0 {
            return Ok(());
        }
        // SAFETY: the same operation, or fewer of its bytes, or equally many from the start of its buffer.
        let op = unsafe { DownloadOp::new_unchecked(&op.src().inner, offset, op.dst(), len) };
        self.unless(self.bug == Bug::DownloadsOutOfOrder).download(&op)
    }

    fn record(&self) -> Result<BrokenEvent<D>> {
        if self.bug == Bug::RecordMissesTheLast
            && let Some(before) = self.before().take()
        {
            return Ok(self.event(before));
        }
        Ok(self.event(self.unless(self.bug == Bug::RecordCapturesNothing).record()?))
    }

    fn wait(&self, event: &BrokenEvent<D>) -> Result<()> {
        if self.bug == Bug::WaitIgnored { Ok(()) } else { self.inner.wait(&event.inner) }
    }

    fn synchronize(&self) -> Quiesced {
        match self.bug {
            Bug::SynchronizeReturnsAtOnce => Quiesced::Done,
            Bug::SynchronizeMissesTheLast => match self.before().take() {
                Some(before) => before.synchronize(),
                None => self.inner.synchronize(),
            },
            Bug::EveryOtherCopyOutOfOrder
            | Bug::FillsOutOfOrder
            | Bug::UploadsOutOfOrder
            | Bug::DownloadsOutOfOrder
            | Bug::FunctionsOutOfOrder
            | Bug::CapturesLeaveOutAnEdge
            | Bug::OrdersOutOfOrder
            | Bug::ProductsOutOfOrder => match self.inner.synchronize() {
                Quiesced::Done => self.aside.synchronize(),
                failed => failed,
            },
            _ => self.inner.synchronize(),
        }
    }
}

devarray::capabilities!(impl[D: Device] BrokenStream<D>: without Fetches, ChecksForeign, RunsAtOnce);

impl<D: Device> BrokenStream<D> {
    /// The second queue if the bug shows, otherwise the right one.
    fn unless(&self, shows: bool) -> &D::Stream {
        if shows || self.strays.load(Ordering::Relaxed) { &self.aside } else { &self.inner }
    }

    /// Records an event before the last operation, for bugs that miss that operation.
    fn mark(&self) -> Result<()> {
        if matches!(self.bug, Bug::RecordMissesTheLast | Bug::SynchronizeMissesTheLast) {
            let mark = self.inner.record()?;
            *self.before() = Some(mark);
        }
        Ok(())
    }

    fn before(&self) -> MutexGuard<'_, Option<D::Event>> {
        self.before.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn event(&self, inner: D::Event) -> BrokenEvent<D> {
        BrokenEvent { inner, bug: self.bug, ready: AtomicBool::new(false) }
    }

    /// Fills one run of the plan of `op`.
    fn fill_run(&self, op: &FillOp<'_, D::Buffer>, dst: usize, len: usize, pattern: &[u8]) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        let item = pattern.len();
        let dst = Layout::new(&[len / item], &[1], dst / item)?;
        let plan = Plan::new(&dst, &dst, item, &Capabilities::default())?;
        // SAFETY: a part of the bytes that `op` fills, in the same order.
        self.inner.fill(&unsafe { FillOp::new_unchecked(op.dst(), &plan, pattern) })
    }
}

/// A driver's error that says something untrue.
fn driver(operation: &'static str, name: &str) -> Error {
    Error::Driver { backend: "broken", operation, code: 2, name: name.into() }
}
