//! The program's own kernels, for programs that have CUDA code: a declaration, a CUDA image, and a
//! host function of the same meaning.
//!
//! [`kernel!`](crate::kernel!) makes a type of the three. Its function `launch` works on every
//! device that implements [`Launch`](crate::backend::Launch): CUDA runs the image; the CPU and the
//! simulator run the host function. The [manual](crate::manual::_a_kernels) shows how to port kernels of
//! other libraries.
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
//! points to the element at index (0, 0, …). Values of up to 4 KiB are parameters, which CUDA keeps
//! in constant memory: `[f32; 64]` is a table of 64 numbers that each launch may choose anew.

mod argument;
mod argument_layout;
mod bound;
mod declaration;
mod error;
mod grid;
mod host_view;
mod host_view_mut;
mod macros;
mod passes_as;
mod passing;
mod refusal;
mod running;
mod submit;

pub use argument::{Argument, Dense, Flat, Form, In, InOut, Out, Strided};
pub use argument_layout::{ArgumentLayout, has_len, same_shape};
pub use bound::Bound;
pub use declaration::{
    ArgumentDeclaration, ArgumentKind, Constant, Declaration, HostArgument, HostFunction, Image, ImageCode,
    Passed, Permission,
};
pub use error::KernelError;
pub use grid::Grid;
pub use host_view::HostView;
pub use host_view_mut::HostViewMut;
pub use passes_as::PassesAs;
pub(crate) use passing::PassedAs;
#[doc(hidden)] // used by the expansion of the macro
pub use passing::Passing;
pub use refusal::{Refusal, ensure};
#[doc(hidden)] // used by the macro around a host function
pub use running::Running;
#[doc(hidden)] // where the macro's expansion ends
pub use submit::{GridOf, host_argument, submit};

/// A kernel. [`kernel!`](crate::kernel!) implements it.
///
/// # Safety
///
/// The conditions of [`Declaration::new`]. Each call returns the same declaration.
#[expect(unsafe_code, reason = "declares an unsafe trait")]
pub unsafe trait Kernel: 'static {
    /// The arguments and the code of the kernel. Each call returns the same.
    fn declaration() -> &'static Declaration;
}
