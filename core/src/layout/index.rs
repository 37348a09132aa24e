//! Basic indexing: integers, slices, new axes and one ellipsis.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::{
    Axes, Layout, LayoutError, Slice,
    axis::{axis_index, from_front},
    integer::{self, Integer},
};

/// One item of an index, as between NumPy's brackets. [`ix!`](crate::ix) writes a list of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IndexItem {
    /// One position of an axis, which the result no longer has; negative counts from the end.
    At(isize),
    /// Some positions of an axis.
    Slice(Slice),
    /// An axis of extent 1 that the layout does not have. NumPy's `None`.
    NewAxis,
    /// As many whole axes as the other items leave; at most one. NumPy's `...`.
    Ellipsis,
}

impl<T: Integer> From<T> for IndexItem {
    fn from(position: T) -> Self {
        Self::At(integer::position(position))
    }
}

impl From<Slice> for IndexItem {
    fn from(slice: Slice) -> Self {
        Self::Slice(slice)
    }
}

impl From<RangeFull> for IndexItem {
    fn from(range: RangeFull) -> Self {
        Self::Slice(range.into())
    }
}

macro_rules! item_from_range {
    ($($range:ident),*) => {$(
        impl<T: Integer> From<$range<T>> for IndexItem {
            fn from(range: $range<T>) -> Self {
                Self::Slice(range.into())
            }
        }
    )*};
}

item_from_range!(Range, RangeFrom, RangeTo, RangeInclusive, RangeToInclusive);

/// An array of [`IndexItem`]s from integers, ranges, `range; step`, `NewAxis` and `Ellipsis`.
///
/// As in Rust elsewhere, `..` is one whole axis; NumPy's `...` is `Ellipsis`.
///
/// ```
/// use devarray::{ix, Layout, NdLayout, Order};
///
/// let a = Layout::contiguous(&[4, 5, 6], Order::C)?;
/// let b = a.index(&ix![1, .., 2..5])?; // a[1, :, 2:5]
/// assert_eq!((b.shape(), b.offset()), (&[5, 3][..], 32));
/// let c = a.index(&ix![Ellipsis, ..; -2, NewAxis])?; // a[..., ::-2, None]
/// assert_eq!((c.shape(), &c.strides()[..3]), (&[4, 5, 3, 1][..], &[30, 6, -2][..]));
/// # Ok::<(), devarray::LayoutError>(())
/// ```
#[macro_export]
macro_rules! ix {
    ($($item:expr $(; $step:expr)?),* $(,)?) => {{
        #[allow(unused_imports, reason = "few indices name both")]
        use $crate::layout::IndexItem::{Ellipsis, NewAxis};
        [$($crate::ix!(@item $item $(; $step)?)),*] as [$crate::layout::IndexItem; _]
    }};
    (@item $item:expr) => { $crate::layout::IndexItem::from($item) };
    (@item $item:expr; $step:expr) => {
        $crate::layout::IndexItem::Slice($crate::layout::Slice::from($item).step_by($step))
    };
}

