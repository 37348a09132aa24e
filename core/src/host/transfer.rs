//! A copy in flight that owns its host memory.
#![allow(unsafe_code)] // hands owned memory to operations that end before it is given back

use std::{
    error, fmt,
    future::Future,
    marker::PhantomData,
    mem::ManuallyDrop,
    pin::Pin,
    sync::Arc,
    task::{Context as TaskContext, Poll},
};

use super::PinnedBuffer;
use crate::{
    ArrayView, ArrayViewMut, Error, Result,
    backend::{Device, Quiesced},
    context::ContextCore,
    layout::{Element, LayoutError},
    pinned_pool::Pooled,
    stream::{EventHandle, StreamHandle},
};

/// A copy between a [`PinnedBuffer`] and device memory, in flight. It owns the buffer until the
/// device is done with it.
///
/// - [`wait`](Self::wait) blocks and gives the buffer back.
/// - [`is_done`](Self::is_done) asks without blocking.
/// - It is a future of the result of `wait`. The device makes no callbacks: a poll that is not
///   ready asks to be polled again at once, so any executor works.
///
/// Dropping it neither blocks nor cancels the copy: the buffer goes to the context, which frees it
/// when the device is done. Forgetting it leaks the buffer.
#[must_use = "the buffer comes back from `wait`"]
pub struct Transfer<T: Element, D: Device> {
    in_flight: Option<InFlight<D>>,
    len: usize,
    /// The context of the stream.
    core: Arc<ContextCore<D>>,
    /// The context of the buffer. It differs from `core` only if the buffer is portable.
    home: Arc<ContextCore<D>>,
    of: PhantomData<fn() -> T>,
}

struct InFlight<D: Device> {
    /// `None` for no bytes. Never dropped while the device may use it.
    memory: Option<ManuallyDrop<Pooled<D>>>,
    event: EventHandle<D>,
}

impl<T: Element, D: Device> Transfer<T, D> {
    /// Blocks until the copy is done and gives the buffer back.
    ///
    /// # Errors
    ///
    /// The copy or the wait failed. The buffer comes back in the error if the device is finished
    /// with it; otherwise it is leaked.
    ///
    /// # Panics
    ///
    /// If it was polled until it was ready, because the buffer was given back then.
    pub fn wait(mut self) -> Result<PinnedBuffer<T, D>, TransferError<T, D>> {
        self.settle()
    }

    /// Whether [`wait`](Self::wait) would return without blocking. Asking again and again makes
    /// progress.
    ///
    /// # Errors
    ///
    /// The copy, or the device, failed.
    pub fn is_done(&self) -> Result<bool> {
        self.in_flight.as_ref().map_or(Ok(true), |copy| copy.event.query())
    }

    fn settle(&mut self) -> Result<PinnedBuffer<T, D>, TransferError<T, D>> {
        let InFlight { memory, event } =
            self.in_flight.take().expect("a finished transfer is not waited for again");
        let buffer = |memory| PinnedBuffer::of_memory(memory, self.len, Arc::clone(&self.home));
        match event.quiesce() {
            Quiesced::Done => Ok(buffer(memory)),
            Quiesced::Ended(error) => Err(TransferError::new(error, Some(buffer(memory)))),
            // `memory` is dropped without its destructor: leaked.
            Quiesced::Unknown(error) => Err(TransferError::new(error, None)),
        }
    }
}

impl<T: Element, D: Device> Future for Transfer<T, D> {
    type Output = Result<PinnedBuffer<T, D>, TransferError<T, D>>;

    /// # Panics
    ///
    /// If polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Self::Output> {
        if let Ok(false) = self.is_done() {
            task.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(self.settle())
    }
}

// Nothing points into the future itself: the memory is elsewhere and stays where it is.
impl<T: Element, D: Device> Unpin for Transfer<T, D> {}

impl<T: Element, D: Device> Drop for Transfer<T, D> {
    fn drop(&mut self) {
        if let Some(InFlight { memory: Some(memory), event }) = self.in_flight.take() {
            self.core
                .deferred_drops
                .keep(Box::new(ManuallyDrop::into_inner(memory)), vec![event.into_mark()]);
        }
    }
}

