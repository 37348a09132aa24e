//! Threads that help with copies of borrowed memory change only the time: the device sees the same
//! operations, and a copy manages with the memory that is available.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::thread;

use devarray::{Array, Context, Error, Layout, layout::Slice};
use devarray_mock::{Builder, MockDevice, Schedule, Site, Trace};

const THREADS: [usize; 4] = [0, 1, 2, 8];

/// The bytes of a copy in more pieces than are in flight at a time: pieces have 256 KiB up to 4
/// MiB. The last one is short.
const LEN: usize = (4 << 20) - 1234;

const PIECES: u64 = 16;

/// The length of a row, just over half a piece.
const ROW: usize = (128 << 10) + 100;
const ROWS: usize = 30;

type Mock = MockDevice;

fn bytes(seed: usize) -> Vec<u8> {
    many_bytes(LEN, seed)
}

fn many_bytes(len: usize, seed: usize) -> Vec<u8> {
    // Byte k is the lowest byte of (k ^ k >> 8 ^ k >> 16) + seed: 256 in a row are one of 256
    // blocks.
    let seed = seed.to_le_bytes()[0];
    let block = |above: u8| (0..=u8::MAX).map(move |k| (k ^ above).wrapping_add(seed));
    let blocks: Vec<u8> = (0..=u8::MAX).flat_map(block).collect();
    let mut bytes = Vec::with_capacity(len);
    for nth in 0..len.div_ceil(256) {
        let above = (nth ^ (nth >> 8)) & 0xff;
        bytes.extend_from_slice(&blocks[256 * above..][..256.min(len - bytes.len())]);
    }
    bytes
}

/// Makes every kind of copy of borrowed memory that goes in pieces, on two streams.
fn program(context: &Context<Mock>) {
    let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
    let data = bytes(0);
    let a = Array::from_slice(&one, &[LEN], &data).unwrap();
    assert!(a.to_vec(&two).unwrap() == data);

    // Rows with gaps between them, each a piece of its own: more pieces than are in flight at a
    // time.
    let gaps = Layout::new(&[ROWS, ROW], &[ROW.cast_signed() + 8, 1], 3).unwrap();
    let rows = &bytes(3)[..ROWS * (ROW + 8)];
    let mut c = Array::<u8, _>::zeros(&one, &[ROWS, ROW]).unwrap();
    c.view_mut().copy_from_host(&two, rows, &gaps).unwrap();
    let mut back = vec![0; rows.len()];
    c.view().copy_to_host(&one, &mut back, &gaps).unwrap();
    for (row, (there, back)) in rows.chunks(ROW + 8).zip(back.chunks(ROW + 8)).enumerate() {
        assert!(back[3..3 + ROW] == there[3..3 + ROW], "row {row}");
        assert!(back[..3] == [0; 3] && back[3 + ROW..] == [0; 5], "row {row}");
    }

    // A matrix that is transposed on the host goes to every second row on the device and back.
    let (rows, columns) = (301, 1_777);
    let turned = Layout::new(&[rows, columns], &[1, rows.cast_signed()], 0).unwrap();
    let words: Vec<u16> = data.chunks(2).map(|pair| u16::from(pair[0])).take(rows * columns).collect();
    let mut b = Array::<u16, _>::zeros(&one, &[2 * rows, columns]).unwrap();
    let every_second = Slice::from(..).step_by(2);
    b.view_mut().slice_axis(0, every_second).unwrap().copy_from_host(&two, &words, &turned).unwrap();
    let mut back = vec![0; words.len()];
    b.view().slice_axis(0, every_second).unwrap().copy_to_host(&one, &mut back, &turned).unwrap();
    assert!(back == words);
    let all = b.to_vec(&two).unwrap();
    for (row, line) in all.chunks(columns).enumerate() {
        for (column, &word) in line.iter().enumerate() {
            let expected = if row % 2 == 0 { words[column * rows + row / 2] } else { 0 };
            assert_eq!(word, expected);
        }
    }
}

#[derive(Debug, PartialEq)]
struct Seen {
    hash: u64,
    trace: Trace,
    order: Vec<u64>,
    statistics: devarray_mock::Statistics,
    calls: devarray::Statistics,
}

/// Runs a program, and returns the operations that the device sees.
fn seen(device: Builder, threads: usize, program: fn(&Context<Mock>)) -> Seen {
    let device = device.record_trace(true).record_order(true).build();
    let context = Context::new(device.clone()).unwrap();
    context.set_transfer_threads(threads);
    assert_eq!(context.transfer_threads(), threads);
    program(&context);
    assert_eq!(context.take_errors(), []);
    let calls = context.statistics();
    drop(context);
    assert!(device.report().is_clean(), "{}", device.report());
    let (trace, order) = (device.trace().unwrap(), device.order().unwrap());
    Seen { hash: device.trace_hash(), trace, order, statistics: device.statistics(), calls }
}

