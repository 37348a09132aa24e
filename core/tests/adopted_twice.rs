//! Copies whose source and destination are in memory that was adopted twice.
#![allow(unsafe_code, clippy::unwrap_used)] // adopts memory of a raw stream twice

use devarray::{
    Array, ArrayView, ArrayViewMut, Context, Error, Layout, LayoutError, Order, Pad, Result, StreamHandle, ix,
};
use devarray_mock::{MockDevice, Schedule};

/// Elements of each array.
const LEN: usize = 96;

/// The array to read, the array to write, and the streams of both.
struct Given<'a, 'g> {
    stream: &'g StreamHandle<MockDevice>,
    to: ArrayViewMut<'a, u32, MockDevice>,
    other: &'g StreamHandle<MockDevice>,
    from: ArrayView<'a, u32, MockDevice>,
}

type Way = (&'static str, fn(Given<'_, '_>) -> Result<()>);

/// Operations of one context.
const WAYS: [Way; 11] = [
    ("copy", |mut g| g.to.copy_from(g.stream, &g.from)),
    ("copy_from_peer", |mut g| g.to.copy_from_peer(g.stream, g.other, &g.from).map(drop)),
    ("copy_across", |mut g| g.to.copy_across(g.stream, g.other, &g.from)),
    ("concatenate", |mut g| g.to.concatenate_from(g.stream, &[g.from], 0)),
    ("concatenate two", |mut g| {
        let (one, two) = (g.from.index(&ix![..LEN / 2])?, g.from.index(&ix![LEN / 2..])?);
        g.to.concatenate_from(g.stream, &[two, one], 0)
    }),
    // More copies than are submitted at a time: the last reads what the first writes.
    ("concatenate many", |mut g| {
        let parts = (0..LEN).rev().map(|at| g.from.index(&ix![at..=at])).collect::<Result<Vec<_>>>()?;
        g.to.concatenate_from(g.stream, &parts, 0)
    }),
    ("stack", |g| g.to.reshape(&[1, LEN], Order::C)?.stack_from(g.stream, &[g.from], 0)),
    ("roll", |mut g| g.from.roll_into(g.stream, &[1], &[0], &mut g.to)),
    ("tile", |mut g| g.from.index(&ix![LEN / 2..])?.tile_into(g.stream, &[2], &mut g.to)),
    ("repeat", |mut g| g.from.index(&ix![LEN / 2..])?.repeat_into(g.stream, 2, 0, &mut g.to)),
    ("pad", |mut g| g.from.index(&ix![8..])?.pad_into(g.stream, &[(4, 4)], Pad::Edge, &mut g.to)),
];

/// Tries each way. The array to write begins `behind` elements after the array to read.
fn on_both(behind: usize, ways: &[Way], two_contexts: bool, check: impl Fn(&str, Result<()>)) {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let same = if two_contexts { Context::new(device.clone()).unwrap() } else { context.clone() };
    let other = same.stream().unwrap();
    let layout = Layout::contiguous(&[LEN], Order::C).unwrap();
    let numbers: Vec<u32> = (0..).take(2 * LEN).collect();
    for &(name, way) in ways {
        let released = Array::from_slice(&stream, &[2 * LEN], &numbers).unwrap().release(&stream).unwrap();
        stream.synchronize().unwrap();
        let address = released.address();
        // SAFETY: allocated until `reclaim`. All calls tried on both are to be refused.
        let from = unsafe { Array::<u32, _>::adopt(&other, address, &layout, ()) }.unwrap();
        // SAFETY: as above.
        let to = unsafe { Array::<u32, _>::adopt(&stream, address + 4 * behind as u64, &layout, ()) };
        let mut to = to.unwrap();
        check(name, way(Given { stream: &stream, to: to.view_mut(), other: &other, from: from.view() }));
        drop((from, to));
        stream.synchronize().unwrap();
        other.synchronize().unwrap();
        // SAFETY: it is the buffer that was released, and nobody uses it.
        drop(unsafe { Array::<u32, _>::reclaim(&stream, released) }.unwrap());
    }
    assert_eq!(device.report().findings, []);
}

fn refused(name: &str, answer: Result<()>) {
    assert_eq!(answer, Err(Error::from(LayoutError::SharedMemory)), "{name}");
}

#[test]
fn bytes_that_are_read_and_written_are_refused() {
    on_both(LEN / 2 + 8, &WAYS, false, refused);
    // Two contexts of one device share one address space.
    on_both(8, &WAYS[1..2], true, refused);
}

#[test]
fn bytes_that_are_read_or_written_are_not() {
    on_both(LEN, &WAYS, false, |name, answer| assert_eq!(answer, Ok(()), "{name}"));
    on_both(LEN, &WAYS[1..3], true, |name, answer| assert_eq!(answer, Ok(()), "{name}"));
}

/// A launch that writes memory that the recording also reads, through another array, makes its calls in order. The
/// schedule would make the last call first.
#[test]
fn recorded_calls_on_both_are_made_in_order() {
    let device = MockDevice::builder().schedule(Schedule::ReverseLazy).build();
    let stream = Context::new(device.clone()).unwrap().stream().unwrap();
    let layout = Layout::contiguous(&[LEN], Order::C).unwrap();
    let released =
        Array::from_slice(&stream, &[2 * LEN], &[1_u32; 2 * LEN]).unwrap().release(&stream).unwrap();
    stream.synchronize().unwrap();
    let address = released.address();
    let adopt = |behind: usize| {
        // SAFETY: allocated until `reclaim`. Work on both is on one stream, whose order is kept.
        unsafe { Array::<u32, _>::adopt(&stream, address + 4 * behind as u64, &layout, ()) }.unwrap()
    };
    let shared = adopt(0).into_shared();
    let (mut near, mut far) = (adopt(LEN / 2), adopt(LEN));
    let mut sums = Array::<u32, _>::zeros(&stream, &[LEN]).unwrap();
    let recorded = stream
        .record_work((&mut near, &mut sums), |on, (mut to, mut sums)| {
            shared.view().map_into(on, &mut sums, |x| x + 1)?;
            to.fill(on, 7)
        })
        .unwrap();
    for (to, how) in [(&mut far, "apart"), (&mut near, "over each other")] {
        recorded.launch(&stream, (to, &mut sums)).unwrap();
        assert_eq!(sums.to_vec(&stream).unwrap(), [2; LEN], "{how}");
    }
    // One call that would read what it writes is refused, also if it makes several copies.
    let rolled = stream
        .record_work((&mut near,), |on, (mut to,)| shared.view().roll_into(on, &[1], &[0], &mut to))
        .unwrap();
    rolled.launch(&stream, (&mut far,)).unwrap();
    let refused = rolled.launch(&stream, (&mut near,)).unwrap_err();
    assert!(matches!(refused, Error::Layout(LayoutError::SharedMemory, ..)), "{refused}");
    drop((recorded, rolled, shared, near, far));
    stream.synchronize().unwrap();
    // SAFETY: it is the buffer that was released, and nobody uses it.
    drop(unsafe { Array::<u32, _>::reclaim(&stream, released) }.unwrap());
}
