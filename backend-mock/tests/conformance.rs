//! The simulator keeps every law, under each fixed schedule and several random ones.

use devarray::Result;
use devarray_mock::{MockDevice, Schedule};

#[expect(clippy::unnecessary_wraps, reason = "a suite opens devices that may not open")]
fn device(schedule: Schedule) -> Result<MockDevice> {
    Ok(MockDevice::builder().schedule(schedule).seed(1).memory_limit_bytes(64 << 20).build())
}

mod eager {
    use super::*;
    devarray_conformance::suite!(device(Schedule::Eager));
}

mod lazy {
    use super::*;
    devarray_conformance::suite!(device(Schedule::Lazy));
}

mod reverse_lazy {
    use super::*;
    devarray_conformance::suite!(device(Schedule::ReverseLazy));
}

mod random {
    use super::*;
    devarray_conformance::suite!(device(Schedule::Random));
}
