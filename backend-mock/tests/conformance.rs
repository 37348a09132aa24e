//! The simulator keeps every law, under each fixed schedule and several random ones.

use devarray::Result;
use devarray_mock::{MockDevice, Schedule};

mod eager {
    use super::*;
    devarray_conformance::suite!(Result::Ok(MockDevice::builder().schedule(Schedule::Eager).build()));
}

mod lazy {
    use super::*;
    devarray_conformance::suite!(Result::Ok(MockDevice::builder().schedule(Schedule::Lazy).build()));
}

mod reverse_lazy {
    use super::*;
    devarray_conformance::suite!(Result::Ok(MockDevice::builder().schedule(Schedule::ReverseLazy).build()));
}

mod random {
    use super::*;
    devarray_conformance::suite!(Result::Ok(MockDevice::builder().schedule(Schedule::Random).seed(1).build()));
}
