//! Golden cases of order, search, counts and sums by index.

mod case;
mod compare;
mod run;

pub use case::{CallCase, CallExpect, CallFound};
pub use compare::{differences, differences_of_backends};
pub use run::{CallOutcome, run_case};
