//! New arrays: of ones, like another layout, of an arithmetic sequence.

use num_traits::{Num, NumCast, One};

use super::{Array, Element, ErasedArray};
use crate::{
    Result,
    backend::Device,
    layout::{Layout, LayoutError, NdLayout, Order},
    stream::StreamHandle,
};

/// The number of elements of a sequence that are made on the host at a time.
const CHUNK: usize = 1 << 16;

impl<T: Element, D: Device> Array<T, D> {
    /// Allocates an array of `shape` in C order and sets every element to 1. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`uninit`](Self::uninit).
    #[track_caller]
    pub fn ones(stream: &StreamHandle<D>, shape: &[usize]) -> Result<Self>
    where
        T: One,
    {
        Self::full(stream, shape, T::one())
    }

    /// Allocates an array with the shape of `like`, dense in `order`, with unspecified elements.
    /// Does not synchronize.
    ///
    /// `like` is an array, a view, a [`HostArray`](crate::HostArray) or a
    /// [`Layout`], of any element type and device: its elements are not looked at.
    /// `like` resolves `A` and `K` ([`dense_like`](crate::Layout::dense_like)); the result never
    /// has gaps or negative strides.
    ///
    /// ```
    /// use devarray::{Array, Context, NdLayout, Order};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// let a = Array::<u8, _>::zeros(&stream, &[2, 3, 4])?;
    /// let turned = a.view().permute(&[1, 2, 0])?;
    /// let like = Array::<f64, _>::uninit_like(&stream, &turned, Order::K)?;
    /// assert_eq!((like.shape(), like.strides()), (&[3, 4, 2][..], &[4, 1, 12][..]));
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - The errors of [`uninit`](Self::uninit).
    /// - The errors of [`Layout::new`](crate::Layout::new), if `like` is no valid layout.
    #[doc(alias = "empty_like")]
    #[doc(alias = "device_array_like")]
    #[track_caller]
    pub fn uninit_like<L: NdLayout + ?Sized>(
        stream: &StreamHandle<D>,
        like: &L,
        order: Order,
    ) -> Result<Self> {
        let layout = layout_of(like)?.dense_like(order)?;
        Ok(Self::of_erased(ErasedArray::of_layout(stream, layout, T::BYTES)?))
    }

    /// Like [`uninit_like`](Self::uninit_like), with all bytes 0. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`uninit_like`](Self::uninit_like).
    #[track_caller]
    pub fn zeros_like<L: NdLayout + ?Sized>(
        stream: &StreamHandle<D>,
        like: &L,
        order: Order,
    ) -> Result<Self> {
        let layout = layout_of(like)?.dense_like(order)?;
        Ok(Self::of_erased(ErasedArray::zeros_of_layout(stream, layout, T::BYTES)?))
    }

    /// Like [`uninit_like`](Self::uninit_like), with all elements 1. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`uninit_like`](Self::uninit_like).
    #[track_caller]
    pub fn ones_like<L: NdLayout + ?Sized>(stream: &StreamHandle<D>, like: &L, order: Order) -> Result<Self>
    where
        T: One,
    {
        Self::full_like(stream, like, T::one(), order)
    }

    /// Like [`uninit_like`](Self::uninit_like), with all elements `value`. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`uninit_like`](Self::uninit_like).
    #[track_caller]
    pub fn full_like<L: NdLayout + ?Sized>(
        stream: &StreamHandle<D>,
        like: &L,
        value: T,
        order: Order,
    ) -> Result<Self> {
        let mut array = Self::uninit_like(stream, like, order)?;
        array.view_mut().fill(stream, value)?;
        Ok(array)
    }

