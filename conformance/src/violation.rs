//! The result of a check.

use std::fmt;

use devarray::{Error, LayoutError};

/// A law that a backend broke, and the difference.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The code of the law, such as `"S03"`.
    pub law: &'static str,
    /// The value that was found, and the expected one.
    pub message: String,
}

/// The outcome of a check: a violation is returned, and does not panic.
pub type Outcome = Result<(), Violation>;

impl Violation {
    /// The value that was found and the expected one; [`Law::check`](crate::Law::check) adds the
    /// code.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { law: "", message: message.into() }
    }

    /// Returns this violation with the code of its law.
    pub(crate) fn of_law(self, law: &'static str) -> Self {
        Self { law, ..self }
    }
}

impl From<Error> for Violation {
    /// A call that should have succeeded failed.
    fn from(error: Error) -> Self {
        Self::new(format!("an operation that must succeed failed: {error}"))
    }
}

impl From<LayoutError> for Violation {
    /// A view that should have existed was refused.
    fn from(error: LayoutError) -> Self {
        Error::from(error).into()
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.law, self.message)
    }
}

impl std::error::Error for Violation {}

/// `Ok` if `kept`, else a violation with this message.
///
/// # Errors
///
/// The message.
pub(crate) fn ensure(kept: bool, message: impl FnOnce() -> String) -> Outcome {
    if kept { Ok(()) } else { Err(Violation::new(message())) }
}

/// `Ok` if both lists are equal, else a violation that shows the first difference.
///
/// # Errors
///
/// The difference, if there is one.
pub(crate) fn same<T: PartialEq + fmt::Debug>(found: &[T], due: &[T], what: &str) -> Outcome {
    ensure(found.len() == due.len(), || format!("{what}: {} elements, {} are due", found.len(), due.len()))?;
    let Some(at) = found.iter().zip(due).position(|(a, b)| a != b) else { return Ok(()) };
    let wrong = found.iter().zip(due).filter(|(a, b)| a != b).count();
    let (a, b) = (&found[at], &due[at]);
    Err(Violation::new(format!(
        "{what}: element {at} is {a:?}, {b:?} is due; {wrong} of {} differ",
        due.len()
    )))
}
