//! Operations that programs use beyond the abilities of every device.

use std::fmt;

use devarray::{
    Device,
    backend::{Compute, Launch},
};

use super::{functions::Computing, kernels::Launching};

/// Operations that only some devices have, and that a program may use. An operation is left out if
/// its capability is not among these, or if the device does not declare it.
///
/// ```
/// use devarray_conformance::{Harness, programs::{Extras, Search}};
/// use devarray_mock::MockDevice;
///
/// let harness = Harness::new(|| Ok::<_, devarray::Error>(MockDevice::new())).with_cases(20);
/// Search::new().run_with(&harness, Extras::none().functions().kernels())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Extras<D: Device> {
    pub(super) computing: Option<Computing<D>>,
    pub(super) launching: Option<Launching<D>>,
}

impl<D: Device> Extras<D> {
    /// No extras.
    #[must_use]
    pub const fn none() -> Self {
        Self { computing: None, launching: None }
    }

    /// The laws that programs with these extras test.
    pub(super) fn laws(self) -> &'static str {
        match (self.computing.is_some(), self.launching.is_some()) {
            (false, false) => "programs::sequential (Q01)",
            (true, false) => "functions::programs (N30)",
            (false, true) => "kernels::programs (K10)",
            (true, true) => "functions::programs (N30), kernels::programs (K10)",
        }
    }

    /// The call that checks a program with these extras: the part up to the harness, and the part
    /// after it.
    pub(super) fn check(self) -> (&'static str, &'static str) {
        match (self.computing.is_some(), self.launching.is_some()) {
            (false, false) => ("check", ""),
            (true, false) => ("check_with", ", Extras::none().functions()"),
            (false, true) => ("check_with", ", Extras::none().kernels()"),
            (true, true) => ("check_with", ", Extras::none().functions().kernels()"),
        }
    }
}

impl<D: Compute> Extras<D> {
    /// Adds functions, reductions, gathers, scatters, order, sums by index, and products.
    #[must_use]
    pub fn functions(self) -> Self {
        Self { computing: Some(Computing::new()), ..self }
    }
}

impl<D: Launch> Extras<D> {
    /// Adds the program's own kernels.
    #[must_use]
    pub fn kernels(self) -> Self {
        Self { launching: Some(Launching::new()), ..self }
    }
}

impl<D: Device> Clone for Extras<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Extras<D> {}

impl<D: Device> fmt::Debug for Extras<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Extras");
        shown.field("functions", &self.computing.is_some());
        shown.field("kernels", &self.launching.is_some()).finish()
    }
}
