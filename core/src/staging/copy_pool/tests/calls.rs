//! Threads that are woken, and the time that a thread looks before it sleeps.

use std::cell::Cell;

use super::*;

/// Calls as many as there are shares without a thread on its way, as are asleep and not called yet, and
/// as the caller says.
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

/// It looks until it is so, which may be at once, and gives up after a while.
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
