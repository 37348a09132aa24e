//! Ranks of a program: threads that run one at a time.

use std::{
    any::Any,
    collections::BTreeMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use devarray::collective::CommunicatorId;

use crate::{
    Explore, MockDevice,
    explore::like_a_test,
    panics,
    turns::{Caller, Turn, Turns},
};

/// Random schedules of [`cluster`].
const SCHEDULES: u64 = 20;

/// One rank of a [cluster](MockDevice::cluster).
pub struct Rank {
    number: usize,
    ranks: usize,
    device: MockDevice,
    ids: Arc<Mutex<BTreeMap<usize, CommunicatorId>>>,
}

impl Rank {
    /// Its number, from 0.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Its device: a [sibling](MockDevice::sibling) of the others'.
    #[must_use]
    pub fn device(&self) -> MockDevice {
        self.device.clone()
    }

    /// The id of a communicator, the same for all ranks that give this number.
    #[must_use]
    pub fn id(&self, number: usize) -> CommunicatorId {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids.entry(number).or_default().clone()
    }
}

impl fmt::Debug for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rank({} of {})", self.number, self.ranks)
    }
}

/// Runs a program of several ranks under the three fixed schedules and 20 random ones, and fails like a
/// test at the first wrong run, as [`explore`](crate::explore()) does.
///
/// The schedule also decides which rank goes on, at each call that comes to the simulator. So a run is
/// repeated by its trace. Besides the mistakes that are found on one device, these are [findings](crate::Finding), which tell what
/// each rank was doing, and in which line: calls that [differ](crate::Code::RanksDisagree), ranks that
/// [wait for each other](crate::Code::RanksStuck), on one communicator or on several, a send or a
/// receive [without its other half](crate::Code::Unpaired), a [rank that is gone](crate::Code::RankGone)
/// while others need it, and a rank that [waits for another outside the
/// library](crate::Code::RankBlocked).
///
/// ```
/// use devarray::{Array, Context, collective::{Combination, Communicator}};
/// use devarray_mock::cluster;
///
/// cluster(2, |rank| {
///     let context = Context::new(rank.device()).unwrap();
///     let stream = context.stream().unwrap();
///     let mut ranks = Communicator::join(&context, &rank.id(0), rank.number(), 2).unwrap();
///     let own = Array::full(&stream, &[4], rank.number() as f32).unwrap();
///     let sum = ranks.all_reduce(&stream, Combination::Sum, &own).unwrap();
///     assert_eq!(sum.to_vec(&stream).unwrap(), [1.0; 4]);
/// });
/// ```
///
/// # Panics
///
/// If a run is wrong.
#[track_caller]
pub fn cluster<R: Send>(ranks: usize, program: impl Fn(Rank) -> R + Sync) {
    let exploration = Explore::new().schedules(SCHEDULES);
    let run = |device: MockDevice| drop(device.cluster(ranks, &program));
    like_a_test(&exploration, run, |run| exploration.run(run).map(drop));
}

impl MockDevice {
    /// Runs a program of several ranks once: each on a thread and a [sibling](Self::sibling) of its own.
    /// Exactly one thread runs at a time, as the schedule of this device decides. The outcomes, in the order of
    /// ranks. Blocks until all have ended.
    ///
    /// A thread that a rank starts passes the turn on for that rank; it is repeated by a trace only if
    /// the rank waits for it before it goes on.
    ///
    /// # Panics
    ///
    /// If a rank does, when all have ended, as the rank that did first. If ranks of another cluster run on this machine.
    pub fn cluster<R: Send>(&self, ranks: usize, program: impl Fn(Rank) -> R + Sync) -> Vec<R> {
        let turns = Turns::new(ranks, self.shared().machine(), self.shared().rank_time_limit());
        let ids = Arc::default();
        let is_quiet = panics::is_quiet();
        let starts = self.shared().engine().start_ranks(ranks);
        assert!(starts, "a cluster while another one runs on the machine");
        let first: Mutex<Option<Box<dyn Any + Send>>> = Mutex::new(None);
        let outcomes: Vec<Option<R>> = thread::scope(|scope| {
            let start = |number: usize| {
                let turn = turns.of_rank(number);
                let device = self.of_turn(Arc::clone(&turn));
                let rank = Rank { number, ranks, device, ids: Arc::clone(&ids) };
                let (program, first) = (&program, &first);
                scope.spawn(move || {
                    let run = || run_rank(&turn, first, || program(rank));
                    if is_quiet { panics::quietly(run) } else { run() }
                })
            };
            let threads: Vec<_> = (0..ranks).map(start).collect();
            threads.into_iter().map(|thread| thread.join().ok().flatten()).collect()
        });
        self.shared().engine().end_ranks();
        if let Some(panic) = first.into_inner().unwrap_or_else(PoisonError::into_inner) {
            resume_unwind(panic);
        }
        outcomes.into_iter().flatten().collect()
    }
}

/// Runs the program of a rank from its first turn to its last.
fn run_rank<R>(
    turn: &Arc<Turn>,
    first: &Mutex<Option<Box<dyn Any + Send>>>,
    program: impl FnOnce() -> R,
) -> Option<R> {
    turn.begin();
    let _caller = Caller::set(turn);
    // The program shares with other ranks as with threads that may panic.
    let outcome = catch_unwind(AssertUnwindSafe(program));
    let panicked = outcome.is_err();
    let outcome = outcome.map_err(|panic| {
        first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
    });
    turn.end(panicked);
    outcome.ok()
}
