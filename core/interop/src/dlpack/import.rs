//! Tensors in.
#![allow(unsafe_code)] // adopts memory as its caller vouches for it

use devarray::StreamHandle;
use smallvec::SmallVec;

use super::{Described, Managed, Owned};
use crate::{
    DataType, Door, Result, Tensor,
    error::field,
    incoming::{Incoming, dense_strides, is_own},
};

impl<D: Door> Tensor<D> {
    /// A tensor in memory of other code. Does not copy. Does not synchronize.
    ///
    /// The structure is given back when the tensor, its clones and all work on them are gone, at
    /// the latest with the context; at once if there are no elements, or on an error. Hazard
    /// tracking sees the memory as written by `stream`.
    ///
    /// # Errors
    ///
    /// - [`DoorError::Version`](crate::DoorError::Version),
    ///   [`DoorError::Device`](crate::DoorError::Device),
    ///   [`DoorError::Field`](crate::DoorError::Field): the structure cannot be read, the device
    ///   does not reach its memory, or a field is impossible.
    /// - The errors of [`Array::adopt`](devarray::Array::adopt), in
    ///   [`DoorError::Array`](crate::DoorError::Array).
    ///
    /// # Safety
    ///
    /// - The bytes of every element are allocated, initialized and reached by the device, and stay
    ///   so until the structure is given back.
    /// - Work that other code enqueued on them comes before work that `stream` is given from now
    ///   on.
    /// - Until then other code neither writes them nor, if the tensor is written, reads them,
    ///   unless events or waits order it against the work here.
    #[track_caller]
    pub unsafe fn from_dlpack<M: Managed>(stream: &StreamHandle<D>, structure: Owned<M>) -> Result<Self> {
        let incoming = read(stream, &structure.tensor()?)?;
        // SAFETY: passed on to the caller.
        unsafe { incoming.adopt(stream, structure) }
    }
}

#[track_caller]
fn read<D: Door>(stream: &StreamHandle<D>, described: &Described<'_>) -> Result<Incoming> {
    let tensor = described.abi();
    let is_own = is_own(stream, tensor.device)?;
    if tensor.dtype.lanes != 1 {
        return Err(field("dtype", "more than one lane"));
    }
    let data_type = DataType::of_dlpack(tensor.dtype.code, tensor.dtype.bits);
    let data_type = data_type.ok_or(field("dtype", "no type of whole bytes that is known here"))?;
    let shape = Incoming::shape_of(described.shape().iter().copied())?;
    let strides = match described.strides() {
        Some(strides) => {
            let stride =
                |&stride| isize::try_from(stride).map_err(|_| field("strides", "beyond the addresses"));
            strides.iter().map(stride).collect::<Result<SmallVec<_>>>()?
        }
        None => dense_strides(&shape)?,
    };
    let data = tensor.data.expose_provenance() as u64;
    let address = match data {
        0 => 0,
        data => data.checked_add(tensor.byte_offset).ok_or(field("byte_offset", "beyond the addresses"))?,
    };
    Ok(Incoming { data_type, shape, strides, address, read_only: described.is_read_only(), is_own })
}
