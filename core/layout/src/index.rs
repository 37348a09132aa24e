//! Basic indexing: integers, slices, new axes and one ellipsis.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::{
    Layout, LayoutError, Slice,
    axis::from_front,
    integer::{self, Integer},
};

/// One item of an index, like the items between NumPy's brackets. [`ix!`](crate::ix) writes a list
/// of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IndexItem {
    /// One position of an axis, which the result does not have; negative counts from the end.
    At(isize),
    /// Some positions of an axis.
    Slice(Slice),
    /// An axis of extent 1 that the layout does not have. NumPy's `None`.
    NewAxis,
    /// Takes as many whole axes as the other items leave; at most one. NumPy's `...`.
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

/// Makes an array of [`IndexItem`]s from integers, ranges, `range; step`, `NewAxis` and `Ellipsis`.
///
/// `..` is one whole axis, as elsewhere in Rust; NumPy's `...` is `Ellipsis`.
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
        use $crate::IndexItem::{Ellipsis, NewAxis};
        [$($crate::ix!(@item $item $(; $step)?)),*] as [$crate::IndexItem; _]
    }};
    (@item $item:expr) => { $crate::IndexItem::from($item) };
    (@item $item:expr; $step:expr) => {
        $crate::IndexItem::Slice($crate::Slice::from($item).step_by($step))
    };
}

impl Layout {
    /// Selects a part by `items`, one item per axis from the front. Axes without an item stay
    /// whole. Always a view.
    ///
    /// An empty result keeps this layout's offset.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::IndexOutOfRange`]: an integer is outside its axis. Slices are clamped
    ///   instead.
    /// - [`LayoutError::ZeroStep`], [`LayoutError::TooManyIndices`],
    ///   [`LayoutError::RepeatedEllipsis`].
    // This is inlined because a view wraps the result: across a call it would be copied twice.
    #[inline]
    pub fn index(&self, items: &[IndexItem]) -> Result<Self, LayoutError> {
        let rank = self.rank();
        let count = |kind: fn(&IndexItem) -> bool| items.iter().filter(|item| kind(item)).count();
        let integers = count(|item| matches!(item, IndexItem::At(_)));
        let slices = count(|item| matches!(item, IndexItem::Slice(_)));
        let ellipses = count(|item| matches!(item, IndexItem::Ellipsis));
        let taken = integers + slices;
        let Some(whole) = rank.checked_sub(taken) else {
            return Err(LayoutError::TooManyIndices { rank, found: taken });
        };
        if ellipses > 1 {
            return Err(LayoutError::RepeatedEllipsis);
        }
        let added = items.len() - taken - ellipses;
        let mut out = Self::blank(rank - integers + added, self.offset);
        let mut axes = self.shape.iter().copied().zip(self.strides.iter().copied()).enumerate();
        let mut part = Part::new(self.offset, out.shape.iter_mut().zip(&mut out.strides));
        for item in items {
            match *item {
                IndexItem::NewAxis => part.push(1, 0),
                IndexItem::Ellipsis => {
                    axes.by_ref().take(whole).for_each(|(_, (extent, stride))| part.push(extent, stride));
                }
                IndexItem::At(index) => {
                    let Some((axis, (extent, stride))) = axes.next() else { continue };
                    let at = from_front(index, extent);
                    part.shift(at.ok_or(LayoutError::IndexOutOfRange { axis, index, extent })?, stride);
                }
                IndexItem::Slice(Slice::FULL) => {
                    let Some((_, (extent, stride))) = axes.next() else { continue };
                    part.push(extent, stride);
                }
                IndexItem::Slice(slice) => {
                    let Some((axis, (extent, stride))) = axes.next() else { continue };
                    let (first, count) = slice.clamp(axis, extent)?;
                    part.shift(first, stride);
                    part.push(count, stride.wrapping_mul(slice.step));
                }
            }
        }
        axes.for_each(|(_, (extent, stride))| part.push(extent, stride));
        let Part { len, offset, below, above, .. } = part;
        // An empty part keeps this layout's offset, which is known to be valid.
        if len != 0 {
            (out.len, out.offset) = (len, offset);
            out.start = offset.wrapping_add_signed(below);
            out.end = offset.wrapping_add_signed(above) + 1;
        }
        Ok(out.agreed())
    }
}

/// A part of a layout under construction, and its axes that are not written yet.
///
/// Its arithmetic is unchecked. A part that has elements reaches only elements of the whole, so
/// nothing overflows. The numbers of an empty part may wrap, but they are thrown away. The stride
/// of an axis of extent 1 may wrap too: it is never used.
struct Part<A> {
    axes: A,
    offset: usize,
    len: usize,
    below: isize,
    above: isize,
}

impl<'a, A: Iterator<Item = (&'a mut usize, &'a mut isize)>> Part<A> {
    #[inline]
    fn new(offset: usize, axes: A) -> Self {
        Self { axes, offset, len: 1, below: 0, above: 0 }
    }

    #[inline]
    fn push(&mut self, extent: usize, stride: isize) {
        if let Some(axis) = self.axes.next() {
            (*axis.0, *axis.1) = (extent, stride);
        }
        self.len = self.len.wrapping_mul(extent);
        let reach = extent.wrapping_sub(1).cast_signed().wrapping_mul(stride);
        self.below = self.below.wrapping_add(reach.min(0));
        self.above = self.above.wrapping_add(reach.max(0));
    }

    #[inline]
    fn shift(&mut self, positions: usize, stride: isize) {
        self.offset = self.offset.wrapping_add_signed(positions.cast_signed().wrapping_mul(stride));
    }
}
