//! Traces: a run as the list of its choices.

use std::{fmt, str::FromStr};

/// The choices of one run in order: wherever the simulator could continue in several ways, the
/// number of the way that it took; 0 is the harmless way.
///
/// [`Schedule::Replay`](crate::Schedule::Replay) repeats the run. Choices past the end are 0, so
/// trailing zeros mean nothing, and a failing run becomes understandable by changing as many
/// choices as possible to 0.
///
/// A trace is written and read as numbers separated by dots: `0.0.2.0.1`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Trace(Vec<usize>);

impl Trace {
    /// The choices, in order.
    #[must_use]
    pub fn choices(&self) -> &[usize] {
        &self.0
    }

    pub(crate) fn push(&mut self, choice: usize) {
        self.0.push(choice);
    }
}

impl From<Vec<usize>> for Trace {
    fn from(choices: Vec<usize>) -> Self {
        Self(choices)
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, choice) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str(".")?;
            }
            write!(f, "{choice}")?;
        }
        Ok(())
    }
}

impl FromStr for Trace {
    type Err = ParseTraceError;

    fn from_str(text: &str) -> Result<Self, ParseTraceError> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let number = |part: &str| part.parse().map_err(|_| ParseTraceError { part: part.to_owned() });
        text.split('.').map(number).collect::<Result<_, _>>().map(Self)
    }
}

/// The error for a text that is not a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseTraceError {
    part: String,
}

impl fmt::Display for ParseTraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a trace is numbers with dots between, but {:?} is not a number", self.part)
    }
}

impl std::error::Error for ParseTraceError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for text in ["", "0", "0.0.2.0.1", "12.0"] {
            assert_eq!(text.parse::<Trace>().unwrap().to_string(), text);
        }
        let error = "0.x.1".parse::<Trace>().unwrap_err();
        assert_eq!(error.to_string(), "a trace is numbers with dots between, but \"x\" is not a number");
    }
}
