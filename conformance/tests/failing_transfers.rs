//! A copy of borrowed memory that is made in pieces may fail at any call: the error is reported
//! once, every slot is returned, no thread still uses the caller's memory, and the next copy
//! succeeds. The number of threads makes no difference.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{Array, Context, Layout, StreamHandle};
use devarray_conformance::{Call, Instrumented};
use devarray_mock::MockDevice;

type Device = Instrumented<MockDevice>;

/// The number of bytes in a slot.
const SLOT: usize = 256 << 10;

/// Enough for thirteen pieces.
const LEN: usize = 12 * SLOT + 77;

/// Rows of just over half a slot, each a piece; there are more than are in flight at a
/// time.
const ROW: usize = SLOT / 2 + 100;
const ROWS: usize = 30;

/// The most slots that one copy uses, with a few to spare.
const SLOTS: usize = 40;

/// Uploads and downloads, with memory that is gone when this returns.
fn there_and_back(stream: &StreamHandle<Device>, data: &[u8]) -> devarray::Result<()> {
    let src = data[..LEN].to_vec();
    let a = Array::from_slice(stream, &[src.len()], &src)?;
    drop(src);
    assert!(a.to_vec(stream)? == data[..LEN]);
    Ok(())
}

/// Like [`there_and_back`], for rows with gaps between them.
fn rows_there_and_back(stream: &StreamHandle<Device>, data: &[u8]) -> devarray::Result<()> {
    const PITCH: usize = ROW + 8;
    let gaps = Layout::new(&[ROWS, ROW], &[PITCH.cast_signed(), 1], 0)?;
    let src = data[..ROWS * PITCH].to_vec();
    let mut a = Array::<u8, _>::zeros(stream, &[ROWS, ROW])?;
    a.view_mut().copy_from_host(stream, &src, &gaps)?;
    drop(src);
    let mut back = vec![7; ROWS * PITCH];
    a.view().copy_to_host(stream, &mut back, &gaps)?;
    for (back, there) in back.chunks(PITCH).zip(data.chunks(PITCH)) {
        assert!(back[..ROW] == there[..ROW] && back[ROW..] == [7; 8]);
    }
    Ok(())
}

/// Makes each call of one copy there and back fail, one after another in steps of `step`, on
/// `threads` threads, and checks that each failure is reported.
fn calls_fail(
    threads: usize,
    step: usize,
    copy: impl Fn(&StreamHandle<Device>) -> devarray::Result<()>,
) -> (Vec<Call>, Vec<bool>) {
    // Slots that were not returned would be missing after a few failures.
    let (device, log) =
        Instrumented::new(MockDevice::builder().judge(false).host_limit_bytes(SLOTS * SLOT).build());
    let context = Context::new(device).unwrap();
    context.set_transfer_threads(threads);
    let stream = context.stream().unwrap();
    copy(&stream).unwrap();
    log.clear();
    copy(&stream).unwrap();
    let calls = log.calls();
    let mut told = Vec::new();
    for at in (0..).step_by(step) {
        log.fail_after(at);
        let failed = copy(&stream).err();
        if log.stop_failing() {
            assert_eq!(failed, None);
            break;
        }
        let errors: Vec<_> = context.take_errors().into_iter().chain(failed).collect();
        assert!(errors.len() <= 1, "{errors:?}");
        told.push(!errors.is_empty());
        copy(&stream).unwrap();
        assert_eq!(context.take_errors(), []);
    }
    (calls, told)
}

fn data() -> Vec<u8> {
    (0..4 << 20).map(|k: usize| (k ^ (k >> 8) ^ (k >> 16)).to_le_bytes()[0]).collect()
}

fn count(calls: &[Call], call: Call) -> usize {
    calls.iter().filter(|&&made| made == call).count()
}

#[test]
fn every_call_may_fail_with_any_number_of_threads() {
    let data = data();
    let run = |threads| calls_fail(threads, 1, |stream| there_and_back(stream, &data));
    let alone = run(0);
    let (calls, told) = &alone;
    assert_eq!([count(calls, Call::Upload), count(calls, Call::Download)], [13, 13]);
    assert!(told.iter().filter(|&&told| told).count() >= 4 * 13, "{told:?}");
    for threads in [1, 4] {
        assert!(run(threads) == alone, "{threads} threads");
    }
}

#[test]
fn so_it_is_with_more_pieces_than_are_at_work_at_a_time() {
    let data = data();
    // Pieces take five to seven calls each, so all kinds of calls fail.
    let run = |threads| calls_fail(threads, 11, |stream| rows_there_and_back(stream, &data));
    let alone = run(0);
    assert_eq!([count(&alone.0, Call::Upload), count(&alone.0, Call::Download)], [ROWS, ROWS]);
    assert!(run(4) == alone);
}
