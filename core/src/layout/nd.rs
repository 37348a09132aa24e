//! The questions that every array answers: where its elements are, and which views of them exist.

use super::{Extents, IndexItem, Integer, Layout, LayoutError, Order, Slice, Split};

/// A strided N-dimensional layout: a shape, one stride per axis, and an offset, all counted in
/// elements.
///
/// Element `(i0, i1, …)` lies at `offset + i0 * strides[0] + i1 * strides[1] + …`. Strides are
/// signed: a reversed axis has a negative stride and an offset at its far end. A broadcast axis has
/// stride 0.
///
/// Arrays, views and [`Layout`] implement it.
///
/// # For callers
///
/// Questions and transforms work on the [`Layout`] that the three required methods describe. A
/// transform moves no element and returns a new `Layout`; it does the same as the method of
/// `Layout` of the same name, with the same errors. Arrays and views of device memory have methods
/// of their own of these names, which return views and take precedence. Axes are signed: −1 is the
/// last one. Nothing here panics, with any arguments.
///
/// If the three methods describe no valid layout, every transform fails with the error of
/// [`Layout::new`], `len` is 0, `is_empty` is true, and the other questions are false. `rank` is
/// always the length of `shape`.
///
/// # For implementors
///
/// Three methods. The trait is safe because core does not trust the answers: it makes a [`Layout`]
/// of them, whose constructor checks them, and uses only the `Layout`. The provided methods may be
/// overridden, to save the check or to be faster, but core never calls an override.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no shape and strides",
    label = "not an `NdLayout`",
    note = "arrays, views and `devarray::Layout` have them; `Layout::contiguous(&[2, 3], Order::C)?` makes one of a shape"
)]
pub trait NdLayout {
    /// Extents, in elements, outermost axis first. A 0-d layout has no extents and one element.
    fn shape(&self) -> &[usize];

    /// Distance between neighbours along each axis, in elements, signed. There is one stride for
    /// each extent.
    fn strides(&self) -> &[isize];

    /// Position of the element at index `(0, 0, …)`, in elements from the start of the memory.
    fn offset(&self) -> usize;

    /// Makes a checked [`Layout`].
    ///
    /// # Errors
    ///
    /// The errors of [`Layout::new`].
    fn to_layout(&self) -> Result<Layout, LayoutError> {
        Layout::new(self.shape(), self.strides(), self.offset())
    }

    /// Number of axes.
    fn rank(&self) -> usize {
        self.shape().len()
    }

    /// Number of elements: the product of the extents, 1 for a 0-d layout.
    fn len(&self) -> usize {
        self.to_layout().map_or(0, |layout| layout.len())
    }

    /// Whether there is no element: whether some extent is 0.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// [`Layout::is_c_contiguous`].
    fn is_c_contiguous(&self) -> bool {
        self.to_layout().is_ok_and(|layout| layout.is_c_contiguous())
    }

    /// [`Layout::is_f_contiguous`].
    fn is_f_contiguous(&self) -> bool {
        self.to_layout().is_ok_and(|layout| layout.is_f_contiguous())
    }

    /// [`Layout::is_contiguous`].
    fn is_contiguous(&self, order: Order) -> bool {
        self.to_layout().is_ok_and(|layout| layout.is_contiguous(order))
    }

    /// [`Layout::permute`].
    ///
    /// # Errors
    ///
    /// See there, and the errors of [`Layout::new`].
    fn permute(&self, axes: &[isize]) -> Result<Layout, LayoutError> {
        self.to_layout()?.permute(axes)
    }

    /// [`Layout::transpose`].
    ///
    /// # Errors
    ///
    /// The errors of [`Layout::new`].
    fn transpose(&self) -> Result<Layout, LayoutError> {
        Ok(self.to_layout()?.transpose())
    }

    /// [`Layout::swap_axes`].
    ///
    /// # Errors
    ///
    /// See there, and the errors of [`Layout::new`].
    fn swap_axes(&self, a: isize, b: isize) -> Result<Layout, LayoutError> {
        self.to_layout()?.swap_axes(a, b)
    }

    /// [`Layout::move_axes`].
    ///
    /// # Errors
    ///
    /// See there, and the errors of [`Layout::new`].
    fn move_axes(&self, from: &[isize], to: &[isize]) -> Result<Layout, LayoutError> {
        self.to_layout()?.move_axes(from, to)
    }

