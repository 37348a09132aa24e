//! The backend's name.

/// As errors and devices say it.
pub(crate) const BACKEND: &str = "host";
