//! Ranks of one thread, with a device each.

use std::{
    any::Any,
    fmt, io, mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Mutex},
    thread::{self, Builder},
};

use super::{CollectiveError, Communicator, CommunicatorId, RankCall, waits::Waits};
use crate::{
    Context, Error, Result,
    backend::Collects,
    error::{call_location, made_again},
    lock::lock,
};

/// Several ranks of one thread: a communicator for each of its devices.
///
/// A call of a rank blocks until the other ranks have made theirs, so one thread cannot make the calls of
/// several ranks one after another. A group makes them at once: [`each`](Self::each) runs a function for each
/// rank, on threads that it starts and ends, so the function may borrow what is here.
///
/// ```
/// use devarray::{Array, Context, collective::{Combination, CommunicatorId, Group}};
/// use devarray_host::HostDevice;
///
/// let contexts = [0, 1].map(|_| Context::new(HostDevice::builder().threads(1).build()).unwrap());
/// let mut group = Group::join(&contexts, &CommunicatorId::new(), 0, 2)?;
/// let streams = [contexts[0].stream()?, contexts[1].stream()?];
/// let mut slopes =
///     [Array::full(&streams[0], &[3], 1.0_f32)?, Array::full(&streams[1], &[3], 2.0_f32)?];
///
/// group.each(&mut slopes, |ranks, slopes| {
///     ranks.all_reduce_in_place(&streams[ranks.rank()], Combination::Mean, slopes)
/// })?;
/// assert_eq!(slopes[0].to_vec(&streams[0])?, [1.5; 3]);
/// assert_eq!(slopes[1].to_vec(&streams[1])?, [1.5; 3]);
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// Other ranks of the communicator may be in other threads, groups and processes. A thread is started for each rank
/// but one, at each call; a program that makes many small calls has a thread for each rank instead.
///
/// Dropping it drops the communicators, at once.
pub struct Group<D: Collects> {
    communicators: Vec<Communicator<D>>,
}

impl<D: Collects> Group<D> {
    /// Joins the communicator of an id as ranks `first`, `first + 1`, and so on: one for each context. Blocks
    /// until all ranks have joined.
    ///
    /// # Errors
    ///
    /// - The errors of [`Communicator::join`].
    /// - [`CollectiveError::Apart`]: there are several contexts, and the backend decides which rank's thread runs,
    ///   as the simulator's `cluster` does.
    ///
    /// # Panics
    ///
    /// If the system starts no thread.
    #[track_caller]
    pub fn join(contexts: &[Context<D>], id: &CommunicatorId, first: usize, ranks: usize) -> Result<Self> {
        let site = call_location();
        let mut joining = Vec::with_capacity(contexts.len());
        for (at, context) in contexts.iter().enumerate() {
            let rank = first.saturating_add(at);
            // A rank that joins waits for all, so mistakes that it finds alone are found before.
            Communicator::check_join(context, rank, ranks)?;
            if contexts.len() > 1 && context.device().turns().is_some() {
                return Err(CollectiveError::Apart(rank).of(context.0.backend(), "join"));
            }
            joining.push((rank, context));
        }
        let join = |(rank, context)| made_again(site, || Communicator::join(context, id, rank, ranks));
        let communicators = first_error(at_once(joining, join))?;
        Ok(Self { communicators })
    }

    /// Runs a function for each rank, with one of these values, at once, and returns what they return. Blocks until
    /// all have returned. The values are references to an array of each rank, for example.
    ///
    /// Every rank makes the same calls in it. A rank of the group that waits for a call of one whose function has
    /// returned is told so when all other ranks wait as well, by [`CollectiveError::Stuck`]. Where ranks are processes
    /// it is told when the time limit has passed.
    ///
    /// # Errors
    ///
    /// The first error of the functions, and rather one that is not about other ranks. If no other rank needed
    /// the rank that failed, the communicators can be used again. If its calls are
    /// [unchecked](Communicator::into_unchecked), or ranks are processes, the communicator is over.
    ///
    /// # Panics
    ///
    /// - If there are not as many values as ranks.
    /// - If the function does for a rank, when it has ended for all. The communicator is over.
    /// - If the system starts no thread. No function has run.
    #[track_caller]
    pub fn each<A: Send, R: Send>(
        &mut self,
        values: impl IntoIterator<Item = A>,
        run: impl Fn(&mut Communicator<D>, A) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let values: Vec<A> = values.into_iter().collect();
        assert_eq!(values.len(), self.communicators.len(), "a group takes one value for each of its ranks");
        let beside: Vec<_> = self.communicators.iter().map(|of| of.beside(&self.communicators)).collect();
        let parts = self.communicators.iter_mut().zip(beside).zip(values).collect();
        let outcomes = at_once(parts, |((communicator, beside), value): ((&mut Communicator<D>, _), A)| {
            let outcome = catch_unwind(AssertUnwindSafe(|| run(communicator, value)));
            communicator.has_returned(beside, &outcome);
            outcome.unwrap_or_else(|panic| resume_unwind(panic))
        });
        for communicator in &self.communicators {
            communicator.rest(None);
        }
        first_error(outcomes)
    }

