//! Host functions of kernels that call a device, drop a device object, or panic.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::{
    panic::panic_any,
    sync::{Mutex, PoisonError},
};

use devarray::{
    Array, Context, PinnedLimits, Transfer,
    kernel::{Grid, Image, Out},
};
use devarray_mock::MockDevice;

static IN_FLIGHT: Mutex<Option<Transfer<u8, MockDevice>>> = Mutex::new(None);

devarray::kernel! {
    struct DropsATransfer(to: Out<f32>);
    image = Image::none();
    launch { Grid::elements(to.len(), 32) }
    host {
        to.fill(0.0);
        drop(IN_FLIGHT.lock().unwrap().take());
    }
}

/// A host function must not call a device, and dropping a transfer calls it. The drop panics, and
/// the memory that the transfer uses is given to nobody.
#[test]
fn memory_of_a_transfer_that_a_host_function_drops_is_lost() {
    let context = Context::new(MockDevice::new()).unwrap();
    context.set_pinned_limits(PinnedLimits::new(1 << 20, 1 << 20));
    let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
    let sevens = context.pinned_from(&[7_u8; 4096]).unwrap();
    let mut x = Array::<u8, _>::zeros(&two, &[4096]).unwrap();
    *IN_FLIGHT.lock().unwrap() = Some(x.view_mut().upload(&two, sevens).unwrap());
    let mut y = Array::<f32, _>::zeros(&one, &[4]).unwrap();
    DropsATransfer::launch(&one, &mut y).unwrap();
    one.synchronize().unwrap();
    let nines = context.pinned_from(&[9_u8; 4096]).unwrap();
    assert_eq!(context.host_memory_statistics().reuses, 0);
    assert_eq!(x.to_vec(&two).unwrap(), [7; 4096]);
    assert_eq!(nines[..], [9; 4096]);
}

/// A misuse, which [`Misuses`] does once.
type Misuse = Box<dyn FnOnce() + Send>;

static MISUSE: Mutex<Option<Misuse>> = Mutex::new(None);

devarray::kernel! {
    struct Misuses(to: Out<f32>);
    image = Image::none();
    launch { Grid::elements(to.len(), 32) }
    host {
        to.fill(0.0);
        let misuse = MISUSE.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(misuse) = misuse { misuse() }
    }
}

/// No misuse of a device in a host function ends or blocks the process: each is a finding.
#[test]
fn what_a_host_function_misuses_is_a_finding() {
    let misuses: [fn(&Context<MockDevice>) -> Misuse; 4] = [
        |context| {
            let pinned = context.pinned::<f32>(5).unwrap();
            Box::new(move || drop(pinned))
        },
        |context| {
            let stream = context.stream().unwrap();
            std::mem::forget(stream.clone());
            Box::new(move || drop(stream.scope(|_| ())))
        },
        |context| {
            let array = Array::<f32, _>::zeros(&context.stream().unwrap(), &[3]).unwrap();
            Box::new(move || panic_any(array))
        },
        |context| {
            let stream = context.stream().unwrap();
            let mut array = Array::<f32, _>::zeros(&stream, &[5]).unwrap();
            let transfer = array.view_mut().upload(&stream, context.pinned(5).unwrap()).unwrap();
            Box::new(move || {
                std::mem::forget(array);
                drop(transfer);
            })
        },
    ];
    for misuse in misuses {
        let context = Context::new(MockDevice::new()).unwrap();
        let stream = context.stream().unwrap();
        *MISUSE.lock().unwrap_or_else(PoisonError::into_inner) = Some(misuse(&context));
        let mut y = Array::<f32, _>::zeros(&stream, &[4]).unwrap();
        Misuses::launch(&stream, &mut y).unwrap();
        stream.synchronize().unwrap();
        let report = context.device().report();
        assert!(report.to_string().contains("Misuses"), "{report}");
        // The twin: a host function without misuse has no finding.
        let context = Context::new(MockDevice::new()).unwrap();
        let stream = context.stream().unwrap();
        let mut y = Array::<f32, _>::zeros(&stream, &[4]).unwrap();
        Misuses::launch(&stream, &mut y).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(context.device().report().findings, []);
    }
}
