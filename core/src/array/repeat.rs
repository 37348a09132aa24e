//! Arrays rolled, tiled and repeated: one copy where one is enough.

use super::{
    Array, ArrayView, AsArrayViewMut, AsErasedViewMut, Element, ErasedArray, ErasedView,
    axis_copies::{AxisCopies, Walk, Walks},
};
use crate::{
    Result,
    backend::Device,
    layout::{Axes, AxisList, Integer, Layout, LayoutError, axis_index},
    stream::StreamHandle,
};

impl<T: Element, D: Device> ArrayView<'_, T, D> {
    /// Moves the elements along `axes`, each by its shift, in a new array in C order. Elements that
    /// leave at one end come in at the other. The shifts of an axis named twice add up. Does not
    /// synchronize.
    ///
    /// Each axis that moves doubles the number of copies: two, then four, then eight.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// let a = Array::from_slice(&stream, &[2, 3], &[1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(a.roll(&stream, &[1], &[1])?.to_vec(&stream)?, [3, 1, 2, 6, 4, 5]);
    /// assert_eq!(a.roll(&stream, &[1, -1], &[0, 1])?.to_vec(&stream)?, [5, 6, 4, 2, 3, 1]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`]: there is not one shift for each axis.
    /// - [`LayoutError::AxisOutOfRange`].
    /// - Out of memory, another context's stream, and any other device error.
    #[track_caller]
    pub fn roll(
        &self,
        stream: &StreamHandle<D>,
        shifts: &[isize],
        axes: impl AxisList,
    ) -> Result<Array<T, D>> {
        self.as_erased().roll(stream, shifts, axes).map(Array::of_erased)
    }

    /// Like [`roll`](Self::roll), into a view of the same shape. Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`], [`LayoutError::ShapeMismatch`]: the view is of another
    ///   shape.
    /// - The errors of [`roll`](Self::roll). The view may be partly written if the device fails.
    #[track_caller]
    pub fn roll_into(
        &self,
        stream: &StreamHandle<D>,
        shifts: &[isize],
        axes: impl AxisList,
        dst: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()> {
        rolled(self.layout(), shifts, axes)?.write(
            stream,
            &self.elements(),
            &dst.as_array_view_mut().elements(),
        )
    }

    /// Repeats the whole `repeats` times along each axis, in a new array in C order. The shorter of
    /// `repeats` and the shape is extended by ones in front. Takes one copy. Does not synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// let tiled = Array::from_slice(&stream, &[2], &[1, 2])?.tile(&stream, &[2, 3])?;
    /// assert_eq!(tiled.shape(), [2, 6]);
    /// assert_eq!(tiled.to_vec(&stream)?, [1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::Overflow`]: the result is too large.
    /// - Out of memory, another context's stream, and any other device error.
    #[track_caller]
    pub fn tile(&self, stream: &StreamHandle<D>, repeats: &[usize]) -> Result<Array<T, D>> {
        self.as_erased().tile(stream, repeats).map(Array::of_erased)
    }

    /// Like [`tile`](Self::tile), into a view of the result's shape. Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`], [`LayoutError::ShapeMismatch`]: the view is of another
    ///   shape.
    /// - The errors of [`tile`](Self::tile).
    #[track_caller]
    pub fn tile_into(
        &self,
        stream: &StreamHandle<D>,
        repeats: &[usize],
        dst: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()> {
        tiled(self.layout(), repeats)?.write(stream, &self.elements(), &dst.as_array_view_mut().elements())
    }

    /// Repeats each position of an axis `count` times, in a new array in C order. Takes one copy.
    /// Does not synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// let a = Array::from_slice(&stream, &[2, 2], &[1, 2, 3, 4])?;
    /// assert_eq!(a.repeat(&stream, 2, 0)?.to_vec(&stream)?, [1, 2, 1, 2, 3, 4, 3, 4]);
    /// assert_eq!(a.repeat(&stream, 2, 1)?.to_vec(&stream)?, [1, 1, 2, 2, 3, 3, 4, 4]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::AxisOutOfRange`].
    /// - [`LayoutError::Overflow`]: the result is too large.
    /// - Out of memory, another context's stream, and any other device error.
    #[doc(alias = "repeat_interleave")]
    #[track_caller]
    pub fn repeat(&self, stream: &StreamHandle<D>, count: usize, axis: impl Integer) -> Result<Array<T, D>> {
        self.as_erased().repeat(stream, count, axis).map(Array::of_erased)
    }

    /// Like [`repeat`](Self::repeat), into a view of the result's shape. Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`], [`LayoutError::ShapeMismatch`]: the view is of another
    ///   shape.
    /// - The errors of [`repeat`](Self::repeat).
    #[track_caller]
    pub fn repeat_into(
        &self,
        stream: &StreamHandle<D>,
        count: usize,
        axis: impl Integer,
        dst: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()> {
        repeated(self.layout(), count, axis)?.write(
            stream,
            &self.elements(),
            &dst.as_array_view_mut().elements(),
        )
    }
}

impl<T: Element, D: Device> Array<T, D> {
    /// [`ArrayView::roll`] of the whole array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// See there.
    #[track_caller]
    pub fn roll(&self, stream: &StreamHandle<D>, shifts: &[isize], axes: impl AxisList) -> Result<Self> {
        self.view().roll(stream, shifts, axes)
    }

    /// [`ArrayView::tile`] of the whole array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// See there.
    #[track_caller]
    pub fn tile(&self, stream: &StreamHandle<D>, repeats: &[usize]) -> Result<Self> {
        self.view().tile(stream, repeats)
    }

    /// [`ArrayView::repeat`] of the whole array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// See there.
    #[doc(alias = "repeat_interleave")]
    #[track_caller]
    pub fn repeat(&self, stream: &StreamHandle<D>, count: usize, axis: impl Integer) -> Result<Self> {
        self.view().repeat(stream, count, axis)
    }
}

/// Emits two methods for erased views: one that returns a new result, and one that writes it into a
/// view.
macro_rules! erased {
    ($like:literal, $name:ident, $into:ident, $copies:ident($($arg:ident: $type:ty),*)) => {
        #[doc = concat!("Like [`ArrayView::", $like, "`].")]
        ///
        /// # Errors
        ///
        /// See there.
        #[track_caller]
        pub fn $name(&self, stream: &StreamHandle<D>, $($arg: $type),*) -> Result<ErasedArray<D>> {
            $copies(self.layout(), $($arg),*)?.make(stream, &self.elements())
        }

        #[doc = concat!("Like [`ArrayView::", $like, "_into`].")]
        ///
        /// # Errors
        ///
        /// See there, and [`LayoutError::ElementSize`]: the elements are of another size.
        #[track_caller]
        pub fn $into(
            &self,
            stream: &StreamHandle<D>,
            $($arg: $type,)*
            dst: &mut impl AsErasedViewMut<D>,
        ) -> Result<()> {
            let dst = dst.as_erased_view_mut();
            $copies(self.layout(), $($arg),*)?.write(stream, &self.elements(), &dst.elements())
        }
    };
}

impl<D: Device> ErasedView<'_, D> {
    erased!("roll", roll, roll_into, rolled(shifts: &[isize], axes: impl AxisList));
    erased!("tile", tile, tile_into, tiled(repeats: &[usize]));
    erased!("repeat", repeat, repeat_into, repeated(count: usize, axis: impl Integer));
}

/// The walk that keeps all positions in place.
fn whole(extent: usize) -> Walks {
    Walks::from_iter([Walk::once(0, extent, 0, 1)])
}

fn rolled(
    source: &Layout,
    shifts: &[isize],
    axes: impl AxisList,
) -> Result<AxisCopies<'static>, LayoutError> {
    let axes = axes.axes();
    if shifts.len() != axes.len() {
        return Err(LayoutError::RankMismatch { expected: axes.len(), found: shifts.len() });
    }
    let mut moves: Axes<usize> = Axes::from_elem(0, source.rank());
    for (&shift, &axis) in shifts.iter().zip(axes) {
        let axis = axis_index(axis, source.rank())?;
        // Both numbers are below an extent, which fits `isize`, so their sum does not overflow
        // `usize`.
        if let Some(shift) = shift.checked_rem_euclid(source.shape()[axis].cast_signed()) {
            moves[axis] = (moves[axis] + shift.cast_unsigned()) % source.shape()[axis];
        }
    }
    let walks = source.shape().iter().zip(&moves).map(|(&extent, &by)| match by {
        0 => whole(extent),
        _ => Walks::from_iter([Walk::once(0, by, extent - by, 1), Walk::once(by, extent - by, 0, 1)]),
    });
    let walks = walks.collect();
    Ok(AxisCopies { source: source.clone(), shape: Axes::from_slice(source.shape()), walks, fill: None })
}

