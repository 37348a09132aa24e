//! Elements by index: which are picked, which are put, and who is told of an index out of range.
//!
//! What is due is worked out by `naive`, element by element, on lists in C order.

mod naive;
mod picks;
mod puts;
mod selects;
mod told;

pub use picks::{along_axis, flat, rows, take};
pub use puts::{put, repeats};
pub use selects::select;
pub use told::{ordered, refused, told, waits};
