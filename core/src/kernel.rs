//! Kernels of the program's own: a declaration, a CUDA image, and a host function of the same
//! meaning.
//!
//! [`kernel!`](crate::kernel!) makes a type of them, whose function `launch` works on every device
//! that is [`Launch`](crate::backend::Launch): CUDA runs the image, the simulator the host
//! function. The [manual](crate::manual::_a_kernels) goes from the kernels of other libraries to
//! these.
//!
//! | argument | a call gives | the entry takes | the host function gets |
//! |---|---|---|---|
//! | `In<T>` | `&Array`, `&ArrayView`, `&SharedArray`, C-contiguous, of any shape | pointer, elements | `&[T]` |
//! | `In<T, Dense<N>>` | the same, of `N` axes | pointer, `N` extents | [`HostView`] |
//! | `In<T, Strided<N>>` | the same, of `N` axes and any strides | pointer, `N` extents, `N` strides | [`HostView`] |
//! | `Out<…>`, `InOut<…>` | `&mut Array`, `&mut ArrayViewMut` | as `In` | `&mut [T]`, [`HostViewMut`] |
//! | `T` | a number, or any other [`Element`](crate::Element) | the value | the value |
//!
//! Extents are 64-bit and count elements; strides are 64-bit, signed, and count elements; a pointer
//! is to the element at index (0, 0, …). Values of up to 4 KiB are parameters, which lie in
//! constant memory on CUDA: `[f32; 64]` is a table of 64 numbers that each launch may choose anew.

mod argument;
mod declaration;
mod error;
mod given;
mod grid;
mod host_view;
mod host_view_mut;
mod macros;
mod submit;

pub use argument::{Argument, Dense, Flat, Form, In, InOut, Out, Strided};
pub use declaration::{
    ArgumentDeclaration, ArgumentKind, Constant, Declaration, HostArgument, HostFunction, Image, ImageCode,
    Passed, Permission,
};
pub use error::KernelError;
pub use given::{Bound, Given};
pub use grid::Grid;
pub use host_view::HostView;
pub use host_view_mut::HostViewMut;
pub(crate) use submit::PassedAs;
#[doc(hidden)] // what the macro ends in
pub use submit::{Passing, submit};

use crate::{LayoutError, NdLayout as _, layout::Layout};

/// A kernel: made by [`kernel!`](crate::kernel!).
///
/// # Safety
///
/// As [`Declaration::new`] asks.
#[expect(unsafe_code, reason = "declares an unsafe trait")]
pub unsafe trait Kernel: 'static {
    /// What it takes, and what runs.
    fn declaration() -> &'static Declaration;
}

/// Refuses two arguments of different shapes; for the part of a kernel that says what is launched.
///
/// # Errors
///
/// [`LayoutError::ShapeMismatch`].
pub fn same_shape(expected: &Layout, found: &Layout) -> Result<(), LayoutError> {
    if expected.shape() == found.shape() {
        return Ok(());
    }
    let (expected, found) = (expected.shape().into(), found.shape().into());
    Err(LayoutError::ShapeMismatch { expected, found })
}

/// Refuses an argument of another number of elements; for the part of a kernel that says what is
/// launched.
///
/// # Errors
///
/// [`LayoutError::LengthMismatch`].
pub fn has_len(argument: &Layout, expected: usize) -> Result<(), LayoutError> {
    match argument.len() {
        found if found == expected => Ok(()),
        found => Err(LayoutError::LengthMismatch { expected, found }),
    }
}
