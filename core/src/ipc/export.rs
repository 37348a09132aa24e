//! Arrays that other processes may open.

use std::{fmt, num::NonZeroUsize, panic::Location, sync::Arc};

use super::remote::{Origin, RemoteArray};
use crate::{
    Array, ErasedArray, Result, StreamHandle,
    allocation::{Allocation, AllocationAccess},
    backend::{Ipc, IpcMemory, IpcToken},
    layout::{Element, Layout, LayoutError, Order},
    memory::{LedgerEntry, MemoryKind},
    pinned_pool::PinnedPool,
};

/// Exportable memory, in the ledger until it is dropped.
struct Counted<D: Ipc> {
    /// `None` only once `drop` took it.
    entry: Option<LedgerEntry>,
    pool: Arc<PinnedPool<D>>,
    _exportable: D::Exportable,
}

impl<D: Ipc> Drop for Counted<D> {
    fn drop(&mut self) {
        if let Some(entry) = self.entry.take() {
            self.pool.leave(entry);
        }
    }
}

/// Memory that other processes may have opened. It is kept until this is dropped, even if the array
/// is dropped.
pub struct Exported<D: Ipc> {
    remote: RemoteArray,
    /// Kept, because other processes may still open it.
    _event: Option<D::Event>,
    _memory: Arc<Allocation<D>>,
}

impl<D: Ipc> Exported<D> {
    /// The array's name, to be sent.
    #[must_use]
    pub fn array(&self) -> &RemoteArray {
        &self.remote
    }
}

impl<T: Element, D: Ipc> Array<T, D> {
    /// Like [`zeros`](Self::zeros), in memory that can be exported. Such memory does not come from
    /// the pool, so this costs more and may block; the device may round the size up.
    ///
    /// # Errors
    ///
    /// - [`Error::Unsupported`](crate::Error::Unsupported), naming
    ///   [`Ipc`](crate::backend::Capability::Ipc): the device has no such memory.
    /// - The errors of [`uninit`](Self::uninit).
    #[track_caller]
    pub fn zeros_exportable(stream: &StreamHandle<D>, shape: &[usize]) -> Result<Self> {
        let (core, layout) = (&stream.0.core, Layout::contiguous(shape, Order::C)?);
        let len_bytes = layout.len().checked_mul(T::BYTES).filter(|&n| isize::try_from(n).is_ok());
        let allocation = match NonZeroUsize::new(len_bytes.ok_or(LayoutError::Overflow)?) {
            None => Allocation::empty(core),
            Some(len_bytes) => {
                let (buffer, exportable) = match core.device.alloc_exportable(len_bytes) {
                    Err(error) if core.makes_room_after(&error) => core.device.alloc_exportable(len_bytes)?,
                    first => first?,
                };
                let entry = core.pinned.enter(MemoryKind::Exportable, len_bytes.get(), Location::caller());
                let (entry, pool) = (Some(entry), Arc::clone(&core.pinned));
                Allocation::lent(core, buffer, Box::new(Counted { entry, pool, _exportable: exportable }))
            }
        };
        let mut array = Self::of_erased(ErasedArray::of_allocation(Arc::new(allocation), layout, T::BYTES));
        array.view_mut().fill(stream, T::zeroed())?;
        Ok(array)
    }

    /// Makes a name of the array for other processes. Does not copy. Does not synchronize: an
    /// opener waits, on the device, for all work submitted on it before.
    ///
    /// [The page of this module](crate::ipc) has an example.
    ///
    /// # Errors
    ///
    /// - [`Error::Unsupported`](crate::Error::Unsupported), naming
    ///   [`Ipc`](crate::backend::Capability::Ipc): the device cannot export, or this memory is not
    ///   [exportable](Self::zeros_exportable).
    /// - [`Error::DeviceMismatch`](crate::Error::DeviceMismatch): the stream belongs to another
    ///   context.
    /// - Any other device error.
    #[doc(alias = "get_ipc_handle")]
    #[doc(alias = "export_for_ipc")]
    #[track_caller]
    pub fn export(&self, stream: &StreamHandle<D>) -> Result<Exported<D>> {
        const OPERATION: &str = "export";
        let core = &stream.0.core;
        let (allocation, layout, item_bytes) = self.as_erased().share().into_parts();
        stream.0.check_unrecorded(OPERATION, [&allocation])?;
        let origin = Origin::of(&core.device);
        if layout.is_empty() {
            let token = IpcToken([0; 64]);
            let memory = IpcMemory { token, offset_bytes: 0, len_bytes: 0 };
            let remote = RemoteArray { origin, memory, event: token, layout, item_bytes };
            return Ok(Exported { remote, _event: None, _memory: allocation });
        }
        let span = layout.span();
        let bytes = span.start * item_bytes..span.end * item_bytes;
        let memory = core.device.export_memory(allocation.buffer(), bytes)?;
        // Other processes may read and write it, so all work in flight must come before.
        let touch = [AllocationAccess::whole(&allocation, true)];
        let to = stream.0.order(OPERATION, &touch)?;
        let (event, token) = to.device.record_exported(to.raw)?;
        drop(to);
        let remote = RemoteArray { origin, memory, event: token, layout, item_bytes };
        Ok(Exported { remote, _event: Some(event), _memory: allocation })
    }
}

impl<D: Ipc> fmt::Debug for Exported<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Exported").field(&self.remote).finish()
    }
}
