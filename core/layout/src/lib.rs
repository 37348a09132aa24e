#![doc = include_str!("../README.md")]
//!
//! # Contents
//!
//! | question or transform | where |
//! |---|---|
//! | contiguity, orders, dense copies | [`is_contiguous`](Layout::is_contiguous), [`resolve`](Layout::resolve), [`dense_like`](Layout::dense_like), [`dense_to_ravel`](Layout::dense_to_ravel) |
//! | axes | [`permute`](Layout::permute), [`transpose`](Layout::transpose), [`swap_axes`](Layout::swap_axes), [`move_axes`](Layout::move_axes), [`flip`](Layout::flip), [`expand_dims`](Layout::expand_dims), [`squeeze`](Layout::squeeze), [`squeeze_axes`](Layout::squeeze_axes) |
//! | parts | [`index`](Layout::index) with [`ix!`], [`slice_axis`](Layout::slice_axis), [`split`](Layout::split), [`array_split`](Layout::array_split), [`split_at`](Layout::split_at), [`axis_iter`](Layout::axis_iter), [`axis_chunks`](Layout::axis_chunks), [`diagonal`](Layout::diagonal) |
//! | any strides | [`restride`](Layout::restride), [`sliding_windows`](Layout::sliding_windows) |
//! | shapes | [`broadcast_to`](Layout::broadcast_to), [`broadcast_shapes`], [`meshgrid()`], [`reshape`](Layout::reshape), [`ravel`](Layout::ravel) |
//! | sharing | [`injectivity`](Layout::injectivity), [`overlap`](Layout::overlap) |
//! | elements | [`Element`], [`Bool`] |
//! | copies | [`copy::Plan`], [`copy::execute`] |
//! | element sizes | [`len_bytes`](Layout::len_bytes), [`with_item_bytes`](Layout::with_item_bytes) |

mod axis;
mod axis_list;
mod boolean;
mod broadcast;
mod containment;
mod contiguity;
pub mod copy;
mod element;
mod error;
mod extents;
mod index;
mod inline;
mod inside;
mod integer;
mod item_bytes;
mod list;
mod meshgrid;
pub mod nest;
mod order;
mod overlap;
mod permute;
mod positions;
mod reinterpret;
mod reshape;
mod restride;
#[cfg(feature = "serde")]
mod serialize;
mod slice;
mod split;
mod subset_sum;
mod value;

pub use axis_list::AxisList;
pub use boolean::Bool;
pub use broadcast::broadcast_shapes;
pub use element::Element;
pub use error::LayoutError;
pub use extents::Extents;
pub use index::IndexItem;
pub use inline::{Axes, INLINE_RANK};
pub use integer::Integer;
pub use meshgrid::{Indexing, meshgrid};
pub use order::Order;
pub use overlap::{Injectivity, Overlap};
pub use positions::AxisIter;
pub use slice::Slice;
pub use split::Split;
pub use value::Layout;

// For `devarray`, which requires exactly this version; not part of the interface.
#[doc(hidden)]
pub use axis::axis_index;
#[doc(hidden)]
pub use inside::check_inside;
#[doc(hidden)]
pub use integer::position;
#[doc(hidden)]
pub use list::List;
#[doc(hidden)]
pub use overlap::clears;
