//! The CUDA Array Interface (version 3) and NumPy's array interface (version 3), as data: the
//! entries of the dictionaries `__cuda_array_interface__` and `__array_interface__`.
#![allow(unsafe_code)] // adopts memory as its caller vouches for it

use std::borrow::Cow;

use devarray::{Axes, NdLayout, StreamHandle, backend::ForeignStream};

use crate::{
    Consumer, DataType, Door, DoorError, Result, Tensor,
    device::DeviceId,
    error::field,
    incoming::{Incoming, dense_strides, is_own, strides_in_items},
};

/// The content of such a dictionary.
///
/// ```
/// use devarray::{Array, Context};
/// use devarray_interop::Tensor;
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// let stream = context.stream()?;
/// let tensor = Tensor::from(Array::from_slice(&stream, &[2, 2], &[1_u16, 2, 3, 4])?);
/// let interface = tensor.to_array_interface(&stream)?;
/// assert_eq!((&interface.shape[..], &*interface.typestr, interface.strides), (&[2, 2][..], "<u2", None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayInterface {
    /// Extents.
    pub shape: Axes<i64>,
    /// The type of the elements, as NumPy writes it: `<f4`.
    pub typestr: Cow<'static, str>,
    /// The address of element `[0, …, 0]`; 0 if there are no elements.
    pub data: u64,
    /// Whether the memory is read-only: the second part of the entry `data`.
    pub read_only: bool,
    /// Strides in bytes; `None` means C order without gaps.
    pub strides: Option<Axes<i64>>,
    /// The stream to wait for, never 0; `None` if there is nothing to wait for. CUDA only.
    pub stream: Option<u64>,
    /// The version of the interface.
    pub version: i64,
    /// Whether there is a mask, which is not understood here.
    pub has_mask: bool,
}

impl<D: Door> Tensor<D> {
    /// The entries of the dictionary for this tensor. They name `stream`, whose later work runs after all
    /// work on the tensor, so `stream` must live as long as the dictionary is used. On a device of the host,
    /// which has no streams to name, the call blocks; elsewhere it does not synchronize.
    ///
    /// The dictionary does not keep the memory: its publisher must.
    ///
    /// # Errors
    ///
    /// - [`DoorError::DataType`]: NumPy has no name for the elements.
    /// - [`DoorError::Layout`]: a stride in bytes cannot be written.
    /// - [`LayoutError::Overflow`](devarray::LayoutError::Overflow), in [`DoorError::Array`]: see
    ///   [`Layout::len_bytes`](devarray::Layout::len_bytes).
    /// - Any device error.
    #[track_caller]
    pub fn to_array_interface(&self, stream: &StreamHandle<D>) -> Result<ArrayInterface> {
        let data_type = self.data_type();
        let unnamed = DoorError::DataType { data_type, reason: "have no typestr" };
        let typestr = data_type.typestr().ok_or(unnamed)?;
        self.layout().len_bytes(data_type.item_bytes())?;
        let item_bytes = data_type.item_bytes().cast_signed();
        let beyond = DoorError::Layout { reason: "a stride exceeds the addresses" };
        let strides = match self.is_c_contiguous() {
            true => None,
            false => {
                let stride = |stride: &isize| stride.checked_mul(item_bytes).map(|bytes| bytes as i64);
                Some(self.strides().iter().map(stride).collect::<Option<Axes<_>>>().ok_or(beyond)?)
            }
        };
        let data = self.address()?;
        if stream.device().is_host() {
            self.hand_over(stream, Consumer::Host)?;
        } else {
            self.gather(stream)?;
        }
        Ok(ArrayInterface {
            // No extent exceeds what `isize` holds, as layouts promise.
            shape: self.shape().iter().map(|&extent| extent.cast_signed() as i64).collect(),
            typestr: Cow::Borrowed(typestr),
            data,
            read_only: self.is_read_only(),
            strides,
            stream: D::stream_number(stream.raw()),
            version: 3,
            has_mask: false,
        })
    }

    /// A tensor in memory of other code, which keeps it until `owner` is dropped. Does not copy. Does not
    /// synchronize: if the dictionary names a stream, `stream` waits for that stream on the device. The
    /// dictionary does not say whose memory it is, so the device is asked.
    ///
    /// # Errors
    ///
    /// - [`DoorError::Field`]: the dictionary has a mask or the stream 0, or an entry is
    ///   impossible.
    /// - The errors of [`Array::adopt`](devarray::Array::adopt), in [`DoorError::Array`].
    ///
    /// # Safety
    ///
    /// - The memory is this device's, its bytes are initialized, and stay allocated until `owner`
    ///   is dropped.
    /// - The stream that is named is there.
    /// - The last point of [`from_dlpack`](Self::from_dlpack) holds.
    #[track_caller]
    pub unsafe fn from_array_interface(
        stream: &StreamHandle<D>,
        interface: &ArrayInterface,
        owner: impl Send + Sync + 'static,
    ) -> Result<Self> {
        // SAFETY: passed on to the caller.
        unsafe { Self::of_interface(stream, interface, false, owner) }
    }

    /// Like [`from_array_interface`](Self::from_array_interface), for a publisher that also names the device
    /// of the memory, so that the device is not asked whose memory it is.
    ///
    /// # Errors
    ///
    /// The errors of [`from_array_interface`](Self::from_array_interface), and [`DoorError::Device`]: this
    /// device does not reach the memory of `device`.
    ///
    /// # Safety
    ///
    /// Like [`from_array_interface`](Self::from_array_interface).
    #[track_caller]
    pub unsafe fn from_array_interface_on(
        stream: &StreamHandle<D>,
        interface: &ArrayInterface,
        device: DeviceId,
        owner: impl Send + Sync + 'static,
    ) -> Result<Self> {
        let is_own = is_own(stream, device)?;
        // SAFETY: passed on to the caller.
        unsafe { Self::of_interface(stream, interface, is_own, owner) }
    }

    /// # Safety
    ///
    /// Like [`from_array_interface`](Self::from_array_interface).
    #[track_caller]
    unsafe fn of_interface(
        stream: &StreamHandle<D>,
        interface: &ArrayInterface,
        is_own: bool,
        owner: impl Send + Sync + 'static,
    ) -> Result<Self> {
        if interface.has_mask {
            return Err(field("mask", "masks are not understood"));
        }
        if interface.version < 1 {
            return Err(field("version", "older than 1"));
        }
        let data_type = DataType::of_typestr(&interface.typestr);
        let data_type =
            data_type.ok_or(field("typestr", "no type that is known here, in this byte order"))?;
        let shape = Incoming::shape_of(interface.shape.iter().copied())?;
        let strides = match &interface.strides {
            Some(strides) => strides_in_items(strides, &shape, data_type.item_bytes())?,
            None => dense_strides(&shape)?,
        };
        if let Some(number) = interface.stream.filter(|_| !stream.device().is_host()) {
            // SAFETY: passed on to the caller.
            let other = unsafe { ForeignStream::named(number) };
            stream
                .wait_for_foreign(other.ok_or(field("stream", "0, which may mean either default stream"))?)?;
        }
        let (address, read_only) = (interface.data, interface.read_only);
        // SAFETY: passed on to the caller.
        unsafe { Incoming { data_type, shape, strides, address, read_only, is_own }.adopt(stream, owner) }
    }
}
