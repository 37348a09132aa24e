//! Stream programs: reading files of them, judging them on the simulator under many schedules, explaining mistakes.

mod explain;
mod hardware;
mod judge;
mod lines;

pub use explain::explain;
pub use hardware::on_hardware;
pub use judge::{Judged, judge};
pub use lines::Lines;
