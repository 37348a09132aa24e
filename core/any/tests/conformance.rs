//! A device chosen at run time keeps every law that its backend keeps.

/// The simulator behind `AnyDevice`, with its queue and its judge.
mod mock {
    use std::cell::RefCell;

    use devarray::Result;
    use devarray_any::AnyDevice;
    use devarray_mock::{MockDevice, Schedule};

    thread_local! {
        /// The device that this thread opened last.
        static LAST: RefCell<Option<MockDevice>> = const { RefCell::new(None) };
    }

    #[expect(clippy::unnecessary_wraps, reason = "a suite opens devices that may not open")]
    fn device() -> Result<AnyDevice> {
        let device =
            MockDevice::builder().schedule(Schedule::Random).seed(1).memory_limit_bytes(64 << 20).build();
        LAST.set(Some(device.clone()));
        Ok(device.into())
    }

    /// Another device of the machine on which a law just opened the first device.
    #[expect(clippy::unnecessary_wraps, reason = "a suite opens devices that may not open")]
    fn sibling() -> Result<AnyDevice> {
        Ok(LAST.with_borrow(|last| last.as_ref().map_or_else(MockDevice::new, MockDevice::sibling)).into())
    }

    devarray_conformance::suite!(
        device(),
        second = sibling(),
        extras = [
            timing, registered, mapped, managed, foreign, peer, ipc, pool, functions, reductions, gathers,
            orders, products, recordings, kernels, ranks
        ]
    );
}

/// The CPU behind `AnyDevice`, whose operations run inside the call.
mod host {
    use devarray::Result;
    use devarray_any::AnyDevice;
    use devarray_host::HostDevice;

    #[expect(clippy::unnecessary_wraps, reason = "a suite opens devices that may not open")]
    fn device() -> Result<AnyDevice> {
        Ok(HostDevice::builder().capacity_bytes(256 << 20).threads(2).build().into())
    }

    devarray_conformance::suite!(
        device(),
        second = device(),
        extras = [
            timing, registered, mapped, managed, foreign, peer, ipc, pool, functions, reductions, gathers,
            orders, products, recordings, kernels, ranks
        ]
    );
}

/// Two devices of two backends: neither reaches the other's memory, and copies go through host
/// memory.
mod two_backends {
    use devarray::Result;
    use devarray_any::AnyDevice;
    use devarray_host::HostDevice;
    use devarray_mock::MockDevice;

    #[expect(clippy::unnecessary_wraps, reason = "a suite opens devices that may not open")]
    fn device() -> Result<AnyDevice> {
        Ok(MockDevice::builder().memory_limit_bytes(64 << 20).build().into())
    }

    #[expect(clippy::unnecessary_wraps, reason = "a suite opens devices that may not open")]
    fn second() -> Result<AnyDevice> {
        Ok(HostDevice::builder().capacity_bytes(256 << 20).threads(1).build().into())
    }

    devarray_conformance::suite!(device(), second = second(), extras = [peer, ipc]);
}
