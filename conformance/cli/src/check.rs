//! The conformance suite run on a backend: outcomes, and reports of them.

mod outcome;
mod report;

pub use outcome::{Candidate, Checked, Found, Run, Tally, check};
pub use report::{Format, Report, write};
