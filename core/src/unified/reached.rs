//! Lets the host read and write arrays in place, if it reaches their memory.
#![allow(unsafe_code)] // shows memory as slices while no operation is in the way

use std::slice;

use super::settle;
use crate::{
    Array, ArrayView, ArrayViewMut, Error, LayoutError, Result, backend::HostReachable, layout::Element,
    operations::Elements,
};

impl<T: Element, D: HostReachable> Array<T, D> {
    /// The elements in C order, in place: [`ArrayView::host`] of the whole array.
    ///
    /// # Errors
    ///
    /// The errors of [`ArrayView::host`].
    pub fn host(&self) -> Result<&[T]> {
        self.view().host()
    }

    /// The elements in C order, in place, to write: [`ArrayViewMut::host_mut`] of the whole array.
    ///
    /// # Errors
    ///
    /// The errors of [`ArrayViewMut::host_mut`].
    pub fn host_mut(&mut self) -> Result<&mut [T]> {
        let start = start_of::<T, D>(&self.view_mut().elements(), true)?;
        // SAFETY: as in `ArrayViewMut::host_mut`; the array is borrowed for as long as the slice.
        Ok(unsafe { slice::from_raw_parts_mut(start, self.layout().len()) })
    }
}

impl<'a, T: Element, D: HostReachable> ArrayView<'a, T, D> {
    /// The elements in C order, in place, without a copy. Blocks until no operation in flight
    /// writes their array. Operations that read continue, and more may be submitted.
    ///
    /// The slice borrows what the view borrows, so no operation that writes the array can be
    /// submitted meanwhile. Without elements the slice is empty.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::NeedsCopy`]: the elements do not lie side by side in C order.
    /// - [`Error::OutOfReach`]: the host cannot reach the memory, as on a GPU; or others may write
    ///   it, because other code lent it or other processes may have opened it.
    /// - An operation in flight, or the wait, failed.
    pub fn host(&self) -> Result<&'a [T]> {
        let start = start_of::<T, D>(&self.elements(), false)?;
        // SAFETY: the memory holds the elements, which have values and are aligned, for as long as the
        // view's borrow. Operations that write it are finished, and new ones need it exclusively.
        Ok(unsafe { slice::from_raw_parts(start, self.layout().len()) })
    }

    /// The elements in place as an array of `ndarray`, in any layout, without a copy. Blocks and
    /// borrows like [`host`](Self::host). Needs the feature `ndarray`.
    ///
    /// # Errors
    ///
    /// The errors of [`host`](Self::host), but no layout is refused.
    #[cfg(feature = "ndarray")]
    pub fn host_ndarray(&self) -> Result<ndarray::ArrayViewD<'a, T>> {
        let memory = reached::<T, D>(&self.elements(), false)?;
        let (form, start, backwards) = in_place(memory, self.layout());
        // SAFETY: the elements of the layout lie inside the memory, on both sides of its start.
        let mut view = unsafe { ndarray::RawArrayView::from_shape_ptr(form, start.cast_const()) };
        backwards.for_each(|axis| view.invert_axis(axis));
        // SAFETY: as in `host`.
        Ok(unsafe { view.deref_into_view() })
    }
}

impl<T: Element, D: HostReachable> ArrayViewMut<'_, T, D> {
    /// The elements in C order, in place, without a copy, to write. Blocks until no operation in
    /// flight uses their array. Operations that are submitted when the slice is gone see what was
    /// written. Without elements the slice is empty.
    ///
    /// # Errors
    ///
    /// The errors of [`ArrayView::host`].
    pub fn host_mut(&mut self) -> Result<&mut [T]> {
        let start = start_of::<T, D>(&self.elements(), true)?;
        // SAFETY: as in `ArrayView::host`; operations that read are finished too, and new ones need
        // the view, which is borrowed for as long as the slice.
        Ok(unsafe { slice::from_raw_parts_mut(start, self.layout().len()) })
    }

    /// The elements in place as an array of `ndarray`, in any layout, without a copy, to write.
    /// Blocks and borrows like [`host_mut`](Self::host_mut). Needs the feature `ndarray`.
    ///
    /// # Errors
    ///
    /// The errors of [`ArrayView::host_ndarray`].
    #[cfg(feature = "ndarray")]
    pub fn host_ndarray_mut(&mut self) -> Result<ndarray::ArrayViewMutD<'_, T>> {
        let memory = reached::<T, D>(&self.elements(), true)?;
        let (form, start, backwards) = in_place(memory, self.layout());
        // SAFETY: the elements of the layout lie inside the memory, on both sides of its start.
        let mut view = unsafe { ndarray::RawArrayViewMut::from_shape_ptr(form, start) };
        backwards.for_each(|axis| view.invert_axis(axis));
        // SAFETY: as in `host_mut`; no two indices of a view to write share an element.
        Ok(unsafe { view.deref_into_view_mut() })
    }
}

/// A pointer to the first of elements that are contiguous in C order.
fn start_of<T: Element, D: HostReachable>(elements: &Elements<'_, D>, write: bool) -> Result<*mut T> {
    if !elements.layout.is_c_contiguous() {
        return Err(LayoutError::NeedsCopy.into());
    }
    Ok(reached::<T, D>(elements, write)?.wrapping_add(elements.layout.offset()))
}

/// The host's address of the elements' memory, once no operation is in the way.
fn reached<T: Element, D: HostReachable>(elements: &Elements<'_, D>, write: bool) -> Result<*mut T> {
    const { assert!(align_of::<T>() <= 256, "memory of devices is aligned to 256 bytes") };
    if elements.layout.is_empty() {
        return Ok(std::ptr::dangling_mut::<T>().wrapping_sub(elements.layout.offset()));
    }
    let device = &elements.allocation.core.device;
    let Some(start) = elements.allocation.any_buffer().and_then(|buffer| device.host_address(buffer)) else {
        let operation = if write { "host_mut" } else { "host" };
        return Err(Error::OutOfReach { backend: device.info().backend, operation });
    };
    settle(elements, write)?;
    Ok(start.as_ptr().cast())
}

/// The parts of an `ndarray` view: strides without signs, the element with the lowest address, and
/// the axes to be reversed.
#[cfg(feature = "ndarray")]
fn in_place<'l, T>(
    memory: *mut T,
    layout: &'l crate::layout::Layout,
) -> (ndarray::StrideShape<ndarray::IxDyn>, *mut T, impl Iterator<Item = ndarray::Axis> + 'l) {
    use ndarray::{Axis, IxDyn, ShapeBuilder as _};

    let (shape, strides) = (layout.shape(), layout.strides());
    let form = if layout.is_empty() {
        IxDyn(shape).into_shape_with_order().into()
    } else {
        let lengths: Vec<usize> = strides.iter().map(|stride| stride.unsigned_abs()).collect();
        IxDyn(shape).strides(IxDyn(&lengths))
    };
    let lowest = if layout.is_empty() { layout.offset() } else { layout.span().start };
    let backwards = strides.iter().enumerate().filter(|(_, stride)| **stride < 0);
    (form, memory.wrapping_add(lowest), backwards.map(|(axis, _)| Axis(axis)))
}
