//! The views of a view, written once for all four kinds.

/// Emits the transforms that keep a view a view of the same memory. `$receiver` is how a view gives itself away:
/// `&self` for one that can be copied, `self` for one that is exclusive.
macro_rules! view_transforms {
    ([$($receiver:tt)+] $this:ident) => {
        /// The same elements with the axes in another order: result axis `k` is axis `axes[k]` of this one.
        ///
        /// # Errors
        ///
        /// The axes, which may be negative, are not a permutation.
        pub fn permute($($receiver)+, axes: &[isize]) -> Result<Self, LayoutError> {
            let layout = $this.layout().permute(axes)?;
            Ok($this.with_layout(layout))
        }

        /// The same elements with the axes in reverse order.
        #[must_use]
        pub fn transpose($($receiver)+) -> Self {
            let layout = $this.layout().transpose();
            $this.with_layout(layout)
        }

        /// The same elements with two axes exchanged.
        ///
        /// # Errors
        ///
        /// An axis is out of range.
        pub fn swap_axes($($receiver)+, a: isize, b: isize) -> Result<Self, LayoutError> {
            let layout = $this.layout().swap_axes(a, b)?;
            Ok($this.with_layout(layout))
        }

        /// The same elements, walked from the far end of each of `axes`.
        ///
        /// # Errors
        ///
        /// An axis is out of range or repeated.
        pub fn flip($($receiver)+, axes: &[isize]) -> Result<Self, LayoutError> {
            let layout = $this.layout().flip(axes)?;
            Ok($this.with_layout(layout))
        }

        /// The elements that a basic index selects: integers, ranges with a step of either sign, new axes, an ellipsis.
        ///
        /// # Errors
        ///
        /// An integer is out of range, a step is 0, there are more items than axes, or more than one ellipsis. Ranges
        /// clamp.
        pub fn index($($receiver)+, items: &[IndexItem]) -> Result<Self, LayoutError> {
            let layout = $this.layout().index(items)?;
            Ok($this.with_layout(layout))
        }

        /// The elements of a range of one axis.
        ///
        /// # Errors
        ///
        /// The axis is out of range or the step is 0. The range clamps.
        pub fn slice_axis($($receiver)+, axis: isize, range: impl Into<Slice>) -> Result<Self, LayoutError> {
            let layout = $this.layout().slice_axis(axis, range)?;
            Ok($this.with_layout(layout))
        }

        /// The same elements with an axis of extent 1 put in at `axis`.
        ///
        /// # Errors
        ///
        /// The axis is outside `-rank - 1..=rank`.
        pub fn expand_dims($($receiver)+, axis: isize) -> Result<Self, LayoutError> {
            let layout = $this.layout().expand_dims(axis)?;
            Ok($this.with_layout(layout))
        }

        /// The same elements without the axes of extent 1.
        #[must_use]
        pub fn squeeze($($receiver)+) -> Self {
            let layout = $this.layout().squeeze();
            $this.with_layout(layout)
        }

        /// The same elements without the axes named, each of extent 1.
        ///
        /// # Errors
        ///
        /// An axis is out of range, repeated, or of another extent.
        pub fn squeeze_axes($($receiver)+, axes: &[isize]) -> Result<Self, LayoutError> {
            let layout = $this.layout().squeeze_axes(axes)?;
            Ok($this.with_layout(layout))
        }

        /// The same elements in another shape, if a view of it exists. Never copies. One extent may be -1.
        ///
        /// # Errors
        ///
        /// - [`LayoutError::NeedsCopy`]: no view of that shape walks the elements in that order.
        /// - The number of elements would change, or no extent can be inferred.
        pub fn reshape<S: Extents + ?Sized>($($receiver)+, shape: &S, order: Order) -> Result<Self, LayoutError> {
            let layout = $this.layout().reshape(shape, order)?;
            Ok($this.with_layout(layout))
        }

        /// The same elements in one contiguous axis, if they already lie so. Never copies.
        ///
        /// # Errors
        ///
        /// [`LayoutError::NeedsCopy`]: they do not.
        pub fn ravel($($receiver)+, order: Order) -> Result<Self, LayoutError> {
            let layout = $this.layout().ravel(order)?;
            Ok($this.with_layout(layout))
        }
    };
}

/// Emits the splits: parts that share no element.
macro_rules! view_splits {
    ([$($receiver:tt)+] $this:ident) => {
        /// Cuts one axis of a 1-D view into sections of `section` elements, the last one perhaps shorter.
        ///
        /// # Errors
        ///
        /// The view is not 1-D, or the section is 0.
        pub fn split($($receiver)+, section: usize) -> Result<Parts<'static, Self>, LayoutError> {
            let parts = $this.layout().split(section)?;
            Ok(Parts::new(parts, $this.narrow($this.layout().clone())))
        }

        /// Cuts an axis into so many sections, as equal as can be, the longer ones first.
        ///
        /// # Errors
        ///
        /// The axis is out of range, or there are to be no sections.
        pub fn array_split($($receiver)+, axis: isize, sections: usize) -> Result<Parts<'static, Self>, LayoutError> {
            let parts = $this.layout().array_split(axis, sections)?;
            Ok(Parts::new(parts, $this.narrow($this.layout().clone())))
        }

        /// Cuts an axis at sorted positions: one part more than positions. Positions beyond the extent give empty parts.
        ///
        /// # Errors
        ///
        /// The axis is out of range, or the positions are not sorted.
        pub fn split_at<'at>(
            $($receiver)+,
            axis: isize,
            positions: &'at [usize],
        ) -> Result<Parts<'at, Self>, LayoutError> {
            let parts = $this.layout().split_at(axis, positions)?;
            Ok(Parts::new(parts, $this.narrow($this.layout().clone())))
        }
    };
}

/// Emits [`NdLayout`](crate::NdLayout) for arrays and views: the questions read the same on all of them.
macro_rules! answer_as_layout {
    ([$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> NdLayout for $type {
            fn shape(&self) -> &[usize] {
                self.layout().shape()
            }

            fn strides(&self) -> &[isize] {
                self.layout().strides()
            }

            fn offset(&self) -> usize {
                self.layout().offset()
            }
        }
    };
}

pub(crate) use answer_as_layout;
pub(super) use view_splits;
pub(super) use view_transforms;
