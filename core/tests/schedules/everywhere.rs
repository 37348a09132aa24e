//! Every schedule of the simulator, for programs that must be right under all of them.

use devarray::Context;
use devarray_mock::{Builder, MockDevice, Schedule};

/// The fixed schedules and some random ones; each is a builder for further options.
fn schedules() -> impl Iterator<Item = Builder> {
    let fixed = [Schedule::Eager, Schedule::Lazy, Schedule::ReverseLazy];
    let fixed = fixed.into_iter().map(|schedule| MockDevice::builder().schedule(schedule));
    fixed.chain((0..30).map(|seed| MockDevice::builder().schedule(Schedule::Random).seed(seed)))
}

/// Runs on every schedule, on devices of `memory_bytes`; there must be no leak and no finding.
pub(crate) fn everywhere(memory_bytes: usize, program: impl Fn(&Context<MockDevice>)) {
    for builder in schedules() {
        let device = builder.memory_limit_bytes(memory_bytes).build();
        let context = Context::new(device.clone()).unwrap();
        program(&context);
        assert_eq!(context.take_errors(), []);
        drop(context);
        assert!(device.report().is_clean(), "{}", device.report());
    }
}
