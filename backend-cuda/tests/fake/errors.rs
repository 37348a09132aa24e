//! Codes become the error that says what a program can do.

use std::num::{NonZeroI32, NonZeroUsize};

use devarray::{
    Array, Context, Error, StreamHandle,
    backend::{Buffer, Device, Event, HostBuffer, MemoryInfo, Quiesced, Stream},
    gather::OutOfRange,
};
use devarray_cuda::{
    CudaDevice, CudaStream,
    driver::{Fault, Function},
};

use super::{
    cases::{alloc, free, try_free},
    state::Fake,
};

fn open() -> (Fake, CudaDevice, CudaStream) {
    let fake = Fake::new();
    let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
    let stream = device.open_stream().unwrap();
    (fake, device, stream)
}

fn fault(code: i32, function: Function) -> Fault {
    Fault::new(0, NonZeroI32::new(code).unwrap()).of(function)
}

#[test]
fn codes_are_sorted_into_kinds() {
    let (_fake, device, stream) = open();
    let met = |code| {
        device.driver().fail(fault(code, Function::EventRecord));
        stream.record().unwrap_err()
    };
    for code in [3, 4, 201, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 911] {
        let error = met(code);
        assert!(error.is_sticky() && matches!(error, Error::DeviceLost { .. }), "{code}: {error}");
    }
    for code in [1, 101, 209, 218, 400, 701, 801, 900, 917, 999, -5] {
        let error = met(code);
        assert!(!error.is_sticky() && !error.is_retryable(), "{code}: {error}");
        assert!(matches!(error, Error::Driver { code: kept, .. } if kept == code), "{code}: {error}");
    }
    assert!(met(2).is_retryable());
    assert_eq!(met(700).to_string(), "cuda: record: device lost: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    assert_eq!(met(917).to_string(), "cuda: record: driver error 917 (917)");
}

#[test]
fn a_lost_device_stays_lost_and_a_wait_says_unknown() {
    let (fake, device, stream) = open();
    let event = stream.record().unwrap();
    device.driver().fail(Fault::new(0, NonZeroI32::new(719).unwrap()).lasting());
    assert!(matches!(event.query(), Err(Error::DeviceLost { code: 719, .. })));
    assert!(matches!(event.synchronize(), Quiesced::Unknown(Error::DeviceLost { code: 719, .. })));
    assert!(matches!(stream.synchronize(), Quiesced::Unknown(Error::DeviceLost { code: 719, .. })));
    assert!(matches!(stream.alloc(NonZeroUsize::MIN), Err(Error::DeviceLost { .. })));
    assert!(matches!(device.alloc_host(NonZeroUsize::MIN), Err(Error::DeviceLost { .. })));
    assert!(matches!(device.memory(), Err(Error::DeviceLost { .. })));
    drop((event, stream));
    let errors = device.take_errors();
    assert!(errors.len() == 2 && errors.iter().all(Error::is_sticky), "{errors:?}");
    assert_eq!(device.take_errors(), []);
    device.driver().heal();
    fake.assert_proper();
}

#[test]
fn a_query_is_not_ready_or_an_error() {
    let (fake, _device, stream) = open();
    let event = stream.record().unwrap();
    assert_eq!(event.query(), Ok(true));
    fake.state(|state| state.query = 600);
    assert_eq!(event.query(), Ok(false));
    fake.state(|state| state.query = 1);
    assert!(matches!(event.query(), Err(Error::Driver { code: 1, operation: "query", .. })));
}

#[test]
fn out_of_memory_gives_back_what_is_cached_and_then_says_how_much_is_free() {
    let (fake, device, stream) = open();
    let room = fake.state(|state| state.total_bytes);
    let large = room / 2 + 1;
    free(&stream, alloc(&stream, large));
    let memory = device.memory().unwrap();
    assert_eq!((memory.free_bytes, memory.total_bytes), (room, room), "cached memory is free");
    // The fake's pool keeps what was freed until it is trimmed.
    let buffer = alloc(&stream, large);
    assert_eq!(device.driver().calls(Function::MemPoolTrimTo), 1);

    let error = stream.alloc(NonZeroUsize::new(large).unwrap()).unwrap_err();
    let left = MemoryInfo::new(room - large, room);
    let expected = Error::out_of_memory("cuda", "alloc", large, Some(left));
    assert_eq!(error, expected);
    free(&stream, buffer);
    free(&stream, alloc(&stream, large));
    assert_eq!(device.take_errors(), []);
    fake.assert_proper();
}

#[test]
fn pinned_memory_is_zeroed_aligned_and_freed() {
    let (fake, device, stream) = open();
    let host = device.alloc_host(NonZeroUsize::new(1000).unwrap()).unwrap();
    assert_eq!((host.len_bytes(), host.as_ptr().addr() % 64), (1000, 0));
    let buffer = alloc(&stream, host.len_bytes());
    assert!(buffer.address().is_multiple_of(256));
    super::cases::upload_from(&stream, &buffer, &host);
    assert!(super::cases::download(&stream, &buffer).iter().all(|&byte| byte == 0));
    free(&stream, buffer);
    drop(host);
    assert!(fake.state(|state| state.pinned.is_empty()));

    let too_much = NonZeroUsize::new(fake.state(|state| state.total_bytes) + 1).unwrap();
    let error = device.alloc_host(too_much).unwrap_err();
    assert_eq!(error, Error::out_of_memory("cuda", "alloc_host", too_much.get(), None));
    fake.assert_proper();
}

#[test]
fn every_call_binds_its_own_context() {
    let (fake, device, stream) = open();
    let other = CudaDevice::open_with(device.driver(), 1).unwrap();
    // Opening the other made it current, and this thread now frees, records and drops on the first.
    let buffer = alloc(&stream, 64);
    other.memory().unwrap();
    free(&stream, buffer);
    other.memory().unwrap();
    let event = stream.record().unwrap();
    other.memory().unwrap();
    drop((event, stream, device));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            fake.install();
            drop(other);
        });
    });
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    fake.assert_proper();
}

