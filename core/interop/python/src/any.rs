//! A tensor and its stream, of a device that is known at run time alone.

use std::{
    any::Any,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use devarray::{Context, Layout, NdLayout, StreamHandle, backend::ForeignStream};
use devarray_interop::{
    ArrayInterface, Consumer, DataType, Door, Result, Tensor,
    arrow::{OwnedArray, OwnedSchema},
    device::DeviceId,
    dlpack::{
        Owned,
        abi::{ManagedTensor, ManagedTensorVersioned},
    },
};

/// A tensor, the stream that work on it goes to, and the stream of other code that it came from.
pub(crate) struct On<D: Door> {
    pub(crate) tensor: Tensor<D>,
    pub(crate) stream: StreamHandle<D>,
    /// Who lent the memory goes on using it there when this is dropped.
    pub(crate) lender: Option<ForeignStream>,
    /// Other code was shown the memory: what it did on the default stream comes before what is done
    /// here.
    pub(crate) shown: AtomicBool,
}

impl<D: Door> Drop for On<D> {
    /// What the lender does next comes after the work here. Does not block, but on a device of the
    /// host, where it must.
    fn drop(&mut self) {
        let Some(lender) = self.lender else { return };
        // An error is the device's, which tells it to the next call, too.
        if self.stream.context().device().is_host() {
            let _ = self.tensor.hand_over(&self.stream, Consumer::Host);
        } else {
            let _ = self.stream.foreign_waits(lender);
        }
    }
}

/// What can be done with it whatever the device.
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
    fn with_layout(&self, layout: Layout) -> Result<Box<dyn AnyArray>>;
    fn copied(&self) -> Result<Box<dyn AnyArray>>;
    fn read_only(&self) -> Box<dyn AnyArray>;
    fn synchronize(&self) -> Result<()>;
    /// Orders work here after what other code did that was shown the memory.
    fn settle(&self) -> Result<()>;
    /// As [`to_dlpack`](Self::to_dlpack), for work on this module's stream.
    fn to_dlpack_here(&self) -> Result<Owned<ManagedTensorVersioned>>;
    fn to_dlpack(&self, consumer: Consumer, copy: bool) -> Result<Owned<ManagedTensorVersioned>>;
    fn to_dlpack_legacy(&self, consumer: Consumer, copy: bool) -> Result<Owned<ManagedTensor>>;
    fn to_array_interface(&self) -> Result<ArrayInterface>;
    fn to_arrow(&self) -> Result<(OwnedSchema, OwnedArray)>;
}

impl<D: Door> On<D> {
    /// A tensor that a stream works on, and who lent it.
    pub(crate) fn new(tensor: Tensor<D>, stream: &StreamHandle<D>, lender: Option<ForeignStream>) -> Self {
        Self { tensor, stream: stream.clone(), lender, shown: AtomicBool::new(false) }
    }

    fn boxed(&self, tensor: Tensor<D>) -> Box<dyn AnyArray> {
        let on = Self::new(tensor, &self.stream, self.lender);
        on.shown.store(self.shown.load(Relaxed), Relaxed);
        Box::new(on)
    }

    fn context(&self) -> Context<D> {
        self.stream.context()
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
        self.context().device().id()
    }

    fn is_host(&self) -> bool {
        self.context().device().is_host()
    }

    fn stream_number(&self) -> Option<u64> {
        D::stream_number(self.stream.raw())
    }

    fn with_layout(&self, layout: Layout) -> Result<Box<dyn AnyArray>> {
        Ok(self.boxed(self.tensor.with_layout(layout)?))
    }

    fn copied(&self) -> Result<Box<dyn AnyArray>> {
        Ok(Box::new(Self::new(self.tensor.copied(&self.stream)?, &self.stream, None)))
    }

    fn read_only(&self) -> Box<dyn AnyArray> {
        self.boxed(self.tensor.clone().into_read_only())
    }

    fn synchronize(&self) -> Result<()> {
        Ok(self.stream.synchronize()?)
    }

    fn to_dlpack_here(&self) -> Result<Owned<ManagedTensorVersioned>> {
        // Work here goes to this stream alone, so that what comes next on it is in order; memory of the CPU
        // is waited for.
        let consumer = if self.is_host() { Consumer::Host } else { Consumer::Unordered };
        self.tensor.to_dlpack(&self.stream, consumer)
    }

    fn to_dlpack(&self, consumer: Consumer, copy: bool) -> Result<Owned<ManagedTensorVersioned>> {
        if copy {
            return self.tensor.to_dlpack_copied(&self.stream, consumer);
        }
        self.shown.store(true, Relaxed);
        self.tensor.to_dlpack(&self.stream, consumer)
    }

    fn to_dlpack_legacy(&self, consumer: Consumer, copy: bool) -> Result<Owned<ManagedTensor>> {
        if copy {
            return self.tensor.copied(&self.stream)?.to_dlpack_legacy(&self.stream, consumer);
        }
        self.shown.store(true, Relaxed);
        self.tensor.to_dlpack_legacy(&self.stream, consumer)
    }

    fn settle(&self) -> Result<()> {
        if self.shown.load(Relaxed) {
            self.tensor.take_back(&self.stream, ForeignStream::LEGACY)?;
        }
        Ok(())
    }

    fn to_array_interface(&self) -> Result<ArrayInterface> {
        self.shown.store(true, Relaxed);
        self.tensor.to_array_interface(&self.stream)
    }

    fn to_arrow(&self) -> Result<(OwnedSchema, OwnedArray)> {
        self.tensor.to_arrow(&self.stream)
    }
}

/// Strides in bytes.
pub(crate) fn strides_bytes(array: &dyn AnyArray) -> Vec<isize> {
    let item_bytes = array.data_type().item_bytes().cast_signed();
    array.layout().strides().iter().map(|stride| stride.wrapping_mul(item_bytes)).collect()
}
