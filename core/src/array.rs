//! Arrays and views, for every program. Each is a layout on an allocation; one implementation
//! serves every backend.
//!
//! | | owns its memory | borrowed, to read | borrowed, to write |
//! |---|---|---|---|
//! | typed | [`Array`] | [`ArrayView`] | [`ArrayViewMut`] |
//! | erased: an element is a number of bytes | [`ErasedArray`] | [`ErasedView`] | [`ErasedViewMut`] |
//!
//! The typed forms are thin shells: all work happens once, in the erased ones. Elements lie in
//! device memory and never behind a Rust reference, so there is no `Deref` and no indexing;
//! elements leave the device as copies.
//!
//! A view borrows its array: any number of reading views, or one writing view. Parts of a split
//! view are disjoint. So the borrow checker sees every conflict within a program; streams decide
//! *when* operations run.

mod axis_copies;
mod byte_io;
mod bytes;
mod checks;
mod compress;
mod compute;
mod contiguous;
mod copy_within;
mod creation;
mod destination;
mod device_call;
mod device_function;
mod download;
mod erased;
mod erased_view;
mod erased_view_mut;
mod field;
mod gather;
mod gather_layouts;
mod indices;
#[cfg(feature = "ndarray")]
mod interop_ndarray;
mod iterate;
mod join;
mod mapped;
mod margins;
mod masked;
mod meshgrid;
mod normalized;
mod operand;
mod operands;
mod orders;
mod pad;
mod products;
mod put;
mod records;
mod reduce;
mod reduce_item;
mod reduce_methods;
mod reduce_methods_as;
mod reduced;
mod reinterpret;
mod repeat;
mod reshaped;
mod selection;
mod shape_methods;
mod shared;
mod source;
mod split;
mod split_fields;
mod transforms;
mod try_clone;
mod typed;
mod typed_view;
mod typed_view_mut;
mod view_of;
mod written;

#[doc(inline)]
pub use crate::layout::{Bool, Element};
pub use byte_io::{ByteReader, ByteWriter};
pub use bytes::{ByteView, ByteViewMut};
pub(crate) use checks::check_count;
pub use destination::{AsArrayViewMut, AsErasedViewMut};
pub use device_call::DeviceCall;
pub use device_function::DeviceFunction;
pub use erased::ErasedArray;
pub use erased_view::ErasedView;
pub use erased_view_mut::ErasedViewMut;
pub use field::{Field, FieldItems, FieldOf};
pub use iterate::AxisViews;
pub(crate) use normalized::Normalization;
pub use operand::{Call, Operand};
pub use operands::Operands;
pub use orders::Unique;
pub(crate) use orders::{ReadIndices, first, typed};
pub use pad::Pad;
pub use reduce_methods::{ReducedAxes, Summable};
pub use reshaped::Reshaped;
pub(crate) use shape_methods::shape_methods;
pub use shared::SharedArray;
pub use source::{AsArrayView, ViewRef};
pub use split::Parts;
pub use split_fields::Fields;
pub(crate) use transforms::{
    answer_as_layout, array_transforms, view_broadcasts, view_splits, view_transforms,
};
pub use typed::Array;
pub use typed_view::ArrayView;
pub use typed_view_mut::ArrayViewMut;
