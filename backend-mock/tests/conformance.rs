//! The simulator keeps every law, under each fixed schedule and several random ones.

use devarray::Result;
use devarray_mock::{MockDevice, Schedule};

#[expect(clippy::unnecessary_wraps, reason = "a suite opens devices that may not open")]
fn device(schedule: Schedule) -> Result<MockDevice> {
    Ok(MockDevice::builder().schedule(schedule).seed(1).memory_limit_bytes(64 << 20).build())
}

mod eager {
    use super::*;
    devarray_conformance::suite!(
        device(Schedule::Eager),
        second = device(Schedule::Eager),
        extras = [timing, registered, mapped, managed, foreign, pool]
    );
}

mod lazy {
    use super::*;
    devarray_conformance::suite!(
        device(Schedule::Lazy),
        second = device(Schedule::Lazy),
        extras = [timing, registered, mapped, managed, foreign, pool]
    );
}

mod reverse_lazy {
    use super::*;
    devarray_conformance::suite!(
        device(Schedule::ReverseLazy),
        second = device(Schedule::ReverseLazy),
        extras = [timing, registered, mapped, managed, foreign, pool]
    );
}

mod random {
    use super::*;
    devarray_conformance::suite!(
        device(Schedule::Random),
        second = device(Schedule::Random),
        extras = [timing, registered, mapped, managed, foreign, pool]
    );
}

/// Extras that a device does not declare are refused by name.
mod without_extras {
    use devarray::backend::Capabilities;

    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "a suite opens devices that may not open")]
    fn plain() -> Result<MockDevice> {
        Ok(MockDevice::builder().capabilities(Capabilities::default()).memory_limit_bytes(64 << 20).build())
    }

    devarray_conformance::suite!(plain(), extras = [timing, registered, mapped, managed, foreign, pool]);
}
