//! Every schedule of the simulator, for programs that must be right under all of them.

use devarray::Context;
use devarray_mock::{Builder, MockDevice, Schedule};

/// The fixed schedules and some random ones, each as options to add to.
fn schedules() -> impl Iterator<Item = Builder> {
    let fixed = [Schedule::Eager, Schedule::Lazy, Schedule::ReverseLazy];
    let fixed = fixed.into_iter().map(|schedule| MockDevice::builder().schedule(schedule));
    fixed.chain((0..30).map(|seed| MockDevice::builder().schedule(Schedule::Random).seed(seed)))
}

/// Runs on every schedule, on devices of `memory_bytes`; nothing may leak and nothing may be found.
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
