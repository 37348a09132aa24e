//! Variables of loaded modules.
#![allow(unsafe_code)] // declares an unsafe trait; performs no unsafe operation

use std::{fmt::Debug, ops::Range};

use super::Device;
use crate::Result;

/// Constant memory, and other variables, of modules: the capability
/// [`DeviceSymbols`](super::Capability::DeviceSymbols).
///
/// # For callers
///
/// Programs call [`Context::load_module`](crate::Context::load_module).
///
/// # Safety
///
/// Like [`Device`]. [`symbol`](Self::symbol) answers memory of the module that copies may
/// read and write, until the module is dropped.
#[diagnostic::on_unimplemented(
    message = "the device `{Self}` has no modules and symbols",
    label = "not a `DeviceSymbols`",
    note = "a backend that can implements `backend::DeviceSymbols`; code that needs it takes `D: DeviceSymbols`"
)]
pub unsafe trait DeviceSymbols: Device {
    /// A loaded module. Dropping it unloads it; core drops it when no operation uses its memory any
    /// more.
    type Module: Debug + Send + Sync + 'static;

    /// Loads a module. May block.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::Error::Unsupported): the device does not have the capability.
    /// - Any device error of the image.
    ///
    /// # Safety
    ///
    /// The image is a whole one, in a form that the device knows.
    unsafe fn load_module(&self, image: &[u8]) -> Result<Self::Module>;

    /// Address and bytes of a variable.
    ///
    /// # Errors
    ///
    /// [`Handle`](crate::Error::Handle): the module has none of this name. Any other device
    /// error.
    fn symbol(&self, module: &Self::Module, name: &str) -> Result<(u64, usize)>;

    /// A buffer that starts at the address `start`, a multiple of 256. Its bytes `bytes` are a
    /// variable of the module. Nothing else of it is used, and it is never given to
    /// [`Stream::free`](super::Stream::free).
    ///
    /// # Errors
    ///
    /// Any device error.
    fn symbol_buffer(&self, module: &Self::Module, start: u64, bytes: Range<usize>) -> Result<Self::Buffer>;
}
