//! Streams of any backend.
#![allow(unsafe_code)] // implements unsafe traits by forwarding

use std::{num::NonZeroUsize, ops::Range};

use devarray::{
    Error, Result,
    backend::{
        Captured, Captures, ChecksForeign, CopyOp, DeclaredAccess, DownloadOp, FetchOp, Fetches, Fetching,
        FillOp, FreeOp, Quiesced, RunsAtOnce, Stream, UploadOp,
    },
};

use crate::{
    AnyBuffer, AnyDevice, AnyEvent,
    buffer::OwnBuffer,
    project::{all_given, given},
};

each_backend!(one_of_each! {
    /// A stream of an [`AnyDevice`].
    AnyStream: [devarray_cuda::CudaStream, devarray_host::HostStream, devarray_mock::MockStream]
});

/// The error of a part that was given to a stream or a device of another backend.
#[cold]
pub(crate) fn mixed(backend: &'static str, operation: &'static str) -> Error {
    Error::DeviceMismatch { backend, operation }
}

/// Forwards operations to the stream of the backend.
macro_rules! forward {
    ($($method:ident($op:ident))*) => {
        $(
            #[inline]
            #[track_caller]
            fn $method(&self, op: &$op<'_, AnyBuffer>) -> Result<()> {
                on_each!((Self, self, stream) => {
                    // SAFETY: the operation was given to this stream.
                    stream.$method(unsafe { given(stream, op) })
                })
            }
        )*
    };
}

// SAFETY: forwards to a stream whose implementor vouches for it, or enqueues nothing.
unsafe impl Stream for AnyStream {
    type Device = AnyDevice;

    forward! {
        copy(CopyOp)
        fill(FillOp)
        upload(UploadOp)
        download(DownloadOp)
    }

    #[inline]
    #[track_caller]
    fn alloc(&self, len_bytes: NonZeroUsize) -> Result<AnyBuffer> {
        on_each!((Self, self, stream) => stream.alloc(len_bytes).map(AnyBuffer::from))
    }

    #[inline]
    #[track_caller]
    fn free(&self, op: FreeOp<AnyBuffer>) -> Result<()> {
        on_each!((Self, self, stream), (OwnBuffer, op.into_buffer().into_one(), buffer) => {
            // SAFETY: the promises about the operation on `AnyBuffer` hold for the buffer inside
            // it.
            stream.free(unsafe { FreeOp::new_unchecked(buffer) })
        }, else Err(mixed(self.backend(), "free")))
    }

    #[inline]
    #[track_caller]
    fn copy_all(&self, ops: &[CopyOp<'_, AnyBuffer>]) -> Result<()> {
        on_each!((Self, self, stream) => {
            // SAFETY: the operations were given to this stream.
            stream.copy_all(unsafe { all_given(stream, ops) })
        })
    }

    #[inline]
    #[track_caller]
    fn record(&self) -> Result<AnyEvent> {
        on_each!((Self, self, stream) => stream.record().map(AnyEvent::from))
    }

    #[inline]
    #[track_caller]
    fn wait(&self, event: &AnyEvent) -> Result<()> {
        on_each!((Self, self, stream), (AnyEvent, event, event) => stream.wait(event),
            else Err(mixed(self.backend(), "wait")))
    }

    #[inline]
    fn synchronize(&self) -> Quiesced {
        on_each!((Self, self, stream) => stream.synchronize())
    }
}

// SAFETY: forwards to a stream whose implementor vouches for it.
unsafe impl Fetches<AnyBuffer> for AnyStream {
    #[inline]
    fn most_fetched_bytes(&self) -> usize {
        on_each!((Self, self, stream) => stream.most_fetched_bytes())
    }

    #[inline]
    #[track_caller]
    fn fetch(&self, op: &FetchOp<'_, AnyBuffer>) -> Result<Fetching> {
        on_each!((Self, self, stream) => {
            // SAFETY: the operation was given to this stream.
            stream.fetch(unsafe { given(stream, op) })
        })
    }

    #[inline]
    fn fetched(&self, begun: Fetching, bytes: &mut [u8]) -> Quiesced {
        on_each!((Self, self, stream) => stream.fetched(begun, bytes))
    }
}

// SAFETY: the handle belongs to the stream of the backend.
unsafe impl ChecksForeign<AnyBuffer> for AnyStream {
    #[inline]
    #[track_caller]
    fn for_foreign_work(&self, declared: &[DeclaredAccess<'_, AnyBuffer>]) -> Option<Self> {
        // Safe code may declare an access to any buffer.
        if declared.iter().any(|access| access.buffer.backend() != self.backend()) {
            return None;
        }
        on_each!((Self, self, stream) => {
            // SAFETY: all buffers are of the stream's backend.
            stream.for_foreign_work(unsafe { all_given(stream, declared) }).map(Self::from)
        })
    }
}

// SAFETY: forwards to a stream whose implementor vouches for it.
unsafe impl Captures for AnyStream {
    fn capture(&self) -> Result<Option<Self>> {
        on_each!((Self, self, stream) => stream.capture().map(|captures| captures.map(Self::from)))
    }

    fn next_behind(&self, calls: &[usize]) {
        on_each!((Self, self, stream) => stream.next_behind(calls))
    }

    fn order_of_calls(&self, behind: &[Box<[usize]>]) -> Option<Vec<usize>> {
        on_each!((Self, self, stream) => stream.order_of_calls(behind))
    }

    fn captures_reports(&self) -> bool {
        on_each!((Self, self, stream) => stream.captures_reports())
    }

    fn end_capture(self) -> Result<Box<dyn Captured>> {
        on_each!((Self, self, stream) => stream.end_capture())
    }

    unsafe fn launch_captured(&self, captured: &dyn Captured, reports: Range<u64>) -> Result<()> {
        on_each!((Self, self, stream) => {
            // SAFETY: the caller's promise is what the stream asks.
            unsafe { stream.launch_captured(captured, reports) }
        })
    }
}

// SAFETY: a turn belongs to the stream of the backend, and so does what it lends.
unsafe impl RunsAtOnce<AnyBuffer> for AnyStream {
    #[inline]
    fn runs_at_once(&self) -> bool {
        on_each!((Self, self, stream) => stream.runs_at_once())
    }

    #[inline]
    fn turn(&self) -> Option<Self> {
        on_each!((Self, self, stream) => stream.turn().map(Self::from))
    }

    #[inline]
    unsafe fn over_host(&self, start: *mut u8, len_bytes: usize) -> Option<AnyBuffer> {
        on_each!((Self, self, stream) => {
            // SAFETY: the caller's promise is what the stream asks.
            unsafe { stream.over_host(start, len_bytes) }.map(AnyBuffer::from)
        })
    }
}
