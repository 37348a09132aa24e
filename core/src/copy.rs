//! From a pair of layouts to the bytes to move: pure, no memory, no backend.
//!
//! ```text
//! (destination, source, element size)
//!   → pair:  drop unit axes, sort by destination stride, flip axes negative on both sides, merge contiguous axes
//!   → class: empty · linear · pitched 2-D · pitched 3-D · batched · transpose · broadcast · gather
//!   → runs:  (source, destination, length), the reference every class is proven against
//! ```

mod plan;

pub use plan::{Axis, Class, Plan};
