//! Golden cases of functions, reductions and scans.

mod case;
mod compare;
mod run;

pub use case::{ComputeCase, ComputeExpect, ComputeFound, ErrorKind, Failed, Input, Out, Scalar};
pub use compare::{differences, differences_of_backends};
pub(super) use compare::{differences_of_arrays, one_line};
pub use run::{ComputeOutcome, run_case};
pub(super) use run::{received, untouched};