impl Layout {
    /// The part that `items` select, one item an axis from the front; axes not mentioned are whole. Always a view.
    ///
    /// An empty result stays at this layout's offset, whatever was asked for.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::IndexOutOfRange`]: an integer outside its axis. Slices are clamped instead.
    /// - [`LayoutError::ZeroStep`], [`LayoutError::TooManyIndices`], [`LayoutError::RepeatedEllipsis`].
    pub fn index(&self, items: &[IndexItem]) -> Result<Self, LayoutError> {
        let rank = self.rank();
        let (mut taken, mut ellipses) = (0, 0);
        for item in items {
            match item {
                IndexItem::At(_) | IndexItem::Slice(_) => taken += 1,
                IndexItem::Ellipsis => ellipses += 1,
                IndexItem::NewAxis => {}
            }
        }
        let Some(whole) = rank.checked_sub(taken) else {
            return Err(LayoutError::TooManyIndices { rank, found: taken });
        };
        if ellipses > 1 {
            return Err(LayoutError::RepeatedEllipsis);
        }
        let mut axes = self.shape.iter().copied().zip(self.strides.iter().copied()).enumerate();
        let mut part = Part::new(self.offset);
        for item in items {
            match item {
                IndexItem::NewAxis => part.push(1, 0),
                IndexItem::Ellipsis => {
                    axes.by_ref().take(whole).for_each(|(_, (extent, stride))| part.push(extent, stride));
                }
                IndexItem::At(index) => {
                    if let Some((axis, (extent, stride))) = axes.next() {
                        let at = from_front(*index, extent);
                        part.shift(
                            at.ok_or(LayoutError::IndexOutOfRange { axis, index: *index, extent })?,
                            stride,
                        );
                    }
                }
                IndexItem::Slice(slice) => {
                    if let Some((axis, (extent, stride))) = axes.next() {
                        part.slice(*slice, axis, extent, stride)?;
                    }
                }
            }
        }
        axes.for_each(|(_, (extent, stride))| part.push(extent, stride));
        Ok(part.finish(self.offset))
    }

    /// The positions of one axis that `slice` selects: [`index`](Self::index) with all other axes whole. Always a view.
    ///
    /// # Errors
    ///
    /// [`LayoutError::AxisOutOfRange`], [`LayoutError::ZeroStep`].
    pub fn slice_axis(&self, axis: isize, slice: impl Into<Slice>) -> Result<Self, LayoutError> {
        let sliced = axis_index(axis, self.rank())?;
        let slice = slice.into();
        let mut part = Part::new(self.offset);
        for (axis, (&extent, &stride)) in self.shape.iter().zip(&self.strides).enumerate() {
            if axis == sliced {
                part.slice(slice, axis, extent, stride)?;
            } else {
                part.push(extent, stride);
            }
        }
        Ok(part.finish(self.offset))
    }
}

/// A part of a layout under construction.
///
/// Its arithmetic is unchecked. A part reaches no element that the whole did not, so if it has elements nothing
/// overflows; a part without elements throws away what was computed, and only there can it have wrapped. Nor does
/// wrapping matter to the stride of an axis of extent 1, which is never used.
struct Part {
    shape: Axes<usize>,
    strides: Axes<isize>,
    offset: usize,
    len: usize,
    below: isize,
    above: isize,
}

impl Part {
    #[inline]
    fn new(offset: usize) -> Self {
        Self { shape: Axes::new(), strides: Axes::new(), offset, len: 1, below: 0, above: 0 }
    }

    #[inline]
    fn push(&mut self, extent: usize, stride: isize) {
        self.shape.push(extent);
        self.strides.push(stride);
        self.len = self.len.wrapping_mul(extent);
        let reach = extent.wrapping_sub(1).cast_signed().wrapping_mul(stride);
        let end = if reach < 0 { &mut self.below } else { &mut self.above };
        *end = end.wrapping_add(reach);
    }

    #[inline]
    fn shift(&mut self, positions: usize, stride: isize) {
        self.offset = self.offset.wrapping_add_signed(positions.cast_signed().wrapping_mul(stride));
    }

    #[inline]
    fn slice(&mut self, slice: Slice, axis: usize, extent: usize, stride: isize) -> Result<(), LayoutError> {
        let (first, count) = slice.clamp(axis, extent)?;
        self.shift(first, stride);
        self.push(count, stride.wrapping_mul(slice.step));
        Ok(())
    }

    /// The part; an empty one is put at `home`, which is a position known to be good.
    #[inline]
    fn finish(self, home: usize) -> Layout {
        let (offset, start, end) = if self.len == 0 {
            (home, home, home)
        } else {
            let end = self.offset.wrapping_add_signed(self.above).wrapping_add(1);
            (self.offset, self.offset.wrapping_add_signed(self.below), end)
        };
        Layout { shape: self.shape, strides: self.strides, offset, len: self.len, start, end }.agreed()
    }
}
