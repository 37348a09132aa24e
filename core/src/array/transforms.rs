//! The transforms of arrays and views, written once for all kinds.

/// Emits the transforms. Each returns a `$view` of the same memory. `$receiver` is how a method
/// takes its value: `&self` for an array and a view that can be copied, `self` for a view that is
/// exclusive. The type has a `with_layout`.
///
/// Methods of the type itself take precedence over methods of [`NdLayout`](crate::NdLayout), which
/// return layouts.
macro_rules! view_transforms {
    ([$($receiver:tt)+] $this:ident => $view:ty) => {
        /// Returns the same elements with the axes in another order: result axis `k` is axis `axes[k]` of
        /// this one.
        ///
        /// # Errors
        ///
        /// The axes, which may be negative, are not a permutation.
        #[doc(alias = "permute_dims", alias = "permuted_axes")]
        #[track_caller]
        pub fn permute($($receiver)+, axes: impl AxisList) -> Result<$view> {
            let layout = $this.layout().permute(axes)?;
            Ok($this.with_layout(layout))
        }

        /// Returns the same elements with the axes in reverse order.
        #[doc(alias = "T", alias = "reversed_axes")]
        #[must_use]
        pub fn transpose($($receiver)+) -> $view {
            let layout = $this.layout().transpose();
            $this.with_layout(layout)
        }

        /// Returns the same elements with two axes exchanged.
        ///
        /// # Errors
        ///
        /// An axis is out of range.
        #[doc(alias = "matrix_transpose")]
        #[doc(alias = "swapaxes")]
        #[track_caller]
        pub fn swap_axes($($receiver)+, a: impl Integer, b: impl Integer) -> Result<$view> {
            let layout = $this.layout().swap_axes(a, b)?;
            Ok($this.with_layout(layout))
        }

        /// Returns the same elements with the axes `from` moved to the places `to`, in pairs; the others keep
        /// their order.
        ///
        /// # Errors
        ///
        /// The lists have different lengths, or an axis is out of range or repeated in one of them.
        #[doc(alias = "moveaxis", alias = "movedim", alias = "rollaxis")]
        #[track_caller]
        pub fn move_axes($($receiver)+, from: impl AxisList, to: impl AxisList) -> Result<$view> {
            let layout = $this.layout().move_axes(from, to)?;
            Ok($this.with_layout(layout))
        }

        /// Returns the same elements, walked from the far end of each of `axes`.
        ///
        /// # Errors
        ///
        /// An axis is out of range or repeated.
        #[doc(alias = "fliplr", alias = "flipud", alias = "invert_axis")]
        #[track_caller]
        pub fn flip($($receiver)+, axes: impl AxisList) -> Result<$view> {
            let layout = $this.layout().flip(axes)?;
            Ok($this.with_layout(layout))
        }

        /// The elements that a basic index selects: integers, ranges with a step of either sign,
        /// new axes, an ellipsis.
        ///
        /// # Errors
        ///
        /// An integer is out of range, a step is 0, there are more items than axes, or more than
        /// one ellipsis. Ranges clamp.
        #[doc(alias = "getitem", alias = "slice")]
        #[track_caller]
        pub fn index($($receiver)+, items: &[IndexItem]) -> Result<$view> {
            let layout = $this.layout().index(items)?;
            Ok($this.with_layout(layout))
        }

        /// The elements of a range of one axis.
        ///
        /// # Errors
        ///
        /// The axis is out of range or the step is 0. The range clamps.
        #[doc(alias = "narrow")]
        #[track_caller]
        pub fn slice_axis($($receiver)+, axis: impl Integer, range: impl Into<Slice>) -> Result<$view> {
            let layout = $this.layout().slice_axis(axis, range)?;
            Ok($this.with_layout(layout))
        }

        /// Returns the same elements with an axis of extent 1 put in at `axis`.
        ///
        /// # Errors
        ///
        /// The axis is outside `-rank - 1..=rank`.
        #[doc(alias = "unsqueeze", alias = "newaxis", alias = "insert_axis")]
        #[track_caller]
        pub fn expand_dims($($receiver)+, axis: impl Integer) -> Result<$view> {
            let layout = $this.layout().expand_dims(axis)?;
            Ok($this.with_layout(layout))
        }

        /// Returns the same elements without the axes of extent 1.
        #[must_use]
        pub fn squeeze($($receiver)+) -> $view {
            let layout = $this.layout().squeeze();
            $this.with_layout(layout)
        }

        /// Returns the same elements without the axes named, each of extent 1.
        ///
        /// # Errors
        ///
        /// An axis is out of range, repeated, or of another extent.
        #[doc(alias = "remove_axis")]
        #[track_caller]
        pub fn squeeze_axes($($receiver)+, axes: impl AxisList) -> Result<$view> {
            let layout = $this.layout().squeeze_axes(axes)?;
            Ok($this.with_layout(layout))
        }

        /// Returns the same elements in another shape, if a view of it exists. Never copies. One extent may
        /// be -1.
        ///
        /// # Errors
        ///
        /// - [`LayoutError::NeedsCopy`](crate::LayoutError::NeedsCopy): no view of that shape walks
        ///   the elements in that order.
        /// - The number of elements would change, or no extent can be inferred.
        #[doc(alias = "into_shape", alias = "unflatten")]
        #[track_caller]
        pub fn reshape<S: Extents + ?Sized>($($receiver)+, shape: &S, order: Order) -> Result<$view> {
            let layout = $this.layout().reshape(shape, order)?;
            Ok($this.with_layout(layout))
        }

        /// Returns the same elements in one contiguous axis, if they are contiguous already. Never
        /// copies.
        ///
        /// # Errors
        ///
        /// [`LayoutError::NeedsCopy`](crate::LayoutError::NeedsCopy): they are not contiguous.
        #[doc(alias = "flatten")]
        #[track_caller]
        pub fn ravel($($receiver)+, order: Order) -> Result<$view> {
            let layout = $this.layout().ravel(order)?;
            Ok($this.with_layout(layout))
        }
    };
}

