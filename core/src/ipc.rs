//! Arrays and events shared with other processes of one machine, for programs of several processes.
//!
//! One process allocates memory that can be exported ([`Array::zeros_exportable`]: not all memory
//! can) and exports the array: [`Array::export`] gives a [`RemoteArray`], which is plain data. The
//! processes send it by any channel. The other process opens it: [`Array::open`]. Both then have
//! the same memory, not copies of it.
//!
//! - **Order.** Work that the exporter submitted on the array before the export runs before the
//!   opener's work. To order later work, send events in the same way:
//!   [`StreamHandle::record_exported`], [`StreamHandle::wait_exported`]. Hazard tracking ends where
//!   a process ends.
//! - **Lifetime.** Memory is kept as long as its [`Exported`], even if the array is dropped. The
//!   opener closes it when the last array on it and all work are gone. The processes must agree
//!   that the exporter keeps the memory until then, so opening is `unsafe`.
//!
//! The example simulates two processes:
//!
//! ```
//! use devarray::{Array, Context, NdLayout, ipc::{RemoteArray, RemoteEvent}};
//! use devarray_mock::MockDevice;
//!
//! let device = MockDevice::new();
//! let (one, two) = (Context::new(device.clone())?, Context::new(device.other_process())?);
//!
//! // In one process: exportable memory, written by the device in the background.
//! let stream = one.stream()?;
//! let mut array = Array::<f32, _>::zeros_exportable(&stream, &[2, 3])?;
//! array.view_mut().copy_from_slice(&stream, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let exported = array.export(&stream)?;
//! let message = exported.array().to_bytes();
//!
//! // In the other: the same memory.
//! let theirs = two.stream()?;
//! let remote = RemoteArray::from_bytes(&message)?;
//! // SAFETY: `exported` is kept until the array here is dropped and its work done.
//! let mut opened = unsafe { Array::<f32, _>::open(&theirs, &remote) }?;
//! assert_eq!(opened.shape(), [2, 3]);
//! opened.view_mut().slice_axis(0, 1..2)?.fill(&theirs, 9.0)?;
//! let written = theirs.record_exported()?;
//! let answer = written.event().to_bytes();
//!
//! // Back in the first.
//! // SAFETY: `written` is kept until the wait is enqueued.
//! unsafe { stream.wait_exported(&RemoteEvent::from_bytes(&answer)?) }?;
//! assert_eq!(array.to_vec(&stream)?, [1.0, 2.0, 3.0, 9.0, 9.0, 9.0]);
//! # drop(opened);
//! # theirs.synchronize()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod event;
mod export;
mod open;
mod remote;
mod wire;

pub use event::ExportedEvent;
pub use export::Exported;
pub use remote::{ParseRemoteError, RemoteArray, RemoteEvent};

#[cfg(doc)]
use crate::{Array, StreamHandle};
