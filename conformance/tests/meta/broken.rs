//! Devices that are wrong on purpose, each in one way: what the suite must notice.
//!
//! Pinned memory of such a device is never freed, because a device that says too early that it is finished would
//! otherwise write into memory given back to the allocator.
#![allow(unsafe_code)] // implements unsafe traits, wrongly on purpose, over a backend whose memory is its own

use std::{
    mem::ManuallyDrop,
    num::NonZeroUsize,
    sync::atomic::{AtomicUsize, Ordering},
};

use devarray::{
    Error, Layout, Result,
    backend::{
        Capabilities, CopyOp, Device, DeviceInfo, DownloadOp, Event, FillOp, FreeOp, HostBuffer, MemoryInfo,
        Quiesced, Stream, UploadOp,
    },
    copy::Plan,
};

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// Nothing: the twin that must pass.
    None,
    CopyDoesNothing,
    CopyLosesLastRun,
    CopyWritesGaps,
    CopyIgnoresReversal,
    CopyIgnoresSourceOffset,
    FillLosesLastElement,
    FillRepeatsFirstByte,
    UploadLosesLastByte,
    UploadIgnoresOffset,
    DownloadLosesLastByte,
    DownloadIgnoresOffset,
    EveryOtherCopyOutOfOrder,
    FreeAtOnce,
    FreeForgets,
    RecordCapturesNothing,
    WaitIgnored,
    SynchronizeReturnsAtOnce,
    EventSynchronizeReturnsAtOnce,
    QueryNeverReady,
    QueryReadyAtOnce,
    FewStreams,
}

impl Bug {
    /// How many variants there are, `None` among them.
    pub(crate) const COUNT: usize = Self::FewStreams as usize + 1;
}

/// A device with one [`Bug`].
#[derive(Debug)]
pub(crate) struct Broken<D> {
    inner: D,
    bug: Bug,
    opened: AtomicUsize,
}

/// A stream of it. `aside` is a second queue, for what the bug takes out of order.
#[derive(Debug)]
pub(crate) struct BrokenStream<D: Device> {
    inner: D::Stream,
    aside: D::Stream,
    bug: Bug,
    copies: AtomicUsize,
}

/// An event of it.
#[derive(Debug)]
pub(crate) struct BrokenEvent<D: Device> {
    inner: D::Event,
    bug: Bug,
}

/// Pinned memory that is never freed.
#[derive(Debug)]
pub(crate) struct Kept<D: Device>(ManuallyDrop<D::HostBuffer>);

impl<D: Device> Broken<D> {
    pub(crate) fn new(inner: D, bug: Bug) -> Self {
        Self { inner, bug, opened: AtomicUsize::new(0) }
    }
}

// SAFETY: none can be claimed; only used over a simulator, whose device memory is checked at every access.
unsafe impl<D: Device> Device for Broken<D> {
    type Buffer = D::Buffer;
    type HostBuffer = Kept<D>;
    type Event = BrokenEvent<D>;
    type Stream = BrokenStream<D>;

    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn memory(&self) -> Result<MemoryInfo> {
        self.inner.memory()
    }

    fn open_stream(&self) -> Result<Self::Stream> {
        if self.opened.fetch_add(1, Ordering::Relaxed) >= 256 && self.bug == Bug::FewStreams {
            let backend = self.info().backend;
            return Err(Error::Driver {
                backend,
                operation: "open_stream",
                code: 2,
                name: "NO_STREAMS".into(),
            });
        }
        let (inner, aside) = (self.inner.open_stream()?, self.inner.open_stream()?);
        Ok(BrokenStream { inner, aside, bug: self.bug, copies: AtomicUsize::new(0) })
    }

    fn alloc_host(&self, len_bytes: NonZeroUsize) -> Result<Self::HostBuffer> {
        self.inner.alloc_host(len_bytes).map(|buffer| Kept(ManuallyDrop::new(buffer)))
    }
}

// SAFETY: the wrapped buffer keeps the promises, and is never freed.
unsafe impl<D: Device> HostBuffer for Kept<D> {
    fn len_bytes(&self) -> usize {
        self.0.len_bytes()
    }

    fn as_ptr(&self) -> *mut u8 {
        self.0.as_ptr()
    }
}

