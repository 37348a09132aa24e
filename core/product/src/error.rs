//! What is wrong with the shapes of a product.

use std::fmt;

/// Shapes that have no product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductError {
    message: String,
}

impl ProductError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl fmt::Display for ProductError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ProductError {}