    /// The communicators, in the order of ranks.
    pub fn communicators(&mut self) -> &mut [Communicator<D>] {
        &mut self.communicators
    }

    /// Returns the communicators, in the order of ranks: to give each to a thread.
    #[must_use]
    pub fn into_communicators(mut self) -> Vec<Communicator<D>> {
        mem::take(&mut self.communicators)
    }

    /// The number of ranks of this thread.
    #[must_use]
    pub fn len(&self) -> usize {
        self.communicators.len()
    }

    /// Whether it has no rank.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.communicators.is_empty()
    }
}

/// A group of ranks that have joined: of unchecked communicators, or of a split.
impl<D: Collects> From<Vec<Communicator<D>>> for Group<D> {
    fn from(communicators: Vec<Communicator<D>>) -> Self {
        Self { communicators }
    }
}

impl<D: Collects> Drop for Group<D> {
    fn drop(&mut self) {
        // One may wait until the exchanges of all are over.
        let mut communicators = mem::take(&mut self.communicators);
        if communicators.len() > 1 {
            for communicator in &mut communicators {
                communicator.in_panic = thread::panicking();
            }
            drop(at_once(communicators, drop));
        }
    }
}

impl<D: Collects> fmt::Debug for Group<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Group").field(&self.communicators).finish()
    }
}

impl<D: Collects> Communicator<D> {
    /// The ranks of a group that have a seat at the board of this one.
    fn beside(&self, group: &[Self]) -> Arc<[usize]> {
        group.iter().filter(|of| of.link.is_beside(&self.link)).map(|of| of.rank).collect()
    }

    /// Whether this rank makes no call from here on while one of these waits in a call. Whether those that wait for it
    /// are told.
    fn rest(&self, rests: Option<Arc<[usize]>>) -> bool {
        let call = RankCall::new("rest", self.calls);
        self.link.rest(rests, &Waits::new(&call, self.turns.as_deref(), None))
    }

    /// The function of this rank has returned, or panicked: it makes no call before the ranks beside it have returned.
    fn has_returned<R>(&self, beside: Arc<[usize]>, outcome: &thread::Result<Result<R>>) {
        let is_told = self.rest(Some(beside)) && !self.is_unchecked();
        match outcome {
            Ok(Ok(_)) => {}
            Ok(Err(_)) if is_told => {}
            _ => self.aborter().abort(),
        }
    }
}

/// Runs a function with each of these at once, the first one here. Their outcomes, in order, or why the system started
/// too few threads; none has run then.
fn at_once<P: Send, R: Send>(
    parts: Vec<P>,
    run: impl Fn(P) -> R + Sync,
) -> io::Result<Vec<thread::Result<R>>> {
    // Whether all threads have started. Started threads wait for this lock.
    let started = Mutex::new(false);
    let (run, started) = (&run, &started);
    thread::scope(|scope| {
        let mut has_started = lock(started);
        let mut parts = parts.into_iter();
        let first = parts.next();
        let start = |part: P| {
            let part = move || {
                let has_started = *lock(started);
                has_started.then(|| run(part))
            };
            Builder::new().spawn_scoped(scope, part)
        };
        let threads = parts.map(start).collect::<io::Result<Vec<_>>>()?;
        *has_started = true;
        drop(has_started);
        let mut outcomes: Vec<_> =
            first.into_iter().map(|part| catch_unwind(AssertUnwindSafe(|| run(part)))).collect();
        outcomes.extend(threads.into_iter().filter_map(|thread| thread.join().transpose()));
        Ok(outcomes)
    })
}

/// All results, or the first panic, or the first error: if there is one, an error that is not about other ranks.
#[track_caller]
fn first_error<R>(outcomes: io::Result<Vec<thread::Result<Result<R>>>>) -> Result<Vec<R>> {
    let outcomes = outcomes.unwrap_or_else(|error| panic!("the system starts no thread for a rank: {error}"));
    let outcomes: Vec<Result<R>> = outcomes
        .into_iter()
        .collect::<thread::Result<_>>()
        .unwrap_or_else(|panic: Box<dyn Any + Send>| resume_unwind(panic));
    let is_of_others = |error: &Error| matches!(error, Error::Collective { .. });
    let mut results = Vec::with_capacity(outcomes.len());
    let mut failed: Option<Error> = None;
    for outcome in outcomes {
        match outcome {
            Ok(result) => results.push(result),
            Err(error)
                if failed.as_ref().is_none_or(|first| is_of_others(first) && !is_of_others(&error)) =>
            {
                failed = Some(error);
            }
            Err(_) => {}
        }
    }
    failed.map_or(Ok(results), Err)
}
