//! The error for a text that is no program.

use std::fmt;

/// The error for a line that is no program: the field, and the mistake in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseProgramError {
    field: String,
    cause: String,
}

impl ParseProgramError {
    pub(super) fn new(field: impl Into<String>, cause: impl Into<String>) -> Self {
        Self { field: field.into(), cause: cause.into() }
    }
}

impl fmt::Display for ParseProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field.as_str() {
            "" | "." => f.write_str(&self.cause),
            field => write!(f, "{field}: {}", self.cause),
        }
    }
}

impl std::error::Error for ParseProgramError {}
