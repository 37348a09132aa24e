//! Measuring: cases, the oracle their results are compared with, and clocks.

mod beside;
mod builtin;
mod case;
mod cuda;
mod line;
mod measure;
mod oracle;
mod pattern;
mod target;
mod untracked;

pub use beside::{beside_memcpy, cold_sets};
pub use builtin::BUILTIN;
pub use case::{Case, CaseError};
pub use line::{Line, Table};
pub use measure::{Seconds, Work, interleaved, median, repeated};
pub use oracle::Oracle;
pub use pattern::Pattern;
pub use target::{RawCalls, Reference, Target};
pub use untracked::UntrackedCopy;
