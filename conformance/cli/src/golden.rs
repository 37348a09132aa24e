//! Golden cases: what NumPy gave for a chain of steps, and whether a backend gives the same; and
//! what functions give, and calls of order.

pub mod calls;
mod case;
mod compare;
pub mod compute;
mod run;

pub use case::{Case, Elements, Expect, Found, Outcome};
pub use compare::differences;
pub use run::run_case;
