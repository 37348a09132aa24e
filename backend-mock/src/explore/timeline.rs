//! The timeline of a wrong run.

use std::panic::{AssertUnwindSafe, catch_unwind};

use devarray::timeline::Timeline;

use super::{Explore, Failure};
use crate::{MockDevice, Schedule, panics};

impl Explore {
    /// The timeline of a wrong run, with the mistake marked: runs the program once more, with the
    /// choices and failures of that run.
    ///
    /// ```
    /// use devarray::{Array, Context};
    /// use devarray_mock::{Explore, MockDevice};
    ///
    /// let program = |device: MockDevice| {
    ///     let stream = Context::new(device).unwrap().stream().unwrap();
    ///     let _array = Array::full(&stream, &[8], 1_u8).unwrap();
    ///     assert!(stream.record().unwrap().query().unwrap(), "surely it is done by now");
    /// };
    /// let explore = Explore::new().schedules(20);
    /// let failure = explore.run(program).unwrap_err();
    /// let mut trace = Vec::new(); // or a file, for Perfetto
    /// explore.timeline(&failure, program).write_json(&mut trace)?;
    /// # assert!(trace.len() > 1000);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn timeline<R>(&self, failure: &Failure, program: impl Fn(MockDevice) -> R) -> Timeline {
        let explore = self.clone().faults((*failure.plan).clone());
        let options = explore.options(Schedule::Replay(failure.trace.clone()), 0);
        let device = options.builder().record_timeline(true).build();
        // The program may panic, as in any run; the timeline is to show that.
        let ended = panics::quietly(|| catch_unwind(AssertUnwindSafe(|| drop(program(device.clone())))));
        let _ = ended.map_err(panics::message);
        device.finish();
        device.timeline().unwrap_or_default()
    }
}
