//! The backend in errors and descriptions.

/// Its name.
pub(crate) const BACKEND: &str = "mock";
