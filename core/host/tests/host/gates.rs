//! Kernels whose host functions wait for each other, or for the test.

use std::{
    sync::{
        Condvar, Mutex,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    time::Duration,
};

use devarray::kernel::{Grid, Image, InOut};

/// A place where host functions wait: the number of threads that came, and whether they may go on.
struct Gate {
    state: Mutex<(u32, bool)>,
    changed: Condvar,
}

/// More than the tests of this program.
const GATES: usize = 16;

static ALL: [Gate; GATES] =
    [const { Gate { state: Mutex::new((0, false)), changed: Condvar::new() } }; GATES];
static TAKEN: AtomicU32 = AtomicU32::new(0);

/// Longer than anything takes that does not wait for ever.
const FOR_EVER: Duration = Duration::from_secs(30);

/// Takes a gate that nobody else uses; it is closed.
pub(crate) fn new() -> u32 {
    let gate = TAKEN.fetch_add(1, SeqCst);
    assert!((gate as usize) < GATES, "too few gates");
    gate
}

/// Comes to a gate, waits until it is open, and returns whether it opened in time.
pub(crate) fn pass(gate: u32, limit: Duration) -> bool {
    let Gate { state, changed } = &ALL[gate as usize];
    let mut state = state.lock().unwrap();
    state.0 += 1;
    changed.notify_all();
    changed.wait_timeout_while(state, limit, |state| !state.1).unwrap().0.1
}

/// Waits until `count` threads have come, and returns whether they did in time.
pub(crate) fn await_arrivals(gate: u32, count: u32, limit: Duration) -> bool {
    let Gate { state, changed } = &ALL[gate as usize];
    let state = state.lock().unwrap();
    changed.wait_timeout_while(state, limit, |state| state.0 < count).unwrap().0.0 >= count
}

/// Waits until one thread has come.
pub(crate) fn await_arrival(gate: u32) {
    assert!(await_arrivals(gate, 1, FOR_EVER), "nobody came");
}

pub(crate) fn open(gate: u32) {
    let Gate { state, changed } = &ALL[gate as usize];
    state.lock().unwrap().1 = true;
    changed.notify_all();
}

devarray::kernel! {
    /// Waits at a gate, then adds 1 to each element.
    pub(crate) struct Wait(to: InOut<u32>, gate: u32);
    image = Image::none();
    launch { Grid::elements(to.len(), 32) }
    host {
        assert!(pass(gate, FOR_EVER), "the gate stayed closed");
        to.iter_mut().for_each(|to| *to += 1);
    }
}

devarray::kernel! {
    /// Waits until `count` threads are here, then writes how many came.
    pub(crate) struct Meet(to: InOut<u32>, gate: u32, count: u32, limit_ms: u32);
    image = Image::none();
    launch { Grid::elements(to.len(), 32) }
    host {
        let limit = Duration::from_millis(limit_ms.into());
        // Nobody opens the gate: the threads only count.
        let Gate { state, changed } = &ALL[gate as usize];
        state.lock().unwrap().0 += 1;
        changed.notify_all();
        let all = await_arrivals(gate, count, limit);
        to.iter_mut().for_each(|to| *to = u32::from(all));
    }
}