/// Emits the splits: parts that share no element.
macro_rules! view_splits {
    ([$($receiver:tt)+] $this:ident => $view:ty) => {
        /// Cuts one axis of a 1-D view into sections of `section` elements, the last one perhaps
        /// shorter.
        ///
        /// # Errors
        ///
        /// The view is not 1-D, or the section is 0.
        #[track_caller]
        pub fn split($($receiver)+, section: usize) -> Result<Parts<$view>> {
            let parts = $this.layout().split(section)?;
            let whole = $this.layout().clone();
            Ok(Parts::new(parts, $this.with_layout(whole)))
        }

        /// Cuts an axis into `sections` sections, as equal as can be, the longer ones first.
        ///
        /// # Errors
        ///
        /// The axis is out of range, or `sections` is 0.
        #[doc(alias = "chunk")]
        #[track_caller]
        pub fn array_split($($receiver)+, axis: impl Integer, sections: usize) -> Result<Parts<$view>> {
            let parts = $this.layout().array_split(axis, sections)?;
            let whole = $this.layout().clone();
            Ok(Parts::new(parts, $this.with_layout(whole)))
        }

        /// Cuts an axis at ascending positions; `n` positions give `n + 1` parts. Negative positions
        /// count from the end. Positions beyond an end give empty parts.
        ///
        /// # Errors
        ///
        /// The axis is out of range, or the positions do not ascend.
        #[doc(alias = "hsplit", alias = "vsplit", alias = "dsplit")]
        #[track_caller]
        pub fn split_at<I: Integer>($($receiver)+, axis: impl Integer, positions: &[I]) -> Result<Parts<$view>> {
            let parts = $this.layout().split_at(axis, positions)?;
            let whole = $this.layout().clone();
            Ok(Parts::new(parts, $this.with_layout(whole)))
        }
    };
}

/// Emits the transforms that may reach an element twice, and therefore exist only for reading.
macro_rules! view_broadcasts {
    ($view:ty) => {
        /// Returns the same elements repeated along new axes and axes of extent 1, without a copy:
        /// stride 0.
        ///
        /// # Errors
        ///
        /// The shapes do not fit by the rules of broadcasting.
        #[doc(alias = "expand", alias = "broadcast_arrays")]
        #[track_caller]
        pub fn broadcast_to(&self, shape: &[usize]) -> Result<$view> {
            let layout = self.layout().broadcast_to(shape)?;
            Ok(self.with_layout(layout))
        }
    };
}

/// Emits for an array all transforms of its [`view`](super::Array::view), and the methods that copy
/// or may copy.
macro_rules! array_transforms {
    ($view:ty, $array:ty) => {
        view_transforms!([&self] self => $view);
        view_splits!([&self] self => $view);
        view_broadcasts!($view);

        /// Copies the elements to a new array, dense in `order`. Does not synchronize.
        ///
        /// # Errors
        ///
        /// Out of memory, another context's stream, and any other device error.
        #[doc(alias = "ascontiguousarray", alias = "asfortranarray", alias = "contiguous")]
        #[track_caller]
        pub fn to_contiguous(&self, stream: &StreamHandle<D>, order: Order) -> Result<$array> {
            self.view().to_contiguous(stream, order)
        }

        /// Returns the same elements in another shape: a view if one exists, else a copy dense in the
        /// resolved order. The result says which. Does not synchronize.
        ///
        /// # Errors
        ///
        /// The errors of [`reshape`](Self::reshape), [`LayoutError::NeedsCopy`](crate::LayoutError::NeedsCopy)
        /// excepted, and [`to_contiguous`](Self::to_contiguous).
        #[track_caller]
        pub fn reshape_or_copy<S: Extents + ?Sized>(
            &self,
            stream: &StreamHandle<D>,
            shape: &S,
            order: Order,
        ) -> Result<Reshaped<$view, $array>> {
            self.view().reshape_or_copy(stream, shape, order)
        }

        /// Returns the same elements in one contiguous axis: a view if they lie so, else a copy. The result
        /// says which. Does not synchronize.
        ///
        /// # Errors
        ///
        /// The errors of [`to_contiguous`](Self::to_contiguous).
        #[doc(alias = "flatten")]
        #[track_caller]
        pub fn ravel_or_copy(&self, stream: &StreamHandle<D>, order: Order) -> Result<Reshaped<$view, $array>> {
            self.view().ravel_or_copy(stream, order)
        }
    };
}

/// Emits [`NdLayout`](crate::NdLayout) for arrays and views: the questions read the same on all of
/// them.
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
pub(crate) use array_transforms;
pub(crate) use view_broadcasts;
pub(crate) use view_splits;
pub(crate) use view_transforms;
