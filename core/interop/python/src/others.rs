//! Other users of an array's memory, and the order between their work and work here.

use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release},
};

use devarray::backend::ForeignStream;
use devarray_interop::{Consumer, Door, Result, Tensor};

/// The lender of the memory, and whether other code was shown it. All tensors in the memory share this
/// record, however they were made.
#[derive(Debug, Default)]
pub(crate) struct Others {
    lender: Option<Lender>,
    /// Other code was shown the memory: its work on the default stream must come before work here.
    shown: AtomicBool,
}

/// Stands for memory with which another binding keeps its own record, so nothing is known here: every use
/// waits for the default stream.
static UNKNOWN: Others = Others { lender: None, shown: AtomicBool::new(true) };

/// The lender of memory.
#[derive(Debug)]
struct Lender {
    stream: ForeignStream,
    /// Our stream waits for the lender's when the memory is first used, not when it comes in. Most arrays
    /// that only pass through never need the wait.
    waits_later: bool,
    /// Our stream was told to wait for the lender's, now or at the import.
    awaited: AtomicBool,
    /// The memory was used here, or by other code in the order of our stream.
    used: AtomicBool,
    /// Whether the memory went back to the lender's stream, with no order made for its return.
    onward: AtomicBool,
}

impl Others {
    /// Memory that a stream of other code lent. Our stream waits for it already.
    pub(crate) fn lent_by(stream: ForeignStream) -> Self {
        Self::of(stream, false)
    }

    /// Memory that a stream of other code lent. Our stream is to wait for that stream before the memory is
    /// used. Not for the per-thread default stream, which is another stream on another thread.
    pub(crate) fn to_await(stream: ForeignStream) -> Self {
        Self::of(stream, true)
    }

    fn of(stream: ForeignStream, waits_later: bool) -> Self {
        debug_assert!(!waits_later || stream != ForeignStream::PER_THREAD, "another one on another thread");
        let [awaited, used, onward] = [!waits_later, false, false].map(AtomicBool::new);
        let lender = Lender { stream, waits_later, awaited, used, onward };
        Self { lender: Some(lender), shown: AtomicBool::new(false) }
    }

    /// The record of a tensor's memory. If there is none yet, it says that nobody lent the memory.
    pub(crate) fn of_memory<D: Door>(tensor: &Tensor<D>) -> &Self {
        tensor.attached(Self::default).unwrap_or(&UNKNOWN)
    }

    /// Notes that other code is shown the memory.
    pub(crate) fn show(&self) {
        self.shown.store(true, Relaxed);
    }

    /// Notes that the memory is in use here from now on. `wait` makes our stream wait for the lender's, if it
    /// has not so far.
    pub(crate) fn begin(&self, wait: impl FnOnce(ForeignStream) -> Result<()>) -> Result<()> {
        let Some(lender) = self.lender.as_ref() else { return Ok(()) };
        if !lender.awaited.load(Acquire) || lender.onward.load(Acquire) {
            wait(lender.stream)?;
            lender.awaited.store(true, Release);
        }
        lender.used.store(true, Release);
        Ok(())
    }

    /// Like [`begin`](Self::begin), and our stream also waits for other code that was shown the memory.
    pub(crate) fn settle(&self, wait: impl Fn(ForeignStream) -> Result<()>) -> Result<()> {
        self.begin(&wait)?;
        if self.shown.load(Relaxed) { wait(ForeignStream::LEGACY) } else { Ok(()) }
    }

    /// Whether the memory can go to a consumer without ordering: the consumer works on the lender's stream,
    /// and nothing was done here in between. If so, this notes that it went there.
    pub(crate) fn goes_onward_to(&self, consumer: Consumer, is_host: bool) -> bool {
        let Some(lender) = self.lender.as_ref() else { return false };
        let same = match consumer {
            Consumer::Stream(stream) | Consumer::StreamForNow(stream) => {
                lender.waits_later && stream == lender.stream
            }
            Consumer::Host => is_host,
            _ => false,
        };
        let onward = same && !lender.used.load(Acquire);
        if onward {
            lender.onward.store(true, Release);
        }
        onward
    }

    /// The lender's stream, if it has to wait for work here when the memory is given back. It is named so
    /// that any thread may give the memory back.
    pub(crate) fn owed(&self) -> Option<ForeignStream> {
        let lender = self.lender.as_ref().filter(|lender| lender.used.load(Acquire))?;
        Some(lender.stream.of_any_thread())
    }
}
