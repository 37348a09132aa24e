//! A quick way to the host for a few bytes.
#![allow(unsafe_code)] // declares an unsafe trait and unsafe constructors; performs no unsafe operation

use std::fmt;

use super::{Operand, Quiesced, ReduceForm, ReduceOp};
use crate::{Result, function::interpreter::Reducing, layout::Layout};

/// A stream that may bring a few bytes to the host sooner than a
/// [`download`](super::Stream::download) and a wait for an event.
///
/// # Safety
///
/// Like [`Stream`](super::Stream): [`fetched`](Self::fetched) answers `Done` only when the bytes
/// are there and nothing that was enqueued before the fetch touches memory any more (S6).
pub unsafe trait Fetches<B> {
    /// Most bytes of one fetch now; 0 if there is no quicker way now. Does not synchronize.
    fn most_fetched_bytes(&self) -> usize;

    /// Starts a fetch. The bytes are read in stream order. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Nothing was enqueued.
    fn fetch(&self, op: &FetchOp<'_, B>) -> Result<Fetching>;

    /// Blocks the calling thread until the fetched bytes are there, and writes them to `bytes`, as
    /// many as the operation named. Nothing writes there later, after success and failure.
    fn fetched(&self, begun: Fetching, bytes: &mut [u8]) -> Quiesced;
}

/// A few bytes that are brought to the host.
#[derive(Debug)]
#[repr(C)]
pub struct FetchOp<'a, B> {
    pub(crate) source: FetchSource<'a, B>,
    pub(crate) len_bytes: usize,
}

/// The source of the bytes.
#[derive(Debug)]
#[repr(C)]
#[expect(clippy::exhaustive_enums, reason = "bytes are there, or computed")]
pub enum FetchSource<'a, B> {
    /// Bytes of a buffer, from one on.
    Bytes(&'a B, usize),
    /// The element that a reduction gives, which nobody else reads.
    Total(TotalOp<'a, B>),
}

impl<'a, B> FetchOp<'a, B> {
    /// The operation, unchecked.
    ///
    /// # Safety
    ///
    /// `len_bytes` is not 0, and at most what [`most_fetched_bytes`](Fetches::most_fetched_bytes)
    /// says; the bytes lie inside the buffer, or belong to the element. Nothing that conflicts
    /// with it is in flight, or an event or the stream orders it after that.
    #[must_use]
    pub unsafe fn new_unchecked(source: FetchSource<'a, B>, len_bytes: usize) -> Self {
        Self { source, len_bytes }
    }

    /// The source of the bytes.
    #[must_use]
    pub fn source(&self) -> &FetchSource<'a, B> {
        &self.source
    }

    /// Bytes to bring; never 0.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.len_bytes
    }
}

/// A reduction of all elements to one, whose place the backend chooses.
#[repr(C)]
pub struct TotalOp<'a, B> {
    pub(crate) work: Reducing<'a>,
    pub(crate) shape: &'a [usize],
    pub(crate) inputs: &'a [Operand<'a, B>],
    pub(crate) place: &'a Layout,
}

impl<'a, B> TotalOp<'a, B> {
    /// The operation, unchecked.
    ///
    /// # Safety
    ///
    /// Like [`ReduceOp::new_unchecked`] for a result without axes, whose layout is `place`.
    #[must_use]
    pub unsafe fn new_unchecked(
        work: Reducing<'a>,
        shape: &'a [usize],
        inputs: &'a [Operand<'a, B>],
        place: &'a Layout,
    ) -> Self {
        Self { work, shape, inputs, place }
    }

    /// The reduction, to memory of the backend's own.
    ///
    /// # Safety
    ///
    /// The buffer is as long as the element, and nobody else uses it.
    #[must_use]
    pub unsafe fn to<'b>(&'b self, buffer: &'b B) -> ReduceOp<'b, B> {
        let &Self { work, shape, inputs, place } = self;
        let result = Operand { buffer, layout: place };
        ReduceOp { work, form: ReduceForm::Total, shape, inputs, result, checked: true }
    }
}

/// The combination of elements.
impl<B> fmt::Debug for TotalOp<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TotalOp({:?})", self.work.combine)
    }
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
    /// [`Fetches::fetch`] answers it, for what it began under that number, and made no other.
    pub const unsafe fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.0
    }
}