    /// [`Layout::flip`].
    ///
    /// # Errors
    ///
    /// See there, and the errors of [`Layout::new`].
    fn flip(&self, axes: &[isize]) -> Result<Layout, LayoutError> {
        self.to_layout()?.flip(axes)
    }

    /// [`Layout::expand_dims`].
    ///
    /// # Errors
    ///
    /// See there, and the errors of [`Layout::new`].
    fn expand_dims(&self, axis: isize) -> Result<Layout, LayoutError> {
        self.to_layout()?.expand_dims(axis)
    }

    /// [`Layout::squeeze`].
    ///
    /// # Errors
    ///
    /// The errors of [`Layout::new`].
    fn squeeze(&self) -> Result<Layout, LayoutError> {
        Ok(self.to_layout()?.squeeze())
    }

    /// [`Layout::squeeze_axes`].
    ///
    /// # Errors
    ///
    /// See there, and the errors of [`Layout::new`].
    fn squeeze_axes(&self, axes: &[isize]) -> Result<Layout, LayoutError> {
        self.to_layout()?.squeeze_axes(axes)
    }

    /// [`Layout::index`].
    ///
    /// # Errors
    ///
    /// See there, and the errors of [`Layout::new`].
    fn index(&self, items: &[IndexItem]) -> Result<Layout, LayoutError> {
        self.to_layout()?.index(items)
    }

    /// [`Layout::slice_axis`].
    ///
    /// # Errors
    ///
    /// See there, and the errors of [`Layout::new`].
    fn slice_axis(&self, axis: isize, slice: impl Into<Slice>) -> Result<Layout, LayoutError>
    where
        Self: Sized,
    {
        self.to_layout()?.slice_axis(axis, slice)
    }

    /// [`Layout::broadcast_to`].
    ///
    /// # Errors
    ///
    /// See there, and the errors of [`Layout::new`].
    fn broadcast_to(&self, shape: &[usize]) -> Result<Layout, LayoutError> {
        self.to_layout()?.broadcast_to(shape)
    }

    /// [`Layout::reshape`].
    ///
    /// # Errors
    ///
    /// See there, and the errors of [`Layout::new`].
    fn reshape<S: Extents + ?Sized>(&self, shape: &S, order: Order) -> Result<Layout, LayoutError>
    where
        Self: Sized,
    {
        self.to_layout()?.reshape(shape, order)
    }

    /// [`Layout::ravel`].
    ///
    /// # Errors
    ///
    /// See there, and the errors of [`Layout::new`].
    fn ravel(&self, order: Order) -> Result<Layout, LayoutError> {
        self.to_layout()?.ravel(order)
    }

    /// [`Layout::dense_like`].
    ///
    /// # Errors
    ///
    /// The errors of [`Layout::new`].
    fn dense_like(&self, order: Order) -> Result<Layout, LayoutError> {
        self.to_layout()?.dense_like(order)
    }

    /// [`Layout::dense_to_ravel`].
    ///
    /// # Errors
    ///
    /// The errors of [`Layout::new`].
    fn dense_to_ravel(&self, order: Order) -> Result<Layout, LayoutError> {
        self.to_layout()?.dense_to_ravel(order)
    }

    /// [`Layout::split`].
    ///
    /// # Errors
    ///
    /// See there, and the errors of [`Layout::new`].
    fn split(&self, section: usize) -> Result<Split, LayoutError> {
        self.to_layout()?.split(section)
    }

    /// [`Layout::array_split`].
    ///
    /// # Errors
    ///
    /// See there, and the errors of [`Layout::new`].
    fn array_split(&self, axis: isize, sections: usize) -> Result<Split, LayoutError> {
        self.to_layout()?.array_split(axis, sections)
    }

    /// [`Layout::split_at`].
    ///
    /// # Errors
    ///
    /// See there, and the errors of [`Layout::new`].
    fn split_at<T: Integer>(&self, axis: isize, at: &[T]) -> Result<Split, LayoutError>
    where
        Self: Sized,
    {
        self.to_layout()?.split_at(axis, at)
    }
}

impl<L: NdLayout + ?Sized> NdLayout for &L {
    fn shape(&self) -> &[usize] {
        (**self).shape()
    }

    fn strides(&self) -> &[isize] {
        (**self).strides()
    }

    fn offset(&self) -> usize {
        (**self).offset()
    }
}

impl NdLayout for Layout {
    fn shape(&self) -> &[usize] {
        self.shape()
    }

    fn strides(&self) -> &[isize] {
        self.strides()
    }

    fn offset(&self) -> usize {
        self.offset()
    }
}
