//! The CPU keeps every law, with helping threads and without.

use devarray::Result;
use devarray_host::HostDevice;

#[expect(clippy::unnecessary_wraps, reason = "a suite opens devices that may not open")]
fn device(threads: usize) -> Result<HostDevice> {
    Ok(HostDevice::builder().capacity_bytes(256 << 20).threads(threads).build())
}

mod one_thread {
    use super::*;
    devarray_conformance::suite!(
        device(1),
        second = device(1),
        extras = [
            timing, registered, mapped, managed, foreign, peer, ipc, pool, functions, reductions, gathers,
            orders, products, recordings, kernels, ranks
        ]
    );
}

mod three_threads {
    use super::*;
    devarray_conformance::suite!(
        device(3),
        extras = [
            timing, registered, mapped, managed, foreign, peer, ipc, pool, functions, reductions, gathers,
            orders, products, recordings, kernels, ranks
        ]
    );
}
