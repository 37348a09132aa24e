//! The simulator keeps every law, under each fixed schedule and several random ones.

use std::cell::RefCell;

use devarray::Result;
use devarray_mock::{MockDevice, Schedule};

thread_local! {
    /// The device that this thread opened last.
    static LAST: RefCell<Option<MockDevice>> = const { RefCell::new(None) };
}

#[expect(clippy::unnecessary_wraps, reason = "a suite opens devices that may not open")]
fn device(schedule: Schedule) -> Result<MockDevice> {
    let device = MockDevice::builder().schedule(schedule).seed(1).memory_limit_bytes(64 << 20).build();
    LAST.set(Some(device.clone()));
    Ok(device)
}

/// Opens another device of the machine whose first device a law has just opened.
#[expect(clippy::unnecessary_wraps, reason = "a suite opens devices that may not open")]
fn sibling() -> Result<MockDevice> {
    Ok(LAST.with_borrow(|last| last.as_ref().map_or_else(MockDevice::new, MockDevice::sibling)))
}

mod eager {
    use super::*;
    devarray_conformance::suite!(
        device(Schedule::Eager),
        second = sibling(),
        extras = [
            timing, registered, mapped, managed, foreign, peer, ipc, pool, functions, reductions, gathers,
            orders, products, recordings, kernels, ranks
        ]
    );
}

mod lazy {
    use super::*;
    devarray_conformance::suite!(
        device(Schedule::Lazy),
        second = sibling(),
        extras = [
            timing, registered, mapped, managed, foreign, peer, ipc, pool, functions, reductions, gathers,
            orders, products, recordings, kernels, ranks
        ]
    );
}

mod reverse_lazy {
    use super::*;
    devarray_conformance::suite!(
        device(Schedule::ReverseLazy),
        second = sibling(),
        extras = [
            timing, registered, mapped, managed, foreign, peer, ipc, pool, functions, reductions, gathers,
            orders, products, recordings, kernels, ranks
        ]
    );
}

mod random {
    use super::*;
    devarray_conformance::suite!(
        device(Schedule::Random),
        second = sibling(),
        extras = [
            timing, registered, mapped, managed, foreign, peer, ipc, pool, functions, reductions, gathers,
            orders, products, recordings, kernels, ranks
        ]
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

    devarray_conformance::suite!(
        plain(),
        extras = [
            timing, registered, mapped, managed, foreign, peer, ipc, pool, functions, reductions, gathers,
            orders, products, recordings, kernels, ranks
        ]
    );
}

/// The second device is the first device, seen by another process.
mod another_process {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "a suite opens devices that may not open")]
    fn other_process() -> Result<MockDevice> {
        Ok(LAST.with_borrow(|last| last.as_ref().map_or_else(MockDevice::new, MockDevice::other_process)))
    }

    devarray_conformance::suite!(
        device(Schedule::Lazy),
        second = other_process(),
        extras = [
            timing, registered, mapped, managed, foreign, peer, ipc, pool, functions, reductions, gathers,
            orders, products, recordings, kernels, ranks
        ]
    );
}
