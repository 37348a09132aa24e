//! The read-only question every array answers: where is the element at this index?

/// A strided N-dimensional layout: a shape, one stride an axis, and an offset, all counted in elements.
///
/// Element `(i0, i1, …)` lies at `offset + i0 * strides[0] + i1 * strides[1] + …`. Strides are signed: a reversed
/// axis has a negative stride and an offset at its far end. A broadcast axis has stride 0.
///
/// Arrays, views and [`Layout`](super::Layout) implement it.
///
/// # For implementors
///
/// Three methods. The trait is safe because nobody trusts the answers: core lowers them to a [`Layout`](super::Layout),
/// whose constructor checks them, and believes only that.
pub trait NdLayout {
    /// Extents, in elements, outermost axis first. A 0-d layout has none and one element.
    fn shape(&self) -> &[usize];
    /// Distance between neighbours along each axis, in elements, signed; as many as extents.
    fn strides(&self) -> &[isize];
    /// Position of the element at index `(0, 0, …)`, in elements from the start of the memory.
    fn offset(&self) -> usize;
}
