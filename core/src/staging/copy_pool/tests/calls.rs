//! Waking threads, and the time that a thread looks for work before it sleeps.

use std::cell::Cell;

use super::*;

/// The number of calls is limited by the shares that no thread is coming for, by the sleeping threads
/// that are not called yet, and by what the caller allows.
#[test]
fn as_many_are_called_as_there_is_work_for() {
    let pool = pool(0);
    let handle = JobHandle::new(Task::of(9, |_| ()));
    lock(&pool.shared.queue).jobs.extend(handle.0.clone());
    for (asleep, called, looking, most, calls) in [
        (9, 1, 2, 20, 6),
        (9, 2, 2, 20, 5),
        (9, 0, 9, 20, 0),
        (9, 8, 4, 20, 0),
        (9, 3, 0, 2, 2),
        (5, 3, 1, 20, 2),
        (3, 3, 0, 20, 0),
        (2, 3, 0, 20, 0),
    ] {
        let mut queue = lock(&pool.shared.queue);
        (queue.asleep, queue.called, queue.looking) = (asleep, called, looking);
        pool.shared.call(queue, most);
        let now = lock(&pool.shared.queue).called;
        assert_eq!(now, called + calls, "{asleep} asleep, {called} called, {looking} look, {most} at most");
    }
}

/// A look ends when the condition holds, which may be at once, or after a while.
#[test]
fn a_look_ends() {
    for (so_after, looks) in [(1, 1), (2, 2), (LOOKS, LOOKS), (LOOKS + 1, LOOKS), (usize::MAX, LOOKS)] {
        let looked = Cell::new(0);
        look_until(|| {
            looked.update(|looked| looked + 1);
            looked.get() == so_after
        });
        assert_eq!(looked.get(), looks);
    }
}
