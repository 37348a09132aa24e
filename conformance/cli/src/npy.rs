//! NumPy's array file format: a header in Python's own syntax, then the elements in memory order.
//!
//! Elements are moved as bytes and the type description is kept as the text it was, so every element type of a known
//! size passes unchanged: byte order, field names, padding and all.

mod element_type;
mod error;
mod header;
mod literal;
mod read;
mod type_text;
mod write;

pub use element_type::{DtypeError, descr, element_type};
pub use error::NpyError;
pub use header::Header;
pub use read::{ArrayReader, read};
pub use write::{write, write_header};
