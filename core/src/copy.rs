//! For authors of backends: from a pair of layouts to the bytes to move, pure, no memory, no backend. The page
//! [`devarray_layout::copy`] says how.

#[doc(inline)]
pub use devarray_layout::copy::{Axis, Blocks, Class, Limits, Plan, Runs, copy_bytes, execute};
pub(crate) use devarray_layout::copy::{PAGE_BYTES, execute_pages};
#[doc(hidden)]
pub use devarray_layout::copy::{copy_streaming, execute_past_caches};
