//! The name of the backend in errors and descriptions.

/// The name.
pub(crate) const BACKEND: &str = "mock";
