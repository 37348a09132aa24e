//! A tensor and its stream, of a device that is known only at run time.
#![allow(unsafe_code)] // hands memory on to the stream that lent it

use std::{
    any::Any,
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use devarray::{Layout, StreamHandle, backend::ForeignStream};
use devarray_interop::{
    ArrayInterface, Consumer, DataType, Door, Result, Tensor,
    arrow::{OwnedArray, OwnedSchema},
    device::DeviceId,
    dlpack::{
        Owned,
        abi::{ManagedTensor, ManagedTensorVersioned},
    },
};

use crate::others::Others;

/// A tensor, and the stream that work on it goes to.
pub(crate) struct On<D: Door> {
    pub(crate) tensor: Tensor<D>,
    pub(crate) stream: StreamHandle<D>,
    /// Other code has the address. It keeps this array, and no structure that would tell when it is
    /// done.
    is_address_out: AtomicBool,
}

impl<D: Door> Drop for On<D> {
    /// Orders later work here on the memory, and its free, after the work of other code that had
    /// the address. Orders later work of the lender after the work here, if there was any. Blocks
    /// only on a device of the host, where it must.
    fn drop(&mut self) {
        let is_host = self.stream.device().is_host();
        if *self.is_address_out.get_mut()
            && !is_host
            && self.tensor.take_back(&self.stream, ForeignStream::LEGACY).is_err()
        {
            // Leaked: without this order, the free could come before the other code's last read.
            mem::forget(self.tensor.clone());
        }
        let Some(lender) = self.others().owed() else { return };
        // An error here is the device's, and its next call returns it too.
        if is_host {
            let _ = self.tensor.hand_over(&self.stream, Consumer::Host);
        } else {
            let _ = self.stream.foreign_waits(lender);
        }
    }
}

/// Calls that work for any device.
pub(crate) trait AnyArray: Send + Sync + 'static {
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn layout(&self) -> &Layout;
    fn data_type(&self) -> DataType;
    fn is_read_only(&self) -> bool;
    fn address(&self) -> Result<u64>;
    fn device(&self) -> DeviceId;
    fn is_host(&self) -> bool;
    fn stream_number(&self) -> Option<u64>;
    fn with_layout(&self, layout: Layout) -> Result<Arc<dyn AnyArray>>;
    fn copied(&self) -> Result<Arc<dyn AnyArray>>;
    fn read_only(&self) -> Arc<dyn AnyArray>;
    fn synchronize(&self) -> Result<()>;
    /// Begins work on the memory: it comes after the work of the lender, and of other code that was
    /// shown the memory.
    fn settle(&self) -> Result<()>;
    /// Like [`to_dlpack`](Self::to_dlpack), for work on this module's stream.
    fn to_dlpack_here(&self) -> Result<Owned<ManagedTensorVersioned>>;
    fn to_dlpack(&self, consumer: Consumer, copy: bool) -> Result<Owned<ManagedTensorVersioned>>;
    fn to_dlpack_legacy(&self, consumer: Consumer, copy: bool) -> Result<Owned<ManagedTensor>>;
    fn to_array_interface(&self) -> Result<ArrayInterface>;
    fn to_arrow(&self) -> Result<(OwnedSchema, OwnedArray)>;
}

impl<D: Door> On<D> {
    /// A tensor, with the stream for work on it.
    pub(crate) fn new(tensor: Tensor<D>, stream: &StreamHandle<D>) -> Self {
        Self { tensor, stream: stream.clone(), is_address_out: AtomicBool::new(false) }
    }

    /// Like [`new`](Self::new), for memory that just came in.
    pub(crate) fn lent(tensor: Tensor<D>, stream: &StreamHandle<D>, others: Others) -> Self {
        tensor.attached(|| others);
        Self::new(tensor, stream)
    }

    fn others(&self) -> &Others {
        Others::of_memory(&self.tensor)
    }

    /// Shows other code the memory, in the order of our stream.
    fn show(&self) -> Result<()> {
        self.others().begin(|stream| self.tensor.take_back(&self.stream, stream))?;
        self.others().show();
        Ok(())
    }

    fn beside(&self, tensor: Tensor<D>) -> Arc<dyn AnyArray> {
        Arc::new(Self::new(tensor, &self.stream))
    }
}

impl<D: Door> AnyArray for On<D> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn layout(&self) -> &Layout {
        self.tensor.layout()
    }

    fn data_type(&self) -> DataType {
        self.tensor.data_type()
    }

    fn is_read_only(&self) -> bool {
        self.tensor.is_read_only()
    }

    fn address(&self) -> Result<u64> {
        self.tensor.address()
    }

    fn device(&self) -> DeviceId {
        self.tensor.device().id()
    }

    fn is_host(&self) -> bool {
        self.tensor.device().is_host()
    }

    fn stream_number(&self) -> Option<u64> {
        D::stream_number(self.stream.raw())
    }

    fn with_layout(&self, layout: Layout) -> Result<Arc<dyn AnyArray>> {
        Ok(self.beside(self.tensor.with_layout(layout)?))
    }

    fn copied(&self) -> Result<Arc<dyn AnyArray>> {
        self.settle()?;
        let copy = self.tensor.copied(&self.stream)?;
        Ok(self.beside(copy))
    }

    fn read_only(&self) -> Arc<dyn AnyArray> {
        self.beside(self.tensor.clone().into_read_only())
    }

    fn synchronize(&self) -> Result<()> {
        self.settle()?;
        self.tensor.synchronize(&self.stream)
    }

    fn settle(&self) -> Result<()> {
        self.others().settle(|stream| self.tensor.take_back(&self.stream, stream))
    }

    fn to_dlpack_here(&self) -> Result<Owned<ManagedTensorVersioned>> {
        self.settle()?;
        // Work here goes to this stream only, so the consumer's next work on it is in order; memory
        // of the CPU is waited for.
        let consumer = if self.is_host() { Consumer::Host } else { Consumer::Unordered };
        self.tensor.to_dlpack(&self.stream, consumer)
    }

    fn to_dlpack(&self, consumer: Consumer, copy: bool) -> Result<Owned<ManagedTensorVersioned>> {
        if copy {
            self.settle()?;
            return self.tensor.to_dlpack_copied(&self.stream, consumer);
        }
        if self.others().goes_onward_to(consumer, self.is_host()) {
            // SAFETY: it was lent by this stream, and not used since; before it is used here,
            // `settle` waits for that stream.
            return unsafe { self.tensor.to_dlpack_onward() };
        }
        self.show()?;
        self.tensor.to_dlpack(&self.stream, consumer)
    }

    fn to_dlpack_legacy(&self, consumer: Consumer, copy: bool) -> Result<Owned<ManagedTensor>> {
        if copy {
            self.settle()?;
            return self.tensor.copied(&self.stream)?.to_dlpack_legacy(&self.stream, consumer);
        }
        self.show()?;
        self.tensor.to_dlpack_legacy(&self.stream, consumer)
    }

    fn to_array_interface(&self) -> Result<ArrayInterface> {
        self.is_address_out.store(true, Relaxed);
        self.show()?;
        self.tensor.to_array_interface(&self.stream)
    }

    fn to_arrow(&self) -> Result<(OwnedSchema, OwnedArray)> {
        self.show()?;
        self.tensor.to_arrow(&self.stream)
    }
}

/// Strides in bytes.
pub(crate) fn strides_bytes(array: &dyn AnyArray) -> Vec<isize> {
    let item_bytes = array.data_type().item_bytes().cast_signed();
    array.layout().strides().iter().map(|stride| stride.wrapping_mul(item_bytes)).collect()
}
