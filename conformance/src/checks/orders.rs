//! Order, search, counts and sums by index.
//!
//! `naive` computes the expected results, element by element, on lists in C order.

mod combined;
mod counted;
mod naive;
mod sorted;
mod sparse;
mod told;

pub use combined::{put, segments, sums};
pub use counted::{counts, rows, searches};
pub use sorted::{quantiles, sort, top};
pub use sparse::sparse;
pub use told::{ordered, refused, told};