impl<T: Element, D: Device> ArrayViewMut<'_, T, D> {
    /// Copies a pinned buffer, elements in C order, here, in the background. Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::LengthMismatch`]: the buffer does not hold as many elements as the array.
    /// - [`Error::DeviceMismatch`]: buffer, stream and array are not of one context.
    /// - Out of memory, if the elements are not dense and scratch is needed, and any other device
    ///   error.
    ///
    /// The error returns the buffer.
    #[track_caller]
    pub fn upload(
        &mut self,
        stream: &StreamHandle<D>,
        src: PinnedBuffer<T, D>,
    ) -> Result<Transfer<T, D>, TransferError<T, D>> {
        start(stream, src, self.layout().len(), |src| {
            // SAFETY: `start` checked that the buffer holds the elements, and keeps it untouched
            // until a wait.
            unsafe { stream.0.upload_direct(&self.elements(), src.as_byte_ptr()) }
        })
    }
}

impl<T: Element, D: Device> ArrayView<'_, T, D> {
    /// Copies the elements, in C order, to a pinned buffer, in the background. Does not
    /// synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`ArrayViewMut::upload`].
    #[track_caller]
    pub fn download(
        &self,
        stream: &StreamHandle<D>,
        dst: PinnedBuffer<T, D>,
    ) -> Result<Transfer<T, D>, TransferError<T, D>> {
        start(stream, dst, self.layout().len(), |dst| {
            // SAFETY: as in `upload`; every bit pattern the device writes is a valid `T`.
            unsafe { stream.0.download_direct(&self.elements(), dst.as_byte_ptr()) }
        })
    }
}

/// Checks the buffer, takes it out of reach of destructors, enqueues the copy and records an event.
#[track_caller]
fn start<T: Element, D: Device>(
    stream: &StreamHandle<D>,
    buffer: PinnedBuffer<T, D>,
    len: usize,
    enqueue: impl FnOnce(&PinnedBuffer<T, D>) -> Result<()>,
) -> Result<Transfer<T, D>, TransferError<T, D>> {
    let core = Arc::clone(&stream.0.core);
    let found = buffer.len();
    if found != len {
        let error = LayoutError::LengthMismatch { expected: len, found }.into();
        return Err(TransferError::new(error, Some(buffer)));
    }
    if !buffer.serves(&core) {
        let error = Error::DeviceMismatch { backend: core.backend(), operation: "transfer" };
        return Err(TransferError::new(error, Some(buffer)));
    }
    if let Err(error) = stream.0.check_runs("transfer") {
        return Err(TransferError::new(error, Some(buffer)));
    }
    // From here on the buffer is not dropped, whatever unwinds.
    let buffer = ManuallyDrop::new(buffer);
    let enqueued = enqueue(&buffer);
    let recorded = stream.record();
    match (enqueued, recorded) {
        (Ok(()), Ok(event)) => {
            let home = Arc::clone(&buffer.context().0);
            let memory = ManuallyDrop::into_inner(buffer).into_memory();
            Ok(Transfer { in_flight: Some(InFlight { memory, event }), len, core, home, of: PhantomData })
        }
        // Part of the copy may be under way, so wait for the device before returning the error.
        (Err(error), _) | (Ok(()), Err(error)) => {
            let is_over = stream.0.is_over_now();
            let buffer = is_over.then(|| ManuallyDrop::into_inner(buffer));
            Err(TransferError::new(error, buffer))
        }
    }
}

/// The error of a transfer that could not be started or did not end well. It holds the buffer, if
/// the device is finished with it.
pub struct TransferError<T: Element, D: Device>(Box<(Error, Option<PinnedBuffer<T, D>>)>);

impl<T: Element, D: Device> TransferError<T, D> {
    pub(super) fn new(error: Error, buffer: Option<PinnedBuffer<T, D>>) -> Self {
        Self(Box::new((error, buffer)))
    }

    /// The error.
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.0.0
    }

    /// The buffer; `None` if the device may still use it, in which case it was leaked.
    #[must_use]
    pub fn into_buffer(self) -> Option<PinnedBuffer<T, D>> {
        self.0.1
    }
}

impl<T: Element, D: Device> From<TransferError<T, D>> for Error {
    fn from(error: TransferError<T, D>) -> Self {
        error.0.0
    }
}

impl<T: Element, D: Device> fmt::Debug for TransferError<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let leaked = self.0.1.is_none();
        f.debug_struct("TransferError").field("error", self.error()).field("leaked", &leaked).finish()
    }
}

impl<T: Element, D: Device> fmt::Display for TransferError<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let leaked = if self.0.1.is_none() { "; the pinned buffer was leaked" } else { "" };
        write!(f, "{}{leaked}", self.error())
    }
}

impl<T: Element, D: Device> error::Error for TransferError<T, D> {}

impl<T: Element, D: Device> fmt::Debug for Transfer<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transfer").field("len", &self.len).field("done", &self.in_flight.is_none()).finish()
    }
}
