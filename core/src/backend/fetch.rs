//! A quick way to the host for a few bytes.
#![allow(unsafe_code)] // declares an unsafe trait; performs no unsafe operation

use super::{FetchOp, Quiesced};
use crate::Result;

/// What a stream may have beside [`download`](super::Stream::download): a way that brings a few
/// bytes to the host sooner than a download and a wait for an event do.
///
/// # Safety
///
/// As of [`Stream`](super::Stream): [`fetched`](Self::fetched) answers `Done` only when the bytes
/// are there and nothing that was enqueued before the fetch touches memory any more (S6).
pub unsafe trait Fetch<B> {
    /// Most bytes of one operation.
    fn most_bytes(&self) -> usize;

    /// Begins to bring the bytes, which are read in stream order. Does not synchronize.
    /// [`fetched`](Self::fetched) takes the number that is answered, once.
    ///
    /// # Errors
    ///
    /// Nothing was enqueued.
    fn fetch(&self, op: &FetchOp<'_, B>) -> Result<u64>;

    /// Blocks the calling thread until the bytes are there, which are then written to `bytes`, as
    /// many as the operation named. Nothing writes there later, whatever the answer is.
    fn fetched(&self, number: u64, bytes: &mut [u8]) -> Quiesced;
}
