//! Golden cases: NumPy's results of a chain of steps, compared with a backend's; and results of
//! functions, and of calls of order.

pub mod calls;
mod case;
mod compare;
pub mod compute;
mod run;

pub use case::{Case, Elements, Expect, Found, Outcome};
pub use compare::differences;
pub use run::run_case;