#[test]
fn the_device_sees_the_same_with_any_number_of_threads() {
    let schedules =
        [(Schedule::Lazy, 0), (Schedule::ReverseLazy, 0), (Schedule::Random, 1), (Schedule::Random, 2)];
    let mut hashes = Vec::new();
    for (schedule, seed) in schedules {
        let run = |threads| seen(Mock::builder().schedule(schedule.clone()).seed(seed), threads, program);
        let alone = run(THREADS[0]);
        for threads in &THREADS[1..] {
            assert!(run(*threads) == alone, "{schedule:?}, seed {seed}, {threads} threads");
        }
        assert!(alone.statistics.enqueued.uploads.count >= PIECES + 30);
        hashes.push(alone.hash);
    }
    // The comparison can distinguish runs: random schedules differ.
    hashes.sort_unstable();
    hashes.dedup();
    assert!(hashes.len() >= 3, "{hashes:?}");
}

/// Makes a copy with growing and shrinking pieces, and one of more pieces than are handed out
/// before the first is submitted.
fn large_program(context: &Context<Mock>) {
    const LEN: usize = (12 << 20) + 77;
    let stream = context.stream().unwrap();
    let data = many_bytes(LEN, 4);
    for _ in 0..2 {
        let a = Array::from_slice(&stream, &[LEN], &data).unwrap();
        assert!(a.to_vec(&stream).unwrap() == data);
    }

    // Rows with gaps, long ones and short ones.
    for (row, rows) in [(200_003, 60), (1_001, 11_000)] {
        let gaps = Layout::new(&[rows, row], &[row.cast_signed() + 9, 1], 5).unwrap();
        let there = many_bytes(rows * (row + 9), 6);
        let mut a = Array::<u8, _>::uninit(&stream, &[rows, row]).unwrap();
        a.view_mut().copy_from_host(&stream, &there, &gaps).unwrap();
        for (back, there) in a.to_vec(&stream).unwrap().chunks(row).zip(there.chunks(row + 9)) {
            assert!(back == &there[5..5 + row]);
        }
    }
}

#[test]
fn the_device_sees_the_same_of_a_large_copy() {
    let run = |threads| seen(Mock::builder().schedule(Schedule::Random).seed(3), threads, large_program);
    let alone = run(0);
    assert!(alone.statistics.enqueued.uploads.count >= 4 * 16, "{:?}", alone.statistics);
    for threads in [3, 8] {
        assert!(run(threads) == alone, "{threads} threads");
    }
}

/// Makes a copy of eight pieces, with pinned memory for `slots` slots of 256 KiB.
fn in_room_for(slots: usize, threads: usize) -> devarray::Result<()> {
    const LEN: usize = 2 << 20;
    let device = Mock::builder().host_limit_bytes(slots * (256 << 10)).build();
    let context = Context::new(device.clone()).unwrap();
    context.set_transfer_threads(threads);
    let stream = context.stream().unwrap();
    let data = &bytes(1)[..LEN];
    let small = Array::from_slice(&stream, &[9], &data[..9])?;
    assert_eq!(small.to_vec(&stream)?, data[..9]);
    let a = Array::from_slice(&stream, &[LEN], data)?;
    assert!(a.to_vec(&stream)? == data);
    assert_eq!(context.take_errors(), []);
    drop((small, a, stream, context));
    assert!(device.report().is_clean(), "{}", device.report());
    Ok(())
}

/// A copy that wants more slots than there is pinned memory for waits for its own slots instead,
/// and small idle slots make room. Without memory for a single slot, it fails.
#[test]
fn a_copy_makes_do_with_the_pinned_memory_there_is() {
    for threads in THREADS {
        for slots in 1..10 {
            in_room_for(slots, threads).unwrap();
        }
        let none = in_room_for(0, threads).unwrap_err();
        assert!(matches!(none, Error::OutOfMemory { .. }), "{none}");
    }
}

/// A slot in flight makes room as well, though it has another size: the copy waits for it.
#[test]
fn a_copy_waits_for_slots_of_other_sizes() {
    let device = Mock::builder().schedule(Schedule::Lazy).host_limit_bytes(256 << 10).build();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let mut small = Array::<u8, _>::zeros(&stream, &[9]).unwrap();
    // A query takes a step: there are more operations in front of the upload than queries here.
    for _ in 0..100 {
        small.view_mut().fill(&stream, 7).unwrap();
    }
    small.view_mut().copy_from_slice(&stream, &[5; 9]).unwrap();
    assert_eq!(on_their_way(&device), 9);
    let data = &bytes(1)[..256 << 10];
    let large = Array::from_slice(&stream, &[data.len()], data).unwrap();
    assert!(large.to_vec(&stream).unwrap() == data);
    assert_eq!(small.to_vec(&stream).unwrap(), [5; 9]);
    assert_eq!(context.take_errors(), []);
}

fn failed(operation: &'static str) -> Error {
    Error::Driver { backend: "mock", operation, code: 719, name: "FAILED".into() }
}

/// Idle memory is given back only when memory is short.
#[test]
fn other_errors_leave_idle_slots_alone() {
    let device = Mock::new();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let small = Array::from_slice(&stream, &[9], &[5_u8; 9]).unwrap();
    assert_eq!(small.to_vec(&stream).unwrap(), [5; 9]);
    let idle = device.report().host_buffers;
    device.fail_next(Site::AllocHost, failed("alloc_host"));
    let refused = Array::from_slice(&stream, &[LEN], &bytes(1)).unwrap_err();
    assert_eq!(refused, failed("alloc_host"));
    assert_eq!(device.report().host_buffers, idle);
}