    /// Allocates a 1-D array of `start`, `start + step`, … up to but without `stop`. Does not
    /// synchronize.
    ///
    /// Its length is `(stop - start) / step`, rounded up, and 0 if that is negative. Integers are
    /// exact over their whole range. For other numbers the length is computed in `f64`, and so is
    /// each element, from its index, so that errors do not add up; then it is rounded to `T`.
    ///
    /// Where the quotient next to an integer is rounded to it, the last element is missing, or
    /// reaches `stop`. This happens to `f64` as in NumPy, to `f32` and `bf16` only where the binary
    /// digits of start, stop and step together span more than 53, and never to `f16`. (NumPy
    /// computes the length in the type.) Where neighbours in `T` are farther apart than `step`,
    /// elements repeat, and the last ones may be rounded to `stop`.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// assert_eq!(Array::arange(&stream, 10_i8, -3, -4)?.to_vec(&stream)?, [10, 6, 2, -2]);
    /// assert_eq!(Array::arange(&stream, 0.0, 1.0, 0.25)?.to_vec(&stream)?, [0.0, 0.25, 0.5, 0.75]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ZeroStep`]: the step is 0.
    /// - [`LayoutError::NotFinite`]: start, stop or step is not a finite real number.
    /// - [`LayoutError::Overflow`]: there are too many elements to count, or a `u128` exceeds
    ///   `i128`.
    /// - The errors of [`uninit`](Self::uninit).
    #[doc(alias = "range")]
    #[track_caller]
    pub fn arange(stream: &StreamHandle<D>, start: T, stop: T, step: T) -> Result<Self>
    where
        T: Num + NumCast,
    {
        let sequence = Sequence::new(start, stop, step)?;
        let mut array = Self::uninit(stream, &[sequence.len()])?;
        for first in (0..sequence.len()).step_by(CHUNK) {
            let indices = first..sequence.len().min(first + CHUNK);
            let values = indices.clone().map(|index| sequence.value(index).ok_or(LayoutError::Overflow));
            let values = values.collect::<Result<Vec<T>, LayoutError>>()?;
            array.view_mut().slice_axis(0, indices)?.copy_from_slice(stream, &values)?;
        }
        Ok(array)
    }
}

/// An arithmetic sequence. Integers are exact; other numbers are computed in `f64`.
enum Sequence {
    Integers { start: i128, step: i128, len: usize },
    Reals { start: f64, step: f64, len: usize },
}

impl Sequence {
    fn new<T: Copy + Num + NumCast>(start: T, stop: T, step: T) -> Result<Self, LayoutError> {
        if step.is_zero() {
            return Err(LayoutError::ZeroStep { axis: 0 });
        }
        // One half is 0 only in integers.
        if (T::one() / (T::one() + T::one())).is_zero() {
            let exact = |value: T| value.to_i128().ok_or(LayoutError::Overflow);
            let (start, stop, step) = (exact(start)?, exact(stop)?, exact(step)?);
            let len = if (step > 0) == (start < stop) {
                stop.abs_diff(start).div_ceil(step.unsigned_abs())
            } else {
                0
            };
            let len = usize::try_from(len).map_err(|_| LayoutError::Overflow)?;
            return Ok(Self::Integers { start, step, len });
        }
        let real = |value: T| value.to_f64().filter(|value| value.is_finite()).ok_or(LayoutError::NotFinite);
        let (start, stop, step) = (real(start)?, real(stop)?, real(step)?);
        let whole = stop - start;
        // If the distance is too large for `f64`, both ends are halved first.
        let steps = if whole.is_finite() { whole / step } else { (stop * 0.5 - start * 0.5) / step * 2.0 };
        let len = num_traits::cast(steps.ceil().max(0.0)).ok_or(LayoutError::Overflow)?;
        Ok(Self::Reals { start, step, len })
    }

    fn len(&self) -> usize {
        match *self {
            Self::Integers { len, .. } | Self::Reals { len, .. } => len,
        }
    }

    /// The element at an index below the length; `None` if no `T` is near it.
    fn value<T: NumCast>(&self, index: usize) -> Option<T> {
        match *self {
            // The sum lies between start and stop. The product may overflow, but the sum wraps
            // back.
            Self::Integers { start, step, .. } => {
                T::from(start.wrapping_add(step.wrapping_mul(index as i128)))
            }
            Self::Reals { start, step, .. } => {
                let (value, index) = (start + step * index as f64, index as f64);
                // The product alone may be too large for `f64`.
                T::from(if value.is_finite() { value } else { step.mul_add(index, start) })
            }
        }
    }
}

/// The checked layout, by the required methods alone: an implementation may override the others.
fn layout_of<L: NdLayout + ?Sized>(like: &L) -> Result<Layout> {
    Ok(Layout::new(like.shape(), like.strides(), like.offset())?)
}
