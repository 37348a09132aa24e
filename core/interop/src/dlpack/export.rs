//! Tensors out.
#![allow(unsafe_code)] // builds a structure that owns itself, and takes it down

use std::{
    ffi::c_void,
    ptr::{self, NonNull},
};

use devarray::{NdLayout, StreamHandle};
use smallvec::SmallVec;

use super::{
    Managed, Owned,
    abi::{DataTypeAbi, IS_COPIED, ManagedTensor, ManagedTensorVersioned, READ_ONLY, TensorAbi},
};
use crate::{Consumer, Door, DoorError, Result, Tensor, error::field, tensor::Lent};

/// A structure and what it describes, in one place.
struct Exported<M, D: Door> {
    managed: Option<M>,
    /// Extents, then strides.
    extents: SmallVec<[i64; 12]>,
    /// Dropped with all else, and so given back.
    _lent: Lent<D>,
}

impl<D: Door> Tensor<D> {
    /// The tensor as a structure of DLPack 1.x. Does not copy. Does not synchronize, but for a
    /// [`Consumer`] on the host.
    ///
    /// What other code has shares the memory with this tensor: while it has it, nobody here writes.
    ///
    /// # Errors
    ///
    /// What the device says.
    #[track_caller]
    pub fn to_dlpack(
        &self,
        stream: &StreamHandle<D>,
        consumer: Consumer,
    ) -> Result<Owned<ManagedTensorVersioned>> {
        export(self, 0, || Lent::new(self, stream, consumer))
    }

    /// As [`to_dlpack`](Self::to_dlpack), of memory that goes on to the stream that lent it, or to
    /// the host that did: nothing is ordered now, nor when it comes back.
    ///
    /// # Errors
    ///
    /// None but of devices that have no addresses for others.
    ///
    /// # Safety
    ///
    /// The tensor was imported, no work here used its memory since, and until the structure is
    /// given back the consumer works on it in the order of the stream that lent it alone. Work here
    /// that is given after that waits for that stream first.
    pub unsafe fn to_dlpack_onward(&self) -> Result<Owned<ManagedTensorVersioned>> {
        export(self, 0, || Ok(Lent::onward(self)))
    }

    /// As [`to_dlpack`](Self::to_dlpack), of a copy that nobody else has: dense, in the order of
    /// the axes of this one.
    ///
    /// # Errors
    ///
    /// Out of memory, and what else the device says.
    #[track_caller]
    pub fn to_dlpack_copied(
        &self,
        stream: &StreamHandle<D>,
        consumer: Consumer,
    ) -> Result<Owned<ManagedTensorVersioned>> {
        let copy = self.copied(stream)?;
        export(&copy, IS_COPIED, || Lent::new(&copy, stream, consumer))
    }

    /// As [`to_dlpack`](Self::to_dlpack), as a structure from before DLPack 1.0.
    ///
    /// # Errors
    ///
    /// - [`DoorError::ReadOnly`]: the structure could not say so.
    /// - What the device says.
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
    let (shape, strides) = (tensor.shape(), tensor.strides());
    let ndim = i32::try_from(shape.len()).map_err(|_| field("ndim", "more axes than can be told"))?;
    let mut extents: SmallVec<[i64; 12]> = SmallVec::with_capacity(2 * shape.len());
    // Neither exceeds what `isize` holds, as layouts promise.
    extents.extend(shape.iter().map(|&extent| extent.cast_signed() as i64));
    match shape {
        // Some importers take any other stride for a gap.
        [1] => extents.push(1),
        _ => extents.extend(strides.iter().map(|&stride| stride as i64)),
    }
    let flags = if tensor.is_read_only() { flags | READ_ONLY } else { flags };
    if M::made(blank(), flags, ptr::null_mut(), delete::<M, D>).is_none() {
        return Err(DoorError::ReadOnly);
    }
    let address = tensor.address()?;
    let data_type = tensor.data_type();
    let device = tensor.device().id();
    let lent = lend()?;

    let exported = Box::into_raw(Box::new(Exported::<M, D> { managed: None, extents, _lent: lent }));
    // SAFETY: just made, and nobody else has it.
    let extents = unsafe { &mut (*exported).extents };
    let numbers = if ndim == 0 { ptr::null_mut() } else { extents.as_mut_ptr() };
    let dl_tensor = TensorAbi {
        data: ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or_default()),
        device,
        ndim,
        dtype: DataTypeAbi { code: data_type.kind() as u8, bits: data_type.bits(), lanes: 1 },
        shape: numbers,
        strides: numbers.wrapping_add(shape.len()),
        byte_offset: 0,
    };
    let dl_tensor = if ndim == 0 { TensorAbi { strides: ptr::null_mut(), ..dl_tensor } } else { dl_tensor };
    let managed = M::made(dl_tensor, flags, exported.cast::<c_void>(), delete::<M, D>);
    // SAFETY: as above.
    let place = unsafe { &mut (*exported).managed };
    *place = managed;
    let structure = place.as_mut().map(NonNull::from).ok_or(DoorError::ReadOnly)?;
    // SAFETY: as this function made it; the box is given up to the deleter.
    Ok(unsafe { Owned::from_raw(structure) })
}

fn blank() -> TensorAbi {
    TensorAbi {
        data: ptr::null_mut(),
        device: crate::device::DeviceId::new(0, 0),
        ndim: 0,
        dtype: DataTypeAbi { code: 0, bits: 0, lanes: 1 },
        shape: ptr::null_mut(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    }
}

/// Gives the memory back.
///
/// # Safety
///
/// From [`export`], and called once.
unsafe extern "C" fn delete<M: Managed, D: Door>(managed: *mut M) {
    // SAFETY: it is there until the box below is dropped.
    let exported = unsafe { (*managed).context() }.cast::<Exported<M, D>>();
    // SAFETY: the box that `export` gave up, which comes back once.
    drop(unsafe { Box::from_raw(exported) });
}
