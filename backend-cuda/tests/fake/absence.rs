//! An absent library or function is a typed error, and never a panic.

use std::{any::Any, num::NonZeroUsize, sync::Arc};

use devarray::{
    Array, Context, Error,
    backend::{Device, Stream},
};
use devarray_cuda::{
    CudaDevice, devices,
    driver::{Driver, Function},
};

use super::{
    driver::table,
    state::{Fake, State},
};

/// Why a device of the fake, changed so, is not available.
fn reason(change: impl FnOnce(&mut State), ordinal: usize) -> String {
    let fake = Fake::new();
    fake.state(change);
    let reason = refusal(&fake.driver(), ordinal);
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    reason
}

fn refusal(driver: &Arc<Driver>, ordinal: usize) -> String {
    match CudaDevice::open_with(driver, ordinal) {
        Err(Error::Unavailable { backend: "cuda", reason }) => reason,
        other => panic!("{other:?}"),
    }
}

/// The machine's own driver, if any: a list, or a reason.
#[test]
fn the_real_driver_or_a_reason() {
    match devices() {
        Ok(devices) => assert!(!devices.is_empty()),
        Err(Error::Unavailable { backend: "cuda", reason }) => assert!(!reason.is_empty()),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn each_missing_function_is_named() {
    for &function in Function::ALL.iter().filter(|function| !function.is_optional()) {
        let fake = Fake::new();
        let driver = fake.driver_of(table().without(function));
        let reason = refusal(&driver, 0);
        assert!(reason.contains(&format!("no {};", function.symbol())), "{function:?}: {reason}");
        assert!(matches!(driver.devices(), Err(Error::Unavailable { .. })));
        assert_eq!(driver.total_calls(), 0, "a driver that lacks a function is left alone");
    }
}

#[test]
fn no_device() {
    assert!(reason(|state| state.init = 100, 0).contains("CUDA_ERROR_NO_DEVICE (100)"));
    assert!(reason(|state| state.devices = 0, 0).contains("no device"));
    assert!(reason(|_| (), 2).contains("there is no device 2; there are 2"));
    assert!(reason(|_| (), usize::MAX).contains("there is no device"));
}

#[test]
fn a_code_nobody_has_named() {
    assert!(reason(|state| state.init = 91_700, 0).contains("cuInit answered 91700 (91700)"));
}

#[test]
fn a_driver_or_device_that_is_not_enough() {
    let reason_of_driver = reason(|state| state.version = 11_080, 0);
    assert!(
        reason_of_driver.contains("CUDA 11.8") && reason_of_driver.contains("12.0"),
        "{reason_of_driver}"
    );
    assert!(reason(|state| state.generation = (6, 1), 0).contains("generation 6.1"));
    assert!(reason(|state| state.pools = 0, 1).contains("device 1 (Fake) has no memory pools"));
    assert!(reason(|state| state.retain = 46, 0).contains("in use by another process"));
}

#[test]
fn what_is_there_is_described() {
    let fake = Fake::new();
    let found = fake.driver().devices().unwrap();
    assert_eq!(found.len(), 2);
    let info = &found[1];
    assert_eq!((info.backend, info.ordinal, info.name.as_str()), ("cuda", 1, "Fake"));
    assert_eq!((info.generation.as_str(), info.driver.as_str()), ("9.0", "13.0"));
    assert_eq!(info.capabilities.max_pitch_bytes, 0x7fff_ffff);
    assert!(fake.state(|state| state.contexts.is_empty()), "listing opens nothing");
}

#[test]
fn one_context_a_device_and_driver() {
    let fake = Fake::new();
    let driver = fake.driver();
    let first = CudaDevice::open_with(&driver, 1).unwrap();
    let stream = first.open_stream().unwrap();
    let again = CudaDevice::open_with(&driver, 1).unwrap();
    let other = CudaDevice::open_with(&driver, 0).unwrap();
    assert_eq!(fake.state(|state| (state.contexts[&0], state.contexts[&1])), (1, 1));
    assert_eq!(fake.state(|state| state.threshold), u64::MAX);

    // Another table shares nothing.
    let elsewhere = CudaDevice::open_with(&fake.driver(), 1).unwrap();
    assert_eq!(fake.state(|state| state.contexts[&1]), 2);

    drop((first, again, other, elsewhere));
    assert_eq!(fake.state(|state| (state.contexts[&0], state.contexts[&1])), (0, 1));
    drop(stream);
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    let reopened = CudaDevice::open_with(&driver, 1).unwrap();
    assert_eq!(reopened.take_errors(), []);
    drop(reopened);
    fake.assert_proper();
}

#[test]
fn threads_share_one_context() {
    let fake = Fake::new();
    let driver = fake.driver();
    let devices: Vec<_> = std::thread::scope(|scope| {
        let open = || {
            fake.install();
            CudaDevice::open_with(&driver, 0).unwrap()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(driver.calls(Function::PrimaryCtxRetain), 1);
    drop(devices);
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    fake.assert_proper();
}

/// Makes something of a device.
type Keeper = fn(&CudaDevice) -> Box<dyn Any>;

/// Kernels stay loaded while anything of the device is alive, and whoever opens it again finds them.
#[test]
fn whatever_of_a_device_is_alive_keeps_its_kernels() {
    let fake = Fake::new();
    let driver = fake.driver();
    let keepers: [Keeper; 4] = [
        |device| Box::new(device.clone()),
        |device| Box::new(device.open_stream().unwrap()),
        |device| Box::new(device.open_stream().unwrap().record().unwrap()),
        |device| Box::new(device.alloc_host(NonZeroUsize::MIN).unwrap()),
    ];
    for (number, keeper) in keepers.into_iter().enumerate() {
        let device = CudaDevice::open_with(&driver, 0).unwrap();
        let stream = Context::new(device.clone()).unwrap().stream().unwrap();
        let x = Array::from_slice(&stream, &[3], &[1, 2, 3]).unwrap();
        assert_eq!(x.map(&stream, |x| x * 7).unwrap().to_vec(&stream).unwrap(), [7, 14, 21]);
        let statistics = device.function_statistics();
        assert!(statistics.kept > 0 && statistics.launches > 0, "{number}: {statistics:?}");
        let kept = keeper(&device);
        drop((x, stream, device));
        let again = CudaDevice::open_with(&driver, 0).unwrap();
        assert_eq!(again.function_statistics(), statistics, "{number}");
        drop((again, kept));
        // The twin: nothing is alive any more, so nothing is loaded.
        assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new(), "{number}");
        let new = CudaDevice::open_with(&driver, 0).unwrap();
        assert_eq!(new.function_statistics(), Default::default(), "{number}");
    }
    assert_eq!(driver.calls(Function::PrimaryCtxRetain), 8);
    fake.assert_proper();
}
