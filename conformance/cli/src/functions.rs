//! Functions on the command line: the calls on their elements, their scalars, and their mistakes.

mod call;
mod check;
mod dtype;
mod mistake;
mod of_elements;
mod scalars;
mod whole;

pub use call::{Call, with_views};
pub use check::{broadcast, check};
pub use dtype::{DtypeError, descr, element_type};
pub use mistake::{Mistake, parsed};
pub use of_elements::OfElements;
pub use scalars::parse_scalars;
pub use whole::Whole;