/// An error of the driver is of whom it hits: the caller whose memory it is, or nobody if the
/// memory was kept idle and another block takes its place.
#[test]
fn a_free_answers_for_its_own_block() {
    let (_fake, device, stream) = open();
    let large = alloc(&stream, (1 << 20) + 1);
    device.driver().fail(fault(719, Function::MemFreeAsync));
    assert!(matches!(try_free(&stream, large), Err(Error::DeviceLost { code: 719, .. })));
    assert_eq!(device.take_errors(), []);

    let small: Vec<_> = (1..10).map(|len_bytes| alloc(&stream, len_bytes)).collect();
    device.driver().fail(fault(999, Function::MemFreeAsync));
    for buffer in small {
        assert_eq!(try_free(&stream, buffer), Ok(()));
    }
    assert!(device.driver().heal(), "the ninth is one too many");
    let told = device.take_errors();
    assert!(matches!(told[..], [Error::Driver { code: 999, operation: "free", .. }]), "{told:?}");
}

/// Findings of streams that are gone are told once, and memory kept for them is used again: by
/// streams of one context, and by contexts that come and go.
#[test]
fn index_errors_of_what_is_gone_leave_no_memory_behind() {
    let fake = Fake::new();
    let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
    let allocations = || device.driver().calls(Function::MemHostAlloc);
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let (x, by) = (Array::<u8, _>::zeros(&stream, &[4]), Array::from_slice(&stream, &[1], &[9_i64]));
    let (x, by) = (x.unwrap(), by.unwrap());
    stream.synchronize().unwrap();
    let fail = |stream: &StreamHandle<CudaDevice>| drop(x.take(stream, &by, 0, OutOfRange::Error).unwrap());
    fail(&stream);
    assert!(stream.synchronize().is_err());
    let before = allocations();
    for _ in 0..5000 {
        fail(&context.stream().unwrap());
    }
    stream.synchronize().unwrap();
    let told = context.take_errors();
    assert!(told.len() == 5000 && told.iter().all(|error| matches!(error, Error::Index { .. })));
    for _ in 0..5000 {
        let context = Context::new(device.clone()).unwrap();
        let stream = context.stream().unwrap();
        let one = Array::<i64, _>::full(&stream, &[1], 7).unwrap();
        drop(one.take(&stream, &one, 0, OutOfRange::Error).unwrap());
    }
    assert_eq!(allocations(), before, "a page is enough");
    drop((x, by, stream, context));
    fake.assert_proper();
}
