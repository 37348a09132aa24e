//! Sharing with other code, for programs that call cuBLAS, cudarc or a C library too: arrays in its
//! memory, our memory in its hands, and its work in order with ours.
//!
//! | to | call | promise |
//! |---|---|---|
//! | use memory that other code allocated | [`Array::adopt`], `unsafe` | its owner is dropped last, after all work on it |
//! | run kernels that other code launches on arrays | [`StreamHandle::foreign_work`] | the work is ordered like any operation that reads and writes the declared arrays |
//! | hand an array to other code, and have it back | [`StreamHandle::wait_for_uses`], [`StreamHandle::take_over`] | one stream stands for all work on it |
//! | wait for a stream of other code, or let it wait | [`StreamHandle::wait_for_foreign`], [`StreamHandle::foreign_waits`] | later work of one runs after earlier work of the other |
//! | tell other code where elements lie | [`ArrayView::address`], [`ArrayView::buffer`] | nothing: order is the reader's business |
//! | give memory up to other code, and take it back | [`Array::release`], [`Array::reclaim`] | nobody here frees it, or uses it, in between |
//!
//! Other code may enqueue on one of our streams, by its raw handle ([`StreamHandle::raw`]). Work
//! that it enqueues there before memory is adopted runs before all uses of the array. Work that it
//! enqueues there after memory was released runs after all uses. Other code may also have a stream
//! of its own, which interfaces name by a [number](crate::backend::ForeignStream). Default streams
//! have a number too; no other part of this library knows them.
//!
//! ```
//! use devarray::{Array, Context, Layout, NdLayout, Order};
//!
//! let context = Context::new(devarray_mock::MockDevice::new())?;
//! let stream = context.stream()?;
//!
//! // Memory leaves the library …
//! let array = Array::from_slice(&stream, &[2, 3], &[1, 2, 3, 4, 5, 6])?;
//! let released = array.release(&stream)?;
//! let address = released.address();
//!
//! // … is used as memory of somebody else, whose owner could be a tensor of another library …
//! let layout = Layout::contiguous(&[3, 2], Order::C)?;
//! // SAFETY: 24 bytes are allocated at the address until `reclaim` below, and nobody else uses them.
//! let mut adopted = unsafe { Array::<i32, _>::adopt(&stream, address, &layout, "an owner") }?;
//! adopted.view_mut().slice_axis(0, 1..2)?.fill(&stream, 9)?;
//! drop(adopted); // frees nothing; the owner is dropped when the fill has run
//!
//! // … and comes back.
//! // SAFETY: it is the buffer that was released, and nobody else uses it.
//! let array = unsafe { Array::<i32, _>::reclaim(&stream, released) }?;
//! assert_eq!(array.shape(), [2, 3]);
//! assert_eq!(array.to_vec(&stream)?, [1, 2, 9, 9, 5, 6]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod adopted;
mod place;
mod released;
mod streams;
mod usable_part;
mod uses;
mod work;

pub(crate) use adopted::lent_to;
pub(crate) use place::Place;
pub use released::{ReleaseError, Released};
pub(crate) use usable_part::UsablePart;
pub use work::ForeignWork;

#[cfg(doc)]
use crate::{Array, ArrayView, StreamHandle};
