//! The output of `{:?}`: one short line on a value, without the objects that it keeps alive.

use std::fmt;

use crate::backend::Device;
pub(crate) use crate::type_name::type_name;

/// A device as errors and people name it: `mock:0`.
pub(crate) struct DeviceName<'d, D>(pub(crate) &'d D);

impl<D: Device> fmt::Display for DeviceName<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.0.info();
        write!(f, "{}:{}", info.backend, info.ordinal)
    }
}

impl<D: Device> fmt::Debug for DeviceName<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
