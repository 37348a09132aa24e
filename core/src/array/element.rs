//! What an array may hold.

use bytemuck::Pod;

/// A type whose values are their bytes: any [`Pod`] that is not zero-sized.
///
/// Numbers, `half` and `num-complex` types, arrays of them, and `#[repr(C)]` structs that derive [`Pod`]. Not `bool`,
/// which has invalid bytes: a device could write them. [`Bool`](super::Bool) takes its place.
pub trait Element: Pod + Send + Sync {
    /// Bytes of one element. A zero-sized element has no stride: using it does not compile.
    const BYTES: usize = {
        assert!(size_of::<Self>() > 0, "an element of zero bytes has no stride");
        size_of::<Self>()
    };
}

impl<T: Pod + Send + Sync> Element for T {}