/// The slots of the pieces after a failed one are kept for the next copy.
#[test]
fn a_copy_that_fails_keeps_its_slots() {
    for threads in THREADS {
        let device = Mock::new();
        let context = Context::new(device.clone()).unwrap();
        context.set_transfer_threads(threads);
        let stream = context.stream().unwrap();
        let mut a = Array::<u8, _>::zeros(&stream, &[LEN]).unwrap();
        device.fail_next(Site::Upload, failed("upload"));
        let error = a.view_mut().copy_from_slice(&stream, &bytes(1)).unwrap_err();
        assert_eq!(error, failed("upload"));
        let kept = device.report().host_buffers.len();
        assert!(kept >= 4, "{kept} are left, {threads} threads");
    }
}

/// A view of memory that a thread writes may be short-lived: its memory is freed as soon as the
/// call returns.
#[test]
fn memory_may_go_as_soon_as_a_copy_returns() {
    for threads in THREADS {
        let context = Context::new(Mock::new()).unwrap();
        context.set_transfer_threads(threads);
        let stream = context.stream().unwrap();
        let a = Array::from_slice(&stream, &[LEN], &bytes(2)).unwrap();
        assert!(a.to_vec(&stream).unwrap() == bytes(2));
    }
}

/// Contexts share no threads, and calls on one context at the same time share its threads.
#[test]
fn callers_at_once_get_their_own_bytes() {
    let context = Context::new(Mock::new()).unwrap();
    context.set_transfer_threads(2);
    thread::scope(|scope| {
        for seed in 0..4 {
            let context = &context;
            scope.spawn(move || {
                let stream = context.stream().unwrap();
                let data = bytes(seed);
                let a = Array::from_slice(&stream, &[LEN], &data).unwrap();
                assert!(a.to_vec(&stream).unwrap() == data);
            });
        }
    });
}

/// The bytes of uploads that were submitted to the device and are not done.
fn on_their_way(device: &MockDevice) -> u64 {
    let statistics = device.statistics();
    statistics.enqueued.uploads.bytes - statistics.executed.uploads.bytes
}

/// The uploads of a stream use only a few slots of their own, even where many are idle: so the
/// slots stay in the caches, and no stream waits for another.
#[test]
fn a_stream_has_few_bytes_on_their_way() {
    const LEN: usize = 40 << 20;
    const MOST: u64 = 8 << 20;
    let device = Mock::builder().schedule(Schedule::Lazy).build();
    let context = Context::new(device.clone()).unwrap();
    context.set_transfer_threads(2);
    let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
    let data = many_bytes(LEN, 5);
    let mut a = Array::<u8, _>::zeros(&one, &[LEN]).unwrap();
    // A copy back leaves as many slots idle as it has in flight.
    assert!(a.to_vec(&one).unwrap().iter().all(|&byte| byte == 0));
    a.view_mut().copy_from_slice(&one, &data).unwrap();
    let of_one = on_their_way(&device);
    assert!((MOST / 2..=MOST).contains(&of_one), "{of_one}");
    let mut b = Array::<u8, _>::uninit(&two, &[LEN]).unwrap();
    b.view_mut().copy_from_slice(&two, &data).unwrap();
    assert_eq!(on_their_way(&device), 2 * of_one, "the second stream waited for its own only");
    assert!(a.to_vec(&one).unwrap() == data && b.to_vec(&two).unwrap() == data);
}

/// There are two slots; the upload of one is done, the upload of the other is not. The next upload
/// takes the first slot, though the other was given back before it.
#[test]
fn an_upload_takes_a_slot_that_is_free_before_it_waits_for_one() {
    let device = Mock::builder().schedule(Schedule::Lazy).build();
    let context = Context::new(device.clone()).unwrap();
    let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
    let mut arrays = [&one, &two, &two].map(|stream| Array::<u8, _>::zeros(stream, &[100]).unwrap());
    // A query takes a step: there are more operations in front of the first upload than queries
    // here.
    for _ in 0..10 {
        arrays[0].view_mut().fill(&one, 7).unwrap();
    }
    let mut upload = |at: usize| {
        let stream = [&one, &two, &two][at];
        arrays[at].view_mut().copy_from_slice(stream, &[9; 100]).unwrap();
    };
    upload(0);
    upload(1);
    two.synchronize().unwrap();
    assert_eq!(on_their_way(&device), 100, "that of the first stream");
    upload(2);
    assert_eq!(on_their_way(&device), 200, "nothing was waited for");
    assert_eq!(device.report().host_buffers.len(), 2, "no slot was made");
}

#[test]
fn there_are_as_many_threads_as_processors_but_few() {
    let processors = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let expected = if processors == 1 { 0 } else { processors.min(10) };
    assert_eq!(Context::new(MockDevice::new()).unwrap().transfer_threads(), expected);
}
