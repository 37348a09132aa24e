#![doc = include_str!("../README.md")]

mod allocation;
pub mod array;
pub mod backend;
pub mod collective;
pub mod compare;
mod context;
pub mod copy;
mod debug_text;
mod deferred_drop;
mod error;
pub mod foreign;
pub mod function;
pub mod gather;
mod hazards;
pub mod host;
pub mod host_array;
pub mod ipc;
pub mod kernel;
pub mod layout;
mod lock;
pub mod manual;
pub mod math;
pub mod memory;
mod module;
#[cfg(feature = "npy")]
pub mod npy;
mod operations;
pub mod order;
mod peer;
mod pinned_pool;
pub mod prelude;
pub mod processes;
pub mod product;
pub mod random;
pub mod recorded;
#[cfg(feature = "serde")]
mod serialize;
mod staging;
mod statistics;
mod stream;
#[cfg(feature = "timeline")]
pub mod timeline;
mod timing;
mod type_name;
mod unified;

// The public interface is:
pub use array::{
    Array, ArrayView, ArrayViewMut, Bool, Element, ErasedArray, ErasedView, ErasedViewMut, Pad, Reshaped,
    SharedArray,
};
pub use backend::{Compute, Device};
pub use context::Context;
pub use devarray_layout::ix;
pub use error::{CallSite, Error, Result};
pub use hazards::Hazard;
pub use host::{PinnedArray, PinnedBuffer, Scope, Transfer, TransferError};
pub use host_array::HostArray;
pub use layout::{Axes, IndexItem, Layout, LayoutError, NdLayout, Order};
pub use module::{Module, Symbol};
pub use peer::Crossing;
pub use pinned_pool::{HostMemoryStatistics, PinnedLimits};
pub use recorded::Recording;
pub use statistics::Statistics;
pub use stream::{EventHandle, StreamHandle};
pub use timing::TimedEvent;
pub use unified::{ManagedArray, MappedArray};
