//! Reductions and scans: their values, for elements of any layout.
//!
//! Sums of floats are compared with the order of additions that `devarray::function::Combine`
//! describes, written out in `naive`.

mod naive;
mod rules;
mod sums;

pub(in crate::checks) use naive::total;
pub use rules::{axes, empty, extrema, gaps, integers, ordered, places, truth};
pub use sums::{halves, layouts, mean, running, sums};
