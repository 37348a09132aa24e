//! Reasons of a kernel itself to refuse a launch.

use std::fmt;

use super::KernelError;
use crate::{Error, layout::LayoutError};

/// The reason why a kernel's block `launch` refuses. `?` makes it from a [`KernelError`], a
/// [`LayoutError`] or an [`Error`].
///
/// ```
/// use devarray::kernel::{Grid, Image, KernelError, Out};
///
/// devarray::kernel! {
///     struct Fill(to: Out<f32>, value: f32);
///     image = Image::none();
///     launch {
///         if value.is_nan() {
///             return Err(KernelError::Refused { reason: "`value` is no number".into() }.into());
///         }
///         Grid::elements(to.len(), 256)
///     }
///     host { to.fill(value) }
/// }
/// ```
pub struct Refusal(Of);

enum Of {
    Kernel(KernelError),
    Other(Error),
}

impl Refusal {
    /// Makes the error of the launch.
    pub(crate) fn of(self, backend: &'static str, kernel: &'static str) -> Error {
        match self.0 {
            Of::Kernel(error) => Error::Kernel { backend, kernel, error },
            Of::Other(error) => error,
        }
    }
}

impl From<KernelError> for Refusal {
    fn from(error: KernelError) -> Self {
        Self(Of::Kernel(error))
    }
}

impl From<LayoutError> for Refusal {
    fn from(error: LayoutError) -> Self {
        Self(Of::Other(error.into()))
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self(Of::Other(error))
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Of::Kernel(error) => fmt::Debug::fmt(error, f),
            Of::Other(error) => fmt::Debug::fmt(error, f),
        }
    }
}

/// Refuses a launch unless `holds` is true. The reason is the text of the error, after the name of
/// the kernel.
///
/// # Errors
///
/// [`KernelError::Refused`].
pub fn ensure(holds: bool, reason: impl FnOnce() -> String) -> Result<(), KernelError> {
    if holds { Ok(()) } else { Err(KernelError::Refused { reason: reason() }) }
}
