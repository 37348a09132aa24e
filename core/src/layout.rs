//! Layouts, for programs that cut, turn and reshape: algebra on shapes and strides, without memory.
//!
//! [`NdLayout`] is the trait of arrays and views; [`Layout`] is the value that core trusts, checked
//! once when it is made. The rules are NumPy's unless a method says otherwise. Everything but the
//! trait comes from the package `devarray-layout`, which is usable without this package.

mod nd;

pub use devarray_layout::{
    Axes, AxisIter, AxisList, Bool, Element, Extents, INLINE_RANK, IndexItem, Indexing, Injectivity, Integer,
    Layout, LayoutError, Order, Overlap, Slice, Split, broadcast_shapes, meshgrid, nest,
};
pub(crate) use devarray_layout::{List, axis_index, check_inside, position};
pub use nd::NdLayout;
