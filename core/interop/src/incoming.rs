//! Checks descriptions of memory by structures of other code, before anything is used.
#![allow(unsafe_code)] // adopts memory as its callers vouch for it

use devarray::{ErasedArray, Layout, LayoutError, StreamHandle};
use smallvec::SmallVec;

use crate::{DataType, Door, Result, Tensor, device::DeviceId, error::DoorError, error::field};

/// The most axes that any interface allows: NumPy's limit.
pub(crate) const MOST_AXES: usize = 64;

/// Memory as a structure describes it.
pub(crate) struct Incoming {
    pub(crate) data_type: DataType,
    pub(crate) shape: SmallVec<[usize; 6]>,
    /// The strides, in elements.
    pub(crate) strides: SmallVec<[isize; 6]>,
    /// The address of element `[0, …, 0]`.
    pub(crate) address: u64,
    pub(crate) read_only: bool,
    /// The structure says that the memory is this device's.
    pub(crate) is_own: bool,
}

impl Incoming {
    /// The shape in a structure.
    ///
    /// # Errors
    ///
    /// [`DoorError::Field`]: a negative extent, or one that is too large to count here.
    #[track_caller]
    pub(crate) fn shape_of(extents: impl Iterator<Item = i64>) -> Result<SmallVec<[usize; 6]>> {
        let mut shape = SmallVec::new();
        for extent in extents {
            shape.push(usize::try_from(extent).map_err(|_| field("shape", "an extent is negative"))?);
        }
        Ok(shape)
    }

    /// A tensor in the memory. Dropping `owner` gives the memory back.
    ///
    /// # Safety
    ///
    /// Like [`Array::adopt`](devarray::Array::adopt), for the memory that is described.
    #[track_caller]
    pub(crate) unsafe fn adopt<D: Door>(
        mut self,
        stream: &StreamHandle<D>,
        owner: impl Send + Sync + 'static,
    ) -> Result<Tensor<D>> {
        let item_bytes = self.data_type.item_bytes();
        if self.shape.len() > MOST_AXES {
            return Err(field("ndim", "more than 64 axes"));
        }
        for (stride, &extent) in self.strides.iter_mut().zip(&self.shape) {
            // This stride is never stepped over, so it may be anything.
            if extent <= 1 && stride.checked_mul(item_bytes.cast_signed()).is_none() {
                *stride = 0;
            }
        }
        if self.shape.contains(&0) {
            let layout = Layout::new(&self.shape, &self.strides, 0)?;
            // SAFETY: without elements nothing is adopted.
            let array = unsafe { ErasedArray::adopt(stream, 0, &layout, item_bytes, owner) }?;
            return Ok(Tensor::imported(array, None, self.data_type, self.read_only));
        }
        if self.address == 0 {
            return Err(field("data", "null, and there are elements"));
        }
        let (low, repeats) = self.lowest()?;
        let below = (low as u64).checked_mul(item_bytes as u64);
        let start = below.and_then(|below| self.address.checked_sub(below));
        let start = start.filter(|&start| start > 0).ok_or(field("strides", "they reach below address 0"))?;
        // Checked before the layout is moved: a move costs as much as taking a lock.
        let layout = if repeats { self.once(low) } else { Layout::new(&self.shape, &self.strides, low) };
        let layout = layout.as_ref().map_err(LayoutError::clone)?;
        let array = if self.is_own {
            // SAFETY: passed on to the caller.
            unsafe { ErasedArray::adopt_unchecked(stream, start, layout, item_bytes, owner) }
        } else {
            // SAFETY: as above.
            unsafe { ErasedArray::adopt(stream, start, layout, item_bytes, owner) }
        }?;
        let layout = if repeats {
            let layout = Layout::new(&self.shape, &self.strides, array.layout().offset())?;
            array.view_of(&layout)?;
            Some(layout)
        } else {
            None
        };
        Ok(Tensor::imported(array, layout, self.data_type, self.read_only || repeats))
    }

    /// The number of elements from the lowest address to element `[0, …, 0]`, and whether some
    /// elements are reached several times.
    #[track_caller]
    fn lowest(&self) -> Result<(usize, bool)> {
        let (mut low, mut repeats) = (0_usize, false);
        for (&extent, &stride) in self.shape.iter().zip(&self.strides) {
            if extent > 1 && stride < 0 {
                let reach = stride.unsigned_abs().checked_mul(extent - 1);
                let sum = reach.and_then(|reach| low.checked_add(reach));
                low = sum.ok_or(field("strides", "they reach beyond the addresses"))?;
            }
            repeats |= extent > 1 && stride == 0;
        }
        Ok((low, repeats))
    }

    /// The layout with each repeated axis reduced to one element.
    fn once(&self, low: usize) -> Result<Layout, LayoutError> {
        let extents = self.shape.iter().zip(&self.strides);
        let shape: SmallVec<[usize; 6]> =
            extents.map(|(&extent, &stride)| if stride == 0 { 1 } else { extent }).collect();
        Layout::new(&shape, &self.strides, low)
    }
}

/// Whether memory is this device's. Memory that belongs to no single device is not, even if this
/// one reaches it.
///
/// # Errors
///
/// [`DoorError::Device`]: it belongs to a device that this one does not reach.
#[track_caller]
pub(crate) fn is_own<D: Door>(stream: &StreamHandle<D>, found: DeviceId) -> Result<bool> {
    let (device, own) = (stream.device(), stream.device().id());
    if device.reaches(found) {
        return Ok(found == own);
    }
    Err(DoorError::Device { found, own })
}

/// Converts strides in bytes to strides in elements.
#[track_caller]
pub(crate) fn strides_in_items(
    strides_bytes: &[i64],
    shape: &[usize],
    item_bytes: usize,
) -> Result<SmallVec<[isize; 6]>> {
    if strides_bytes.len() != shape.len() {
        return Err(field("strides", "not as many as axes"));
    }
    let in_items = |(&stride, &extent): (&i64, &usize)| {
        let stride = isize::try_from(stride).map_err(|_| field("strides", "beyond the addresses"))?;
        let (items, rest) = (stride / item_bytes.cast_signed(), stride % item_bytes.cast_signed());
        if rest != 0 && extent > 1 {
            return Err(field("strides", "not a multiple of the element size"));
        }
        Ok(items)
    };
    strides_bytes.iter().zip(shape).map(in_items).collect()
}

/// Strides of elements that lie in C order without gaps.
#[track_caller]
pub(crate) fn dense_strides(shape: &[usize]) -> Result<SmallVec<[isize; 6]>> {
    let mut strides: SmallVec<[isize; 6]> = SmallVec::from_elem(1, shape.len());
    let mut step = 1_isize;
    for (stride, &extent) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        let grown = isize::try_from(extent.max(1)).ok().and_then(|extent| step.checked_mul(extent));
        step = grown.ok_or(LayoutError::Overflow)?;
    }
    Ok(strides)
}
