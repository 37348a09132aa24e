//! Pinned memory that the device reads and writes in place.

use std::{fmt, sync::Arc};

use super::{Unified, unified_methods};
use crate::{
    Array, ArrayView, ArrayViewMut, Context, PinnedBuffer, Result, StreamHandle,
    array::{
        Element, Parts, Reshaped, answer_as_layout, array_transforms, shape_methods, view_broadcasts,
        view_splits, view_transforms,
    },
    backend::{Capability, HostFlags, MapHost},
    layout::{AxisList, Extents, IndexItem, Integer, Layout, LayoutError, NdLayout, Order, Slice},
};

/// An N-dimensional array in host memory that the device reads and writes in place. The host sees a
/// slice, and the device an array. Use it for small or rarely touched data, because the device
/// reaches it over the link.
///
/// Dropping it does not block: the memory is freed, or goes back to the pinned pool, when the
/// device is finished with it.
///
/// ```
/// use devarray::{Array, Context, MappedArray};
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// let stream = context.stream()?;
/// let mut mapped = MappedArray::zeros(&context, &[2, 3])?;
/// mapped.host_mut()?.copy_from_slice(&[1, 2, 3, 4, 5, 6]);
/// let column = mapped.view().slice_axis(1, 2..)?.to_vec(&stream)?; // the device reads what the host wrote
/// assert_eq!(column, [3, 6]);
/// mapped.view_mut().fill(&stream, 9)?; // in the background …
/// assert_eq!(mapped.host()?, [9; 6]); // … until the host asks
/// # Ok::<(), devarray::Error>(())
/// ```
pub struct MappedArray<T: Element, D: MapHost> {
    unified: Unified<T, D>,
}

impl<T: Element, D: MapHost> MappedArray<T, D> {
    /// Allocates zeroed mapped memory of `shape`, in C order. May block for as long as the driver
    /// takes.
    ///
    /// # Errors
    ///
    /// - [`Error::Unsupported`](crate::Error::Unsupported): the device cannot map host memory.
    /// - The errors of [`Context::pinned_with`].
    #[track_caller]
    #[doc(alias = "mapped_array")]
    pub fn zeros(context: &Context<D>, shape: &[usize]) -> Result<Self> {
        Self::zeros_with(context, shape, HostFlags::new())
    }

    /// Like [`zeros`](Self::zeros), with more flags. The memory is mapped in any case.
    ///
    /// # Errors
    ///
    /// The errors of [`zeros`](Self::zeros).
    #[track_caller]
    pub fn zeros_with(context: &Context<D>, shape: &[usize], flags: HostFlags) -> Result<Self> {
        let len = Layout::contiguous(shape, Order::C)?.len();
        Self::from_pinned(shape, context.pinned_with(len, flags.mapped())?)
    }

    /// Like [`zeros`](Self::zeros), with the elements of a slice, in C order.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::LengthMismatch`]: the slice does not hold as many elements as the shape.
    /// - The errors of [`zeros`](Self::zeros).
    #[track_caller]
    pub fn from_slice(context: &Context<D>, shape: &[usize], data: &[T]) -> Result<Self> {
        let mut buffer = context.pinned_with(data.len(), HostFlags::new().mapped())?;
        buffer.copy_from_slice(data);
        Self::from_pinned(shape, buffer)
    }

    /// Gives pinned memory that was allocated [mapped](HostFlags::mapped) to the device, in place. Does not
    /// copy and does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::LengthMismatch`]: the buffer does not hold as many elements as the shape.
    /// - [`Error::Unsupported`](crate::Error::Unsupported): the buffer was not allocated as
    ///   mapped memory.
    /// - Any other device error. The buffer is dropped.
    #[track_caller]
    pub fn from_pinned(shape: &[usize], buffer: PinnedBuffer<T, D>) -> Result<Self> {
        let layout = Layout::contiguous(shape, Order::C)?;
        if layout.len() != buffer.len() {
            return Err(LayoutError::LengthMismatch { expected: layout.len(), found: buffer.len() }.into());
        }
        let core = Arc::clone(&buffer.context().0);
        let Some(pooled) = buffer.into_pooled() else {
            return Ok(Self { unified: Unified::empty(&core, layout) });
        };
        if !pooled.flags.mapped {
            let (backend, operation) = (core.backend(), "from_pinned");
            return Err(crate::Error::Unsupported {
                backend,
                operation,
                capability: Capability::MappedMemory,
            });
        }
        let device_side = core.device.map_host(pooled.memory())?;
        let start = super::Start(crate::backend::HostBuffer::as_ptr(pooled.memory()));
        Ok(Self { unified: Unified::new(&core, layout, device_side, start, Box::new(pooled)) })
    }

    unified_methods!();
}

answer_as_layout!([T: Element, D: MapHost] MappedArray<T, D>);

impl<T: Element, D: MapHost> fmt::Debug for MappedArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::operations::typed::<T, D>(f, "MappedArray", &self.view().elements())
    }
}
