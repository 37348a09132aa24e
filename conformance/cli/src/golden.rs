//! Golden cases: NumPy's results for a chain of steps, for functions, and for order calls, which
//! are compared with a backend's.

pub mod calls;
mod case;
mod compare;
pub mod compute;
mod run;

pub use case::{Case, Elements, Expect, Found, Outcome};
pub use compare::differences;
pub use run::run_case;
