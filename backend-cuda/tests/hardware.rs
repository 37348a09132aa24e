//! Proofs on a real device that the fake driver cannot give: the kernels, the driver's copies and
//! the order of streams keep the promises that the backend relies on.
//!
//! Needs a CUDA device, so each test is ignored by default:
//! `cargo test -p devarray-cuda --test card -- --ignored hardware:: --test-threads=1`. Without a device
//! they fail; none is skipped.
#![allow(unsafe_code)] // holds a stream shut by a host function
#![expect(clippy::unwrap_used, reason = "tests")]

use super::cases;
use std::{
    ffi::c_void,
    num::NonZeroUsize,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use cases::{Pair, Rng, alloc, check_fill, copy, download, fill, free, read, upload, upload_from, write};
use devarray::{
    Error, Layout,
    backend::{Buffer, Capabilities, Device, DownloadOp, Event, HostBuffer, Quiesced, Stream},
    copy::{Class, Plan},
};
use devarray_cuda::{CudaDevice, CudaStream, devices, driver::Function};

const GIB: usize = 1 << 30;

/// A device and a stream, once no other test has one: a test that holds a stream shut must not hold
/// up another, whose calls could then hold up it.
fn open() -> (MutexGuard<'static, ()>, CudaDevice, CudaStream) {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let device = CudaDevice::open(0).expect("a CUDA device is needed");
    let stream = device.open_stream().unwrap();
    (turn, device, stream)
}

fn plan(dst: &Layout, src: &Layout, item_bytes: usize, device: &CudaDevice) -> Plan {
    Plan::new(dst, src, item_bytes, &device.info().capabilities).unwrap()
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn describes_itself() {
    let (_turn, device, _stream) = open();
    let info = device.info();
    assert_eq!(&devices().unwrap()[0], info);
    assert_eq!((info.backend, info.ordinal), ("cuda", 0));
    assert!(!info.name.is_empty() && info.generation.contains('.') && info.driver.contains('.'));
    assert!(info.capabilities.max_pitch_bytes >= 1 << 17);
    let memory = device.memory().unwrap();
    assert!(0 < memory.free_bytes && memory.free_bytes <= memory.total_bytes);
    assert!(matches!(CudaDevice::open(4096), Err(Error::Unavailable { .. })));
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn allocations_are_aligned_apart_and_reused() {
    let (_turn, device, stream) = open();
    for round in 0..50 {
        let buffers: Vec<_> = (0..40).map(|i| alloc(&stream, 1 + (i * i * 977 + round) % 100_000)).collect();
        let mut ranges: Vec<_> = buffers.iter().map(|b| (b.address(), b.len_bytes() as u64)).collect();
        ranges.sort_unstable();
        assert!(ranges.iter().all(|(start, _)| start.is_multiple_of(256)));
        assert!(ranges.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
        buffers.into_iter().for_each(|buffer| free(&stream, buffer));
    }
    assert_eq!(stream.synchronize(), Quiesced::Done);
    assert_eq!(device.take_errors(), []);
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn bytes_come_back() {
    let (_turn, device, stream) = open();
    let mut rng = Rng::new(3);
    for len_bytes in [1, 2, 255, 4096, 65_537, 5_000_003] {
        let bytes = cases::noise(&mut rng, len_bytes);
        let buffer = upload(&stream, &bytes);
        assert!(download(&stream, &buffer) == bytes, "{len_bytes} pageable bytes");
        let (at, part) = (len_bytes / 3, len_bytes / 2);
        assert!(read(&stream, &buffer, at, part.max(1)) == bytes[at..at + part.max(1)]);

        let host = device.alloc_host(NonZeroUsize::new(len_bytes).unwrap()).unwrap();
        assert!(host.as_ptr().addr().is_multiple_of(64));
        upload_from(&stream, &buffer, &host);
        assert!(download(&stream, &buffer).iter().all(|&byte| byte == 0), "pinned memory is zeroed");
        drop(host);
        free(&stream, buffer);
    }
    assert_eq!(device.take_errors(), []);
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn copies_of_any_layout() {
    let (_turn, device, stream) = open();
    let mut rng = Rng::new(4);
    for _ in 0..4000 {
        Pair::random(&mut rng).check(&device, &stream, &mut rng);
    }
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn fills_of_any_layout() {
    let (_turn, device, stream) = open();
    let mut rng = Rng::new(5);
    for _ in 0..2000 {
        check_fill(&device, &stream, &mut rng);
    }
    // Long enough for many blocks, at an offset of one element, with each width.
    for item_bytes in [1, 2, 4, 8, 16] {
        let line = Layout::new(&[1_000_003], &[1], 1).unwrap();
        let comb = Layout::new(&[500_001], &[2], 1).unwrap();
        let pattern = cases::noise(&mut rng, item_bytes);
        for layout in [line, comb] {
            let pair = Pair { dst: layout.clone(), src: layout, item_bytes };
            let before = cases::noise(&mut rng, pair.dst_len_bytes());
            let buffer = upload(&stream, &before);
            fill(&stream, &buffer, &plan(&pair.dst, &pair.dst, item_bytes, &device), &pattern);
            let found = download(&stream, &buffer);
            let repeated: Vec<u8> = pattern.iter().copied().cycle().take(before.len()).collect();
            assert!(found == pair.expected(before, &repeated), "{pair:?}");
            free(&stream, buffer);
        }
    }
}

/// Rows of any length and pitch are one launch: the driver promises its own pitched copies only for
/// pitches it chose.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn pitched_copies_of_any_pitch_and_height() {
    let (_turn, device, stream) = open();
    let mut rng = Rng::new(6);
    for (width, height, dst_pitch, src_pitch) in [
        (64, 2, 64, 65),
        (65, 1000, 67, 129),
        (511, 333, 512, 4099),
        (1 << 20, 3, (1 << 20) + 1, 1 << 21),
        (100, 70_000, 100, 101),
        (64, 1_500_000, 64, 72),
    ] {
        let rows = |pitch| Layout::new(&[height, width], &[pitch, 1], 3).unwrap();
        let pair = Pair { dst: rows(dst_pitch), src: rows(src_pitch), item_bytes: 1 };
        assert!(matches!(pair.plan(&device.info().capabilities).class(), Class::Pitched { .. }));
        pair.check(&device, &stream, &mut rng);
    }
    for (width, height, depth) in [(64, 2, 2), (77, 31, 300), (1000, 3, 70_000), (64, 70_000, 3)] {
        let slices = |gap: usize, rows: usize| {
            let pitch = (width + gap).cast_signed();
            let slice = pitch * (height + rows).cast_signed();
            Layout::new(&[depth, height, width], &[slice, pitch, 1], 5).unwrap()
        };
        let pair = Pair { dst: slices(1, 0), src: slices(3, 2), item_bytes: 1 };
        let class = pair.plan(&device.info().capabilities).class();
        assert!(matches!(class, Class::Pitched3 { .. } | Class::Pitched { .. }), "{class:?}");
        pair.check(&device, &stream, &mut rng);
    }
    let driver = device.driver();
    assert!(driver.calls(Function::LaunchKernel) + driver.calls(Function::LaunchKernelEx) >= 10);
}

/// More elements than the 32-bit kernels count, and offsets beyond 32 bits.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn more_than_two_to_the_31_elements() {
    let (_turn, device, stream) = open();
    let count = (1 << 31) + 4097;
    let (src, dst) = (alloc(&stream, count), alloc(&stream, count));
    let line = Layout::new(&[count], &[1], 0).unwrap();
    let reversed = Layout::new(&[count], &[-1], count - 1).unwrap();
    let all = plan(&line, &line, 1, &device);
    fill(&stream, &src, &all, &[7]);
    fill(&stream, &dst, &all, &[9]);
    let marks =
        [0, 1, 4095, 4096, 4097, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, count - 2, count - 1];
    for (mark, &at) in (100..).zip(&marks) {
        write(&stream, &src, at, &[mark]);
    }
    let backwards = plan(&line, &reversed, 1, &device);
    assert!(matches!(backwards.class(), Class::Gather | Class::Transpose { .. }));
    copy(&stream, &dst, &src, &backwards);
    for (mark, &at) in (100..).zip(&marks) {
        assert_eq!(read(&stream, &dst, count - 1 - at, 1), [mark], "mark at {at}");
    }
    let mut rng = Rng::new(7);
    let mirrored: Vec<usize> = marks.iter().map(|at| count - 1 - at).collect();
    for at in (0..1000).map(|_| rng.below(count)).filter(|at| !mirrored.contains(at)) {
        assert_eq!(read(&stream, &dst, at, 1), [7], "byte {at}");
    }

    // A fill by the wide kernel: every second byte of a little over 2^32.
    free(&stream, src);
    let long = alloc(&stream, 2 * count);
    let twice = Layout::new(&[2 * count], &[1], 0).unwrap();
    fill(&stream, &long, &plan(&twice, &twice, 1, &device), &[1]);
    let comb = Layout::new(&[count], &[2], 1).unwrap();
    fill(&stream, &long, &plan(&comb, &comb, 1, &device), &[2]);
    for at in (0..1000).map(|_| rng.below(2 * count - 4)).chain([0, 2 * count - 4]) {
        let expected = if at % 2 == 0 { [1, 2, 1, 2] } else { [2, 1, 2, 1] };
        assert_eq!(read(&stream, &long, at, 4), expected, "bytes at {at}");
    }
    free(&stream, long);
    free(&stream, dst);
}

/// Few elements, so 32-bit indices, but strides and offsets beyond 32 bits on both sides.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn strides_beyond_32_bits() {
    let (_turn, device, stream) = open();
    for item_bytes in [1, 2, 4, 8, 16] {
        let far = 5 * GIB / 2 / item_bytes;
        let len_bytes = 2 * far * item_bytes + 4096;
        let (src, dst) = (alloc(&stream, len_bytes), alloc(&stream, len_bytes));
        let stride = far.cast_signed();
        let from = Layout::new(&[3, 5], &[-stride, 7], 2 * far + 11).unwrap();
        let to = Layout::new(&[3, 5], &[stride, 3], 1).unwrap();
        let mut mark = 0_u8;
        let mut expected = Vec::new();
        for at in cases::positions(&from) {
            mark += 1;
            expected.push(vec![mark; item_bytes]);
            write(&stream, &src, at * item_bytes, &vec![mark; item_bytes]);
        }
        copy(&stream, &dst, &src, &plan(&to, &from, item_bytes, &device));
        for (at, expected) in cases::positions(&to).into_iter().zip(expected) {
            assert_eq!(read(&stream, &dst, at * item_bytes, item_bytes), expected);
        }
        free(&stream, src);
        free(&stream, dst);
    }
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn out_of_memory_is_typed_and_harmless() {
    let (_turn, device, stream) = open();
    let total = device.memory().unwrap().total_bytes;
    let error = stream.alloc(NonZeroUsize::new(2 * total).unwrap()).unwrap_err();
    let Error::OutOfMemory { requested_bytes, free_bytes, total_bytes, .. } = error else {
        panic!("{error}");
    };
    assert_eq!((requested_bytes, total_bytes), (2 * total, Some(total)));
    assert!(free_bytes.is_some_and(|free| free <= total));
    Pair::random(&mut Rng::new(8)).check(&device, &stream, &mut Rng::new(9));
}

/// Holds a stream shut until it is opened or dropped.
struct Latch(Arc<(Mutex<bool>, Condvar)>);

impl Latch {
    fn shut(device: &CudaDevice, stream: &CudaStream) -> Self {
        /// Gives up after a while, so that a bug fails the test and does not hang it.
        unsafe extern "C" fn wait(data: *mut c_void) {
            // SAFETY: the pointer came from `shut`, given up to this one call.
            let gate = unsafe { Arc::from_raw(data.cast::<(Mutex<bool>, Condvar)>()) };
            let is_open = gate.0.lock().unwrap_or_else(PoisonError::into_inner);
            drop(gate.1.wait_timeout_while(is_open, Duration::from_secs(30), |is_open| !*is_open));
        }
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        let data = Arc::into_raw(Arc::clone(&gate)).cast_mut().cast();
        device.memory().unwrap(); // Binds the context to this thread.
        // SAFETY: the function takes the reference it is given, and calls no driver function.
        unsafe { device.driver().launch_host_func(stream.raw(), Some(wait), data) }.unwrap();
        Self(gate)
    }
}

impl Drop for Latch {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }
}

/// Nothing that enqueues waits, and dropping neither waits nor cancels.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn work_is_enqueued_and_ordered() {
    let (_turn, device, first) = open();
    let second = device.open_stream().unwrap();
    let mut rng = Rng::new(10);
    let (old, new) = (cases::noise(&mut rng, 4096), cases::noise(&mut rng, 4096));
    let (target, source) = (upload(&first, &old), upload(&first, &new));
    let host = device.alloc_host(NonZeroUsize::new(4096).unwrap()).unwrap();
    let line = Layout::new(&[4096], &[1], 0).unwrap();
    let whole = plan(&line, &line, 1, &device);
    // The kernels are loaded before a stream is shut: loading may wait for the device.
    let backwards = plan(&line, &Layout::new(&[4096], &[-1], 4095).unwrap(), 1, &device);
    copy(&first, &target, &source, &backwards);
    write(&first, &target, 0, &old);

    let latch = Latch::shut(&device, &first);
    copy(&first, &target, &source, &backwards);
    copy(&first, &target, &source, &whole);
    let event = first.record().unwrap();
    second.wait(&event).unwrap();
    // SAFETY: in bounds; the pinned memory lives until the wait below, and nobody reads it before.
    let op = unsafe { DownloadOp::new_unchecked(&target, 0, host.as_ptr(), 4096) };
    second.download(&op).unwrap();
    let last = second.record().unwrap();
    assert_eq!((event.query(), last.query()), (Ok(false), Ok(false)));
    // The edge and the work stay when event and streams go.
    drop((event, first, second));
    assert_eq!(last.query(), Ok(false));
    drop(latch);
    assert_eq!(last.synchronize(), Quiesced::Done);
    assert_eq!(last.query(), Ok(true));
    // SAFETY: 4,096 initialized bytes that no operation uses any more.
    let found = unsafe { std::slice::from_raw_parts(host.as_ptr(), 4096) };
    assert!(found == new, "the download ran after the copies of the other stream");

    let third = device.open_stream().unwrap();
    free(&third, target);
    free(&third, source);
    assert_eq!(device.take_errors(), []);
}

/// Without the edge, the other stream does read too early: the test above can fail.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn work_without_an_edge_is_not_ordered() {
    let (_turn, device, first) = open();
    let second = device.open_stream().unwrap();
    let (target, source) = (upload(&first, &[1; 64]), upload(&first, &[2; 64]));
    let line = Layout::new(&[64], &[1], 0).unwrap();
    let latch = Latch::shut(&device, &first);
    copy(&first, &target, &source, &plan(&line, &line, 1, &device));
    assert_eq!(download(&second, &target), [1; 64]);
    drop(latch);
    assert_eq!(first.synchronize(), Quiesced::Done);
    assert_eq!(download(&second, &target), [2; 64]);
    free(&first, target);
    free(&first, source);
}

/// Rows too far apart for the driver's pitched copy are no pitched plan, and arrive all the same.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn a_pitch_beyond_the_limit_is_not_pitched() {
    let (_turn, device, stream) = open();
    let limit = device.info().capabilities.max_pitch_bytes;
    let pitch = limit + 1;
    let len_bytes = pitch + 4096;
    let (src, dst) = (alloc(&stream, len_bytes), alloc(&stream, 256));
    let from = Layout::new(&[2, 128], &[pitch.cast_signed(), 1], 0).unwrap();
    let to = Layout::new(&[2, 128], &[128, 1], 0).unwrap();
    let beyond = plan(&to, &from, 1, &device);
    assert!(!matches!(beyond.class(), Class::Pitched { .. }));
    let unlimited = Plan::new(&to, &from, 1, &Capabilities::default()).unwrap();
    assert!(matches!(unlimited.class(), Class::Pitched { .. }));
    write(&stream, &src, 0, &[1; 128]);
    write(&stream, &src, pitch, &[2; 128]);
    copy(&stream, &dst, &src, &beyond);
    assert_eq!(download(&stream, &dst), [[1; 128], [2; 128]].concat());
    free(&stream, src);
    free(&stream, dst);
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn a_device_closes_and_opens_again() {
    for _ in 0..3 {
        let (_turn, device, stream) = open();
        Pair::random(&mut Rng::new(11)).check(&device, &stream, &mut Rng::new(12));
    }
}