// SAFETY: none can be claimed, as for the device.
unsafe impl<D: Device> Event for BrokenEvent<D> {
    fn query(&self) -> Result<bool> {
        match self.bug {
            Bug::QueryNeverReady => Ok(false),
            Bug::QueryReadyAtOnce => Ok(true),
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

// SAFETY: none can be claimed, as for the device.
unsafe impl<D: Device> Stream for BrokenStream<D> {
    type Device = Broken<D>;

    fn alloc(&self, len_bytes: NonZeroUsize) -> Result<D::Buffer> {
        self.inner.alloc(len_bytes)
    }

    fn free(&self, op: FreeOp<D::Buffer>) -> Result<()> {
        match self.bug {
            Bug::FreeAtOnce => {
                self.aside.free(op)?;
                self.aside.synchronize().into_result()
            }
            Bug::FreeForgets => Ok(()),
            _ => self.inner.free(op),
        }
    }

    fn copy(&self, op: &CopyOp<'_, D::Buffer>) -> Result<()> {
        let nth = self.copies.fetch_add(1, Ordering::Relaxed);
        let stream =
            if self.bug == Bug::EveryOtherCopyOutOfOrder && nth % 2 == 1 { &self.aside } else { &self.inner };
        let mut runs: Vec<_> = op.plan().runs().collect();
        match self.bug {
            Bug::CopyDoesNothing => runs.clear(),
            Bug::CopyLosesLastRun if runs.len() > 1 => drop(runs.pop()),
            Bug::CopyWritesGaps => fill_gaps(&mut runs),
            Bug::CopyIgnoresReversal if op.plan().axes().iter().any(|axis| axis.src_stride_bytes < 0) => {
                let forward: Vec<usize> = runs.iter().rev().map(|run| run.0).collect();
                runs.iter_mut().zip(forward).for_each(|(run, src)| run.0 = src);
            }
            Bug::CopyIgnoresSourceOffset => {
                let first = runs.iter().map(|run| run.0).min().unwrap_or(0);
                runs.iter_mut().for_each(|run| run.0 -= first);
            }
            _ => return stream.copy(op),
        }
        runs.into_iter().try_for_each(|(src, dst, len)| copy_run::<D>(stream, op, src, dst, len))
    }

    fn fill(&self, op: &FillOp<'_, D::Buffer>) -> Result<()> {
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
            _ => self.inner.fill(op),
        }
    }

    fn upload(&self, op: &UploadOp<'_, D::Buffer>) -> Result<()> {
        let (offset, len) = match self.bug {
            Bug::UploadLosesLastByte => (op.dst_range_bytes().start, op.len_bytes() - 1),
            Bug::UploadIgnoresOffset => (0, op.len_bytes()),
            _ => return self.inner.upload(op),
        };
        if len == 0 {
            return Ok(());
        }
        // SAFETY: fewer of the same bytes, or as many at the start of the same buffer.
        let op = unsafe { UploadOp::new_unchecked(op.dst(), offset, op.src(), len) };
        self.inner.upload(&op)
    }

    fn download(&self, op: &DownloadOp<'_, D::Buffer>) -> Result<()> {
        let (offset, len) = match self.bug {
            Bug::DownloadLosesLastByte => (op.src_range_bytes().start, op.len_bytes() - 1),
            Bug::DownloadIgnoresOffset => (0, op.len_bytes()),
            _ => return self.inner.download(op),
        };
        if len == 0 {
            return Ok(());
        }
        // SAFETY: fewer of the same bytes, or as many from the start of the same buffer.
        let op = unsafe { DownloadOp::new_unchecked(op.src(), offset, op.dst(), len) };
        self.inner.download(&op)
    }

    fn record(&self) -> Result<BrokenEvent<D>> {
        let stream = if self.bug == Bug::RecordCapturesNothing { &self.aside } else { &self.inner };
        Ok(BrokenEvent { inner: stream.record()?, bug: self.bug })
    }

    fn wait(&self, event: &BrokenEvent<D>) -> Result<()> {
        if self.bug == Bug::WaitIgnored { Ok(()) } else { self.inner.wait(&event.inner) }
    }

    fn synchronize(&self) -> Quiesced {
        match self.bug {
            Bug::SynchronizeReturnsAtOnce => Quiesced::Done,
            Bug::EveryOtherCopyOutOfOrder => match self.inner.synchronize() {
                Quiesced::Done => self.aside.synchronize(),
                failed => failed,
            },
            _ => self.inner.synchronize(),
        }
    }
}

impl<D: Device> BrokenStream<D> {
    /// Fills one run of the plan of `op`.
    fn fill_run(&self, op: &FillOp<'_, D::Buffer>, dst: usize, len: usize, pattern: &[u8]) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        let item = pattern.len();
        let dst = Layout::new(&[len / item], &[1], dst / item)?;
        let plan = Plan::new(&dst, &dst, item, &Capabilities::default())?;
        // SAFETY: a part of what `op` fills, in order as it was.
        self.inner.fill(&unsafe { FillOp::new_unchecked(op.dst(), &plan, pattern) })
    }
}

/// Copies bytes of the buffers of `op`.
fn copy_run<D: Device>(
    stream: &D::Stream,
    op: &CopyOp<'_, D::Buffer>,
    src: usize,
    dst: usize,
    len: usize,
) -> Result<()> {
    let bytes = |offset| Layout::new(&[len], &[1], offset);
    let plan = Plan::new(&bytes(dst)?, &bytes(src)?, 1, &Capabilities::default())?;
    // SAFETY: inside what the plan of `op` spans, in order as it was.
    stream.copy(&unsafe { CopyOp::new_unchecked(op.dst(), op.src(), &plan) })
}

/// Lengthens each run up to the next one where both sides leave room.
fn fill_gaps(runs: &mut [(usize, usize, usize)]) {
    for at in 1..runs.len() {
        let (next_src, next_dst, _) = runs[at];
        let (src, dst, len) = &mut runs[at - 1];
        let room = next_src.saturating_sub(*src).min(next_dst.saturating_sub(*dst));
        *len = room.max(*len);
    }
}
