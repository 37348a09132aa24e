//! Layouts, for all who cut, turn and reshape: pure algebra on shapes and strides, no memory.
//!
//! [`NdLayout`] is the trait of arrays and views; [`Layout`] is the value that core trusts, checked
//! once when it is made. The rules are NumPy's unless a method says otherwise. All but the trait is
//! the package `devarray-layout`, which is usable without this one.

mod nd;

pub use devarray_layout::{
    Axes, AxisIter, AxisList, Bool, Element, Extents, INLINE_RANK, IndexItem, Indexing, Injectivity, Integer,
    Layout, LayoutError, Order, Overlap, Slice, Split, broadcast_shapes, meshgrid, nest,
};
pub(crate) use devarray_layout::{List, axis_index, check_inside, position};
pub use nd::NdLayout;
