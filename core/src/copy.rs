//! Plans of copies, for authors of backends: from two layouts to the bytes to move. The functions are pure,
//! and need no memory and no backend. The page [`devarray_layout::copy`] describes them.

#[doc(inline)]
pub use devarray_layout::copy::{Axis, Blocks, Class, Limits, Plan, Runs, copy_bytes, execute};
pub(crate) use devarray_layout::copy::{PAGE_BYTES, execute_pages};
#[doc(hidden)]
pub use devarray_layout::copy::{copy_streaming, execute_past_caches};
