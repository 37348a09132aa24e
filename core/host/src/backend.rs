//! The backend's name.

/// The name in errors and in the device's information.
pub(crate) const BACKEND: &str = "host";
