//! Host memory and the device, for programs that overlap copies with work. There are three sound
//! ways.
//!
//! 1. A borrowed slice, as in [`Array::from_slice`](crate::Array::from_slice) and
//!    [`ArrayView::to_vec`](crate::ArrayView::to_vec): the call returns when the slice is free
//!    again. The copy goes through staging memory of the library.
//! 2. An owned [`PinnedBuffer`], moved into a [`Transfer`] that gives it back from
//!    [`Transfer::wait`].
//! 3. A [scope](crate::StreamHandle::scope): borrowed memory, many operations in flight, one wait
//!    in the library's own frame.
//!
//! Each is sound if values are forgotten, and if code unwinds in the middle. None relies on a
//! destructor: a `Transfer` that is forgotten takes its memory with it, and a scope has nothing to
//! forget.
//!
//! A wait ends in one of three ways ([`Quiesced`](crate::backend::Quiesced)). If it does not say
//! that the device is finished, the first way leaks staging memory. The second leaks the owned
//! memory, and the error says so. A scope aborts the process, because its memory is not the
//! library's to leak.

mod pinned;
mod pinned_array;
mod registered;
mod scope;
mod threads;
mod transfer;

pub use pinned::PinnedBuffer;
pub use pinned_array::PinnedArray;
pub use scope::Scope;
pub use transfer::{Transfer, TransferError};
