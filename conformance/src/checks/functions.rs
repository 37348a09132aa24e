//! Functions of elements: each rule of their meaning, their reads and writes, and their order among
//! other work.
//!
//! Expected values come from Rust's standard library, from tables, or from the naive evaluator
//! here, never from core. One exception: `logaddexp` is a composition of `exp` and `log1p`, which are core's.

mod floats;
mod halves;
mod integers;
mod operands;
mod order;
mod philox;
mod random;
mod sizes;
mod value;

pub use super::programs::with_functions as programs;
pub use floats::{arithmetic, comparisons, elementary, extrema, nan, not_contracted};
pub use halves::halves;
pub use integers::{casts, division, integers, select, shifts, truth};
pub use operands::{broadcast, gaps, in_place, positions, scalars, strided};
pub use order::{failed, ordered, refused, strict};
pub use philox::philox;
pub use random::random;
pub use sizes::{blocks, empty, sixteen, tails};

pub(crate) use value::{half_bits, half_value};
