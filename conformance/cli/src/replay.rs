//! Stream programs: reads files of them, judges them on the simulator under many schedules,
//! explains mistakes, and draws timelines.

mod explain;
mod hardware;
mod judge;
mod lines;
mod trace;

pub use explain::{explain, lints};
pub use hardware::{on_hardware, traced_on_hardware};
pub use judge::{Judged, Tries, judge};
pub use lines::Lines;
pub use trace::traced_on_mock;
