//! Functions on arrays: one small typed language, one meaning to the bit on every backend.

#[allow(dead_code, reason = "programs are traced by the expansion")]
mod arithmetic;
mod element_type;
pub mod elementary;
pub mod primitive;

pub use element_type::ElementType;
