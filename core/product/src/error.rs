//! Mistakes in the operands of a product.

use std::fmt;

/// The kind of a mistake in a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProductErrorKind {
    /// Elements of this type have no products.
    Type,
    /// The shapes do not fit together.
    Shape,
}

/// The operands have no product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductError {
    kind: ProductErrorKind,
    message: String,
}

impl ProductError {
    /// Makes a mistake, with its message.
    pub fn new(kind: ProductErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The kind of the mistake.
    #[must_use]
    pub fn kind(&self) -> ProductErrorKind {
        self.kind
    }
}

impl fmt::Display for ProductError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ProductError {}
