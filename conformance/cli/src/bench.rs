//! Measurements: cases, the oracle that their results are compared with, and clocks.

mod beside;
mod builtin;
mod call_case;
mod call_data;
mod case;
mod compute_case;
mod compute_list;
mod cuda;
mod line;
mod measure;
mod numbers;
mod oracle;
mod pattern;
mod target;
mod untracked;
mod windows;

pub use beside::{beside_memcpy, cold_sets};
pub use builtin::BUILTIN;
pub use call_case::CallMeasured;
pub use call_data::call_input;
pub use case::{Case, CaseError};
pub use compute_case::{ComputeCase, ComputeInput};
pub use compute_list::{ListSize, SMALL, SmallResult, compute_list};
pub use line::{CallLine, ComputeLine, Line, Row, Table};
pub use measure::{Seconds, Work, interleaved, median, repeated};
pub use numbers::Numbers;
pub use oracle::Oracle;
pub use pattern::Pattern;
pub use target::{RawCalls, Reference, Target};
pub use untracked::UntrackedCopy;
pub use windows::windows;
