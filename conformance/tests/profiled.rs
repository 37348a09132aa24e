//! A profiled device keeps every law that the wrapped device keeps.

use devarray::timeline::Profiled;
use devarray_mock::MockDevice;

devarray_conformance::suite!(
    Profiled::new(MockDevice::builder().memory_limit_bytes(1 << 26).build()),
    extras = [timing, registered, mapped, managed, foreign, pool, peer]
);
