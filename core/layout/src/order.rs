//! Memory order, as NumPy names it.

/// The order in which a result is laid out or an array is walked.
///
/// `A` and `K` depend on the layout they are applied to;
/// [`Layout::resolve`](super::Layout::resolve) says which concrete order results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Order {
    /// Row-major: the last axis varies fastest.
    #[default]
    C,
    /// Column-major: the first axis varies fastest.
    F,
    /// `F` if the input is F- and not C-contiguous, else `C`.
    A,
    /// `C` if the input is C-contiguous, else `F` if it is F-contiguous, else axes by descending
    /// absolute stride, where equal strides keep the order of the axes. A copy treats a stride of 0
    /// as the least; a ravel leaves its axis in place, as NumPy does
    /// ([`Layout::dense_to_ravel`](super::Layout::dense_to_ravel)).
    K,
}
