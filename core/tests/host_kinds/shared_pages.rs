//! Slices in one page, pinned by several threads: when one thread ends its pinning while another
//! copies, the copy must not be disturbed.

use std::{
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use devarray::{Array, Context, backend::RegisterHost};

/// The amount of work.
pub(crate) struct Load {
    /// Bytes of each of the two long slices.
    pub(crate) long_bytes: usize,
    /// The number of times that each slice is pinned, copied to the device and back, and compared.
    pub(crate) rounds: u8,
}

/// Bytes of a short slice: several lie in one page, and none begins or ends where a page does.
const SHORT_BYTES: usize = 900;

/// Short slices on either side of each long one.
const SHORTS: usize = 3;

/// The value of the byte at `at` in a slice and a round.
fn byte(slice: usize, round: u8, at: usize) -> u8 {
    let at = at.to_le_bytes();
    at[0] ^ at[1].rotate_left(3) ^ at[2] ^ round.wrapping_mul(29) ^ slice.to_le_bytes()[0].wrapping_mul(83)
}

/// Two long slices that meet inside a page, among short ones, all in one allocation; each slice has
/// a thread. All threads pin, copy there and back, compare and unpin, again and again: so pinnings
/// of neighbours in the same pages begin and end while copies are in flight.
///
/// Returns the number of times that a short slice was pinned and unpinned meanwhile.
pub(crate) fn neighbours_end_while_others_copy<D: RegisterHost>(context: &Context<D>, load: &Load) -> usize {
    let lens: Vec<usize> =
        [vec![SHORT_BYTES; SHORTS], vec![load.long_bytes; 2], vec![SHORT_BYTES; SHORTS]].concat();
    // Two allocations: one that is read, and one that is written.
    let total: usize = lens.iter().sum();
    let [mut sources, mut targets] = [vec![0_u8; total], vec![0; total]];
    let (mut from, mut to) = (&mut sources[..], &mut targets[..]);
    let (start, running, come_and_gone) =
        (Barrier::new(lens.len()), AtomicUsize::new(2), AtomicUsize::new(0));
    let failed = AtomicBool::new(false);
    thread::scope(|threads| {
        for (slice, &len) in lens.iter().enumerate() {
            let (source, target);
            ((source, from), (target, to)) = (from.split_at_mut(len), to.split_at_mut(len));
            let (start, running, come_and_gone, failed) = (&start, &running, &come_and_gone, &failed);
            threads.spawn(move || {
                let stream = context.stream().unwrap();
                let mut array = Array::<u8, D>::zeros(&stream, &[len]).unwrap();
                let is_long = len == load.long_bytes;
                start.wait();
                let mut round = 0_u8;
                // The short slices go on while a long one is copied, and end too if that failed.
                while if is_long { round < load.rounds } else { running.load(Relaxed) > 0 }
                    && !failed.load(Relaxed)
                {
                    source.iter_mut().enumerate().for_each(|(at, value)| *value = byte(slice, round, at));
                    target.fill(!0);
                    let copied =
                        context.with_all_pinned([&mut source[..], &mut target[..]], |[source, target]| {
                            stream.scope(|s| {
                                s.upload(source, &mut array.view_mut())?;
                                s.download(&array.view(), target)
                            })?
                        });
                    let wrong =
                        target.iter().enumerate().position(|(at, &found)| found != byte(slice, round, at));
                    let right = matches!(copied, Ok(Ok(()))) && wrong.is_none();
                    failed.fetch_or(!right, Relaxed);
                    assert!(right, "slice {slice}, round {round}: {copied:?}, first wrong byte {wrong:?}");
                    round = round.wrapping_add(1);
                    come_and_gone.fetch_add(usize::from(!is_long), Relaxed);
                }
                if is_long {
                    running.fetch_sub(1, Relaxed);
                }
            });
        }
    });
    assert_eq!(context.host_memory_statistics().registered, 0);
    assert_eq!(context.take_errors(), []);
    come_and_gone.into_inner()
}
