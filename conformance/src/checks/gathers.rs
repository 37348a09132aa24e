//! Gathers and scatters: their elements, and their reports of indices out of range.
//!
//! `naive` computes the expected result, element by element, on lists in C order.

mod naive;
mod outlived;
mod picks;
mod puts;
mod selects;
mod told;

pub use outlived::outlived;
pub use picks::{along_axis, flat, rows, take};
pub use puts::{put, repeats};
pub use selects::select;
pub use told::{ordered, refused, told, waits};
