//! Tensors out.
#![allow(unsafe_code)] // builds a structure that owns itself, and takes it down

use std::{
    ffi::c_void,
    mem::MaybeUninit,
    ptr::{self, NonNull},
};

use devarray::{NdLayout, StreamHandle};

use super::{
    Managed, Owned,
    abi::{DataTypeAbi, IS_COPIED, ManagedTensor, ManagedTensorVersioned, READ_ONLY, TensorAbi},
};
use crate::{Consumer, Door, Result, Tensor, error::field, for_c::drop_for_c, tensor::Lent};

/// The number of axes whose extents and strides lie beside the structure.
const INLINE_AXES: usize = 8;

/// A structure with the tensor that it describes, in one allocation.
struct Exported<M, D: Door> {
    managed: MaybeUninit<M>,
    /// Extents, then strides. With more axes than fit here, they lie in `elsewhere`.
    numbers: [i64; 2 * INLINE_AXES],
    elsewhere: Box<[i64]>,
    /// Dropped with the rest, which gives the memory back.
    _lent: Lent<D>,
}

impl<D: Door> Tensor<D> {
    /// The tensor as a structure of DLPack 1.x. Does not copy. Does not synchronize, except for a
    /// [`Consumer`] on the host.
    ///
    /// The structure shares the memory with this tensor: while other code has it, nobody here
    /// writes.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::Overflow`](devarray::LayoutError::Overflow), in
    ///   [`DoorError::Array`](crate::DoorError::Array): see
    ///   [`Layout::len_bytes`](devarray::Layout::len_bytes), which other libraries compute.
    /// - Any device error.
    #[track_caller]
    pub fn to_dlpack(
        &self,
        stream: &StreamHandle<D>,
        consumer: Consumer,
    ) -> Result<Owned<ManagedTensorVersioned>> {
        export(self, 0, || Lent::new(self, stream, consumer))
    }

    /// Like [`to_dlpack`](Self::to_dlpack), for memory that goes back to the stream, or the host,
    /// that lent it: no order is made, neither now nor when it returns.
    ///
    /// # Errors
    ///
    /// Only on devices whose memory has no address for other code.
    ///
    /// # Safety
    ///
    /// The tensor was imported, and no work here has used its memory since. Until the structure is
    /// given back, the consumer works on it in the order of the stream that lent it only. Work here
    /// that is given after that waits for that stream first.
    #[track_caller]
    pub unsafe fn to_dlpack_onward(&self) -> Result<Owned<ManagedTensorVersioned>> {
        export(self, 0, || Ok(Lent::onward(self)))
    }

    /// Like [`to_dlpack`](Self::to_dlpack), for a copy that nobody else has: dense, with the axes
    /// in the order of this tensor's strides.
    ///
    /// # Errors
    ///
    /// Out of memory, and any other device error.
    #[track_caller]
    pub fn to_dlpack_copied(
        &self,
        stream: &StreamHandle<D>,
        consumer: Consumer,
    ) -> Result<Owned<ManagedTensorVersioned>> {
        let copy = self.copied(stream)?;
        export(&copy, IS_COPIED, || Lent::new(&copy, stream, consumer))
    }

    /// Like [`to_dlpack`](Self::to_dlpack), as a structure from before DLPack 1.0.
    ///
    /// # Errors
    ///
    /// - [`DoorError::ReadOnly`](crate::DoorError::ReadOnly),
    ///   [`DoorError::Repeats`](crate::DoorError::Repeats): nobody may write the memory, and the
    ///   structure cannot say so.
    /// - The errors of [`to_dlpack`](Self::to_dlpack).
    #[track_caller]
    pub fn to_dlpack_legacy(
        &self,
        stream: &StreamHandle<D>,
        consumer: Consumer,
    ) -> Result<Owned<ManagedTensor>> {
        export(self, 0, || Lent::new(self, stream, consumer))
    }
}

#[track_caller]
fn export<M: Managed, D: Door>(
    tensor: &Tensor<D>,
    flags: u64,
    lend: impl FnOnce() -> Result<Lent<D>>,
) -> Result<Owned<M>> {
    if !M::SAYS_READ_ONLY {
        tensor.check_writable()?;
    }
    let (shape, strides) = (tensor.shape(), tensor.strides());
    tensor.layout().len_bytes(tensor.data_type().item_bytes())?;
    let ndim = i32::try_from(shape.len()).map_err(|_| field("ndim", "more axes than can be told"))?;
    let flags = if tensor.is_read_only() { flags | READ_ONLY } else { flags };
    let (address, data_type, device) = (tensor.address()?, tensor.data_type(), tensor.device().id());
    let elsewhere = if shape.len() > INLINE_AXES { vec![0; 2 * shape.len()].into() } else { Box::default() };
    let lent = lend()?;

    // Written in place: `numbers` is too large to be moved.
    let exported = Box::write(
        Box::new_uninit(),
        Exported::<M, D> {
            managed: MaybeUninit::uninit(),
            numbers: [0; 2 * INLINE_AXES],
            elsewhere,
            _lent: lent,
        },
    );
    let exported = Box::into_raw(exported);
    // SAFETY: just made, and nobody else has it.
    let place = unsafe { &mut *exported };
    let numbers = if shape.len() > INLINE_AXES { &mut place.elsewhere[..] } else { &mut place.numbers[..] };
    let (extents, steps) = numbers.split_at_mut(shape.len());
    // Neither exceeds what `isize` holds, as layouts promise.
    extents.iter_mut().zip(shape).for_each(|(number, &extent)| *number = extent.cast_signed() as i64);
    steps.iter_mut().zip(strides).for_each(|(number, &stride)| *number = stride as i64);
    if let ([1], [stride, ..]) = (shape, &mut *steps) {
        // Some importers read any other stride as a gap.
        *stride = 1;
    }
    let is_flat = ndim == 0;
    // Taken once: a second pointer would invalidate this one.
    let first = numbers.as_mut_ptr();
    let dl_tensor = TensorAbi {
        data: ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or_default()),
        device,
        ndim,
        dtype: DataTypeAbi { code: data_type.kind() as u8, bits: data_type.bits(), lanes: 1 },
        shape: if is_flat { ptr::null_mut() } else { first },
        strides: if is_flat { ptr::null_mut() } else { first.wrapping_add(shape.len()) },
        byte_offset: 0,
    };
    let structure = place.managed.write(M::made(dl_tensor, flags, exported.cast::<c_void>(), delete::<M, D>));
    // SAFETY: made by this function; the box is given up to the deleter.
    Ok(unsafe { Owned::from_raw(NonNull::from(structure)) })
}

/// Gives the memory back.
///
/// # Safety
///
/// The structure was made by [`export`], and this is called once.
unsafe extern "C" fn delete<M: Managed, D: Door>(managed: *mut M) {
    // SAFETY: the structure is there until the box below is dropped.
    let exported = unsafe { (*managed).context() }.cast::<Exported<M, D>>();
    // SAFETY: the box that `export` gave up; it comes back once.
    drop_for_c(unsafe { Box::from_raw(exported) });
}
