//! The destinations of results: standard output, which may be closed, and files, which appear whole
//! or not at all.

mod atomic;
mod one_line;
mod progress;
mod stdout;

pub use atomic::AtomicFile;
pub use one_line::one_line;
pub use progress::Progress;
pub(crate) use stdout::is_standard_output;
pub use stdout::{Closed, Output};
