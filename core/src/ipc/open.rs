//! Arrays of other processes.
#![allow(unsafe_code)] // opens memory as its caller vouches for it

use std::sync::Arc;

use super::RemoteArray;
use crate::{
    Array, ErasedArray, LayoutError, Result, StreamHandle,
    allocation::Allocation,
    backend::Ipc,
    foreign::{UsablePart, lent_to},
    hazards::AccessLog,
    layout::{Element, Injectivity},
    lock::lock,
};

impl<T: Element, D: Ipc> Array<T, D> {
    /// Opens an array of another process: the same memory, not a copy. Does not synchronize:
    /// `stream`, and every other stream that uses the array, waits on the device for work that the
    /// other process had submitted when it exported the array.
    ///
    /// The memory is closed when the array, its views and all work on them are gone. An array may
    /// be opened several times.
    ///
    /// [The page of this module](crate::ipc) has an example.
    ///
    /// # Errors
    ///
    /// - [`Error::Unsupported`](crate::Error::Unsupported), naming
    ///   [`Ipc`](crate::backend::Capability::Ipc): the device opens nothing.
    /// - [`Error::Handle`](crate::Error::Handle): this process made it itself, or the named
    ///   memory no longer exists.
    /// - [`Error::DeviceMismatch`](crate::Error::DeviceMismatch): the event belongs to another
    ///   device, or to another backend.
    /// - [`LayoutError::ElementSize`]: its elements are not as large as a `T`.
    /// - [`LayoutError::AliasedDestination`]: its layout reaches an element twice.
    /// - Any other device error.
    ///
    /// # Safety
    ///
    /// - The name is of memory that the process which made it has exported, and keeps
    ///   ([`Exported`](super::Exported)) until the array here and all work on it are gone.
    /// - That process, and others, use the memory meanwhile only where events order it against the
    ///   work here.
    #[doc(alias = "open_ipc_array")]
    #[doc(alias = "open_ipc_buffer")]
    #[track_caller]
    pub unsafe fn open(stream: &StreamHandle<D>, remote: &RemoteArray) -> Result<Self> {
        const OPERATION: &str = "open";
        let (device, item_bytes) = (&stream.0.core.device, remote.item_bytes);
        if item_bytes != T::BYTES {
            let reason = "the element type is of another size";
            return Err(LayoutError::ElementSize { item_bytes, reason }.into());
        }
        if remote.layout.injectivity() != Injectivity::Injective {
            return Err(LayoutError::AliasedDestination.into());
        }
        remote.origin.check(device, OPERATION)?;
        let allocation = if remote.layout.is_empty() {
            Arc::new(Allocation::empty(&stream.0.core))
        } else {
            // SAFETY: passed on to the caller.
            let (buffer, opened) = unsafe { device.open_memory(&remote.memory) }?;
            let submission = lock(&stream.0.core.tracker);
            // SAFETY: as above; the event is kept with the memory.
            unsafe { device.wait_exported(&stream.0.raw, &remote.event) }?;
            drop(submission);
            let usable = UsablePart::elements(&remote.layout, item_bytes);
            lent_to(&stream.0, buffer, Box::new(opened), usable, AccessLog::of_alloc)
        };
        let layout = remote.layout.clone();
        Ok(Self::of_erased(ErasedArray::of_allocation(allocation, layout, item_bytes)))
    }
}