fn tiled(source: &Layout, repeats: &[usize]) -> Result<AxisCopies<'static>, LayoutError> {
    let mut source = source.clone();
    for _ in source.rank()..repeats.len() {
        source = source.expand_dims(0)?;
    }
    let missing = source.rank() - repeats.len();
    let repeats = std::iter::repeat_n(1, missing).chain(repeats.iter().copied());
    let mut shape: Axes<usize> = Axes::new();
    let mut walks = Vec::new();
    for (rounds, &extent) in repeats.zip(source.shape()) {
        shape.push(extent.checked_mul(rounds).ok_or(LayoutError::Overflow)?);
        walks.push(Walks::from_iter([Walk { rounds, pitch: extent, ..Walk::once(0, extent, 0, 1) }]));
    }
    Ok(AxisCopies { source, shape, walks, fill: None })
}

fn repeated(source: &Layout, count: usize, axis: impl Integer) -> Result<AxisCopies<'static>, LayoutError> {
    let axis = axis_index(axis, source.rank())?;
    let extent = source.shape()[axis];
    let mut shape: Axes<usize> = Axes::from_slice(source.shape());
    shape[axis] = extent.checked_mul(count).ok_or(LayoutError::Overflow)?;
    let mut walks: Vec<Walks> = source.shape().iter().map(|&extent| whole(extent)).collect();
    let each = Walk { rounds: extent, pitch: count, from_pitch: 1, ..Walk::once(0, count, 0, 0) };
    walks[axis] = Walks::from_iter([each]);
    Ok(AxisCopies { source: source.clone(), shape, walks, fill: None })
}
