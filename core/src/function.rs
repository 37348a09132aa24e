//! Functions on arrays: one small typed language, one meaning to the bit on every backend.

mod element_type;
pub mod primitive;

pub use element_type::ElementType;
