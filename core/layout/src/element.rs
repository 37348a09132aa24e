//! Elements of arrays.

use bytemuck::Pod;

/// A type whose values are their bytes: any [`Pod`] type that is not zero-sized.
///
/// Numbers, `half` and `num-complex` types, arrays of them, and `#[repr(C)]` structs that derive
/// [`Pod`]. `bool` is not one, because a device could write bytes that are invalid for it.
/// [`Bool`](super::Bool) takes its place.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of an array",
    label = "not an `Element`",
    note = "an element is a type whose values are their bytes: numbers, arrays of them, and `#[repr(C)]` structs that derive `bytemuck::Pod`",
    note = "for truth values use `devarray::Bool`: of the 256 values of a byte `bool` allows two, and a device could write any"
)]
pub trait Element: Pod + Send + Sync {
    /// Bytes of one element. A zero-sized element would have no stride, so using one does not
    /// compile.
    const BYTES: usize = {
        assert!(size_of::<Self>() > 0, "an element of zero bytes has no stride");
        size_of::<Self>()
    };
}

#[diagnostic::do_not_recommend]
impl<T: Pod + Send + Sync> Element for T {}
