//! A quick way to the host for a few bytes.
#![allow(unsafe_code)] // declares an unsafe trait; performs no unsafe operation

use super::{FetchOp, Quiesced};
use crate::Result;

/// An optional ability of a stream: it brings a few bytes to the host sooner than a
/// [`download`](super::Stream::download) and a wait for an event.
///
/// # Safety
///
/// As of [`Stream`](super::Stream): [`fetched`](Self::fetched) answers `Done` only when the bytes
/// are there and nothing that was enqueued before the fetch touches memory any more (S6).
pub unsafe trait Fetch<B> {
    /// Most bytes of one operation.
    fn most_bytes(&self) -> usize;

    /// Starts a fetch. The bytes are read in stream order. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Nothing was enqueued.
    fn fetch(&self, op: &FetchOp<'_, B>) -> Result<Fetching>;

    /// A place on the host to which one reduction writes its only element, as to a buffer, and the
    /// fetch for [`fetched`](Self::fetched). If there is none, core brings the element by a fetch
    /// or a download. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Any device error.
    ///
    /// # Safety
    ///
    /// The buffer is the result of one reduction to one element of that length, on this stream, and
    /// gone when this stream is asked, once, to bring the element or to take the place back.
    unsafe fn place(&self, len_bytes: usize) -> Result<Option<(B, Fetching)>> {
        let _ = len_bytes;
        Ok(None)
    }

    /// Takes back a place that nothing was enqueued for. Does not synchronize.
    fn give_back(&self, begun: Fetching) {
        let _ = begun;
    }

    /// Blocks the calling thread until the fetched bytes are there, and writes them to `bytes`, as
    /// many as the operation named. Nothing writes there later, whatever the result.
    fn fetched(&self, begun: Fetching, bytes: &mut [u8]) -> Quiesced;
}

/// A fetch that was begun, and is taken once. Only the backend can make one; otherwise a program
/// could take the bytes of another fetch.
#[derive(Debug)]
#[must_use = "what is not taken is lost"]
pub struct Fetching(u64);

impl Fetching {
    /// The fetch of a number.
    ///
    /// # Safety
    ///
    /// [`Fetch::fetch`] or [`Fetch::place`] answers it, for what it began under that number, and
    /// made no other.
    pub const unsafe fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.0
    }
}
