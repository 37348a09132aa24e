//! Golden cases of functions, reductions and scans.

mod case;
mod compare;
mod run;

pub use case::{ComputeCase, ComputeExpect, ComputeFound, ErrorKind, Failed, Input, Out, Scalar};
pub use compare::{differences, differences_of_backends};
pub use run::{ComputeOutcome, run_case};
