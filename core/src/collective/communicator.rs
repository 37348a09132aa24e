//! One rank's part in a communicator.

use std::{
    fmt,
    sync::{Arc, Weak, atomic::AtomicU64},
    thread,
    time::Duration,
};

use super::{
    Aborter, CollectiveError, CommunicatorId, Exchange, RankCall,
    board::Given,
    exchange::Combinings,
    link::{Agreement, Gathering, Link},
    meeting::Waiting,
    numbers::Numbers,
    seated::Seated,
    waits::Waits,
    watcher::Watcher,
};
use crate::{
    Context, Error, Result,
    backend::{Capability, Collects, CutOff, Joining, RankTurns},
    debug_text::DeviceName,
    recorded::Part,
};

/// More threads than any machine runs.
const MOST_RANKS: usize = 1 << 16;

/// The call by which a rank becomes one.
const JOIN: &str = "join";

/// One rank's part in a communicator of several.
///
/// A call takes it by `&mut`, so two threads cannot call at once, and the calls of a rank have one
/// order. It may move to another thread.
///
/// Dropping it tells the other ranks: calls of theirs that need this rank fail at once. Where it is
/// forgotten instead ([`std::mem::forget`]), they fail when the [time
/// limit](CommunicatorId::with_time_limit) has passed. On CUDA by NCCL, dropping it blocks until its
/// exchanges are over, up to the time limit, and then cuts them off. Elsewhere it waits for no device.
pub struct Communicator<D: Collects> {
    pub(super) context: Context<D>,
    pub(super) raw: Arc<D::Communicator>,
    pub(super) link: Arc<Link>,
    pub(super) time_limit: Duration,
    /// Is told when the communicator is over, as long as it is kept here.
    watcher: Option<Arc<Watcher<D>>>,
    pub(super) rank: usize,
    pub(super) ranks: usize,
    /// Calls so far.
    pub(super) calls: u64,
    /// Calls so far by which all ranks waited for each other.
    pub(super) meetings: u64,
    pub(super) turns: Option<Arc<dyn RankTurns>>,
    /// Numbers of exchanges that are not compared; none if they are.
    own_numbers: Option<Numbers>,
    pub(super) combinings: Combinings,
    /// Tells whether exchanges were cut off; none if they never are.
    pub(super) cut_off: Option<Arc<dyn CutOff>>,
    /// The argument of a recording that it stands for; none for a rank's own.
    pub(super) part: Option<Part>,
    /// The thread that has it panics. Set where another thread drops it.
    pub(super) in_panic: bool,
}

impl<D: Collects> Communicator<D> {
    /// Joins the communicator of an id. Blocks until all ranks have joined.
    ///
    /// Each rank has a thread and a context of its own, of one backend.
    ///
    /// ```
    /// use std::thread;
    /// use devarray::{Array, Context, Result, collective::{Combination, Communicator, CommunicatorId}};
    /// use devarray_host::HostDevice;
    ///
    /// fn total(rank: usize, id: &CommunicatorId) -> Result<Vec<f32>> {
    ///     let context = Context::new(HostDevice::builder().threads(1).build())?;
    ///     let stream = context.stream()?;
    ///     let mut ranks = Communicator::join(&context, id, rank, 2)?;
    ///     let own = Array::from_slice(&stream, &[2], &[1.0, rank as f32])?;
    ///     ranks.all_reduce(&stream, Combination::Sum, &own)?.to_vec(&stream)
    /// }
    ///
    /// let id = CommunicatorId::new();
    /// thread::scope(|scope| {
    ///     let other = scope.spawn(|| total(1, &id));
    ///     assert_eq!(total(0, &id)?, [2.0, 1.0]);
    ///     assert_eq!(other.join().unwrap()?, [2.0, 1.0]);
    ///     Ok::<(), devarray::Error>(())
    /// })?;
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Unsupported`]: the device has no [`Collectives`](crate::backend::Capability::Collectives).
    /// - [`Error::Collective`]: `rank` is not below `ranks`, or these are more than 65,536; it has joined already; another rank joins
    ///   another number of ranks, is of this context, or of another backend; or not all came in time.
    ///   The other ranks are told, too, unless the communicator was complete.
    /// - Any device error.
    #[track_caller]
    pub fn join(context: &Context<D>, id: &CommunicatorId, rank: usize, ranks: usize) -> Result<Self> {
        Self::check_join(context, rank, ranks)?;
        let (device, backend) = (context.device(), context.0.backend());
        let turns = device.turns();
        if turns.is_some() && id.service().is_some() {
            // A backend that decides which rank's thread runs has no power over other processes.
            return Err(CollectiveError::Apart(rank).of(backend, JOIN));
        }
        let mut call = RankCall::new(JOIN, 0);
        call.count = ranks;
        let waits = Waits::new(&call, turns.as_deref(), Some(id.time_limit()));
        let own = (backend, Arc::as_ptr(&context.0).addr());
        let waiting = Waiting::begin(turns.as_deref(), id.0.way.meeting(0));
        let joined = id.0.way.join((rank, ranks), own, &call, &waits);
        let link = match waiting.end(joined) {
            Ok(link) => Arc::new(link),
            Err(error) => return Err(error.of(backend, JOIN)),
        };
        let time_limit = link.time_limit().unwrap_or_else(|| id.time_limit());
        let gathering =
            Gathering { link: &link, turns: turns.as_deref(), time_limit, calls: AtomicU64::new(0) };
        let joining = Joining { backend, place: id.0.place(), together: &gathering, rank, ranks, time_limit };
        let seated = Seated::new(&link, &waits);
        let raw = Arc::new(device.join(&joining)?);
        seated.stays();
        // Where a backend decides which rank runs, none of them waits on its own.
        let watcher = turns.is_none().then(|| Arc::new(Watcher::<D>::new(context, &raw)));
        if let Some(watcher) = &watcher {
            let watcher: Weak<Watcher<D>> = Arc::downgrade(watcher);
            link.watch(watcher);
        }
        let (context, own_numbers, cut_off) = (context.clone(), None, device.cut_off(&raw));
        Ok(Self {
            context,
            raw,
            link,
            time_limit,
            watcher,
            rank,
            ranks,
            calls: 1,
            meetings: 1,
            turns,
            own_numbers,
            combinings: Combinings::default(),
            cut_off,
            part: None,
            in_panic: false,
        })
    }

    /// Finds the mistakes in joining that a rank can find alone.
    #[track_caller]
    pub(super) fn check_join(context: &Context<D>, rank: usize, ranks: usize) -> Result<()> {
        let (backend, capability) = (context.0.backend(), Capability::Collectives);
        if !context.device().info().capabilities.extras.has(capability) {
            return Err(Error::Unsupported { backend, operation: JOIN, capability });
        }
        let error = match () {
            () if rank >= ranks => CollectiveError::NoRank { rank, ranks },
            () if ranks > MOST_RANKS => CollectiveError::TooMany { ranks, most: MOST_RANKS },
            () => return Ok(()),
        };
        Err(error.of(backend, JOIN))
    }

    /// A communicator that stands for this one in a recording. Nobody else is told when it is dropped.
    pub(super) fn standing_for(&self, part: Part) -> Self {
        Self {
            context: self.context.clone(),
            raw: Arc::clone(&self.raw),
            link: Arc::clone(&self.link),
            time_limit: self.time_limit,
            watcher: None,
            rank: self.rank,
            ranks: self.ranks,
            calls: 0,
            meetings: 0,
            turns: self.turns.clone(),
            own_numbers: None,
            combinings: Combinings::default(),
            cut_off: None,
            part: Some(part),
            in_panic: false,
        }
    }

    /// This rank, from 0.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The context of this rank.
    #[must_use]
    pub fn context(&self) -> &Context<D> {
        &self.context
    }

    /// Returns this communicator as one that enqueues exchanges without comparing the calls of ranks before.
    /// Its calls need not block until the other ranks have made theirs. They do where ranks reach each other's
    /// memory, which is lent by the call: between threads on the CPU and between CUDA devices of one process.
    ///
    /// [`barrier`](Self::barrier), [`split`](Self::split) and
    /// [`all_to_all_counted`](Self::all_to_all_counted) compare calls all the same, and communicators of a
    /// split are checked ones. On the simulator's `cluster` all calls are compared, and those that differ are
    /// findings.
    ///
    /// If a call of an exchange or a [launch](crate::recorded#ranks) with exchanges fails on one rank, or its thread
    /// panics, the communicator ends for all ranks, as [`abort`](Self::abort) ends it. A rank that ends otherwise
    /// while others count on it has to abort: they wait for the [time limit](CommunicatorId::with_time_limit), and
    /// work on their streams may wait for ever.
    ///
    /// # Safety
    ///
    /// From here on the ranks make the exchanges that a checked communicator would carry out: all ranks call this
    /// after the same calls, and then make the same exchanges in the same order, with the same types, counts,
    /// combinations and roots, by calls or by launches. Each send has its receive, and the exchanges between two
    /// ranks have one order on both. Counts of rows that a rank is to get are those that the others send.
    ///
    /// ```
    /// # use devarray::{Array, Context, Result, collective::{Combination, Communicator, CommunicatorId}};
    /// # use devarray_host::HostDevice;
    /// # let context = Context::new(HostDevice::builder().threads(1).build())?;
    /// # let stream = context.stream()?;
    /// let mut ranks = Communicator::join(&context, &CommunicatorId::new(), 0, 1)?;
    /// let mut slopes = Array::full(&stream, &[4], 2.0_f32)?;
    /// // The first step is checked.
    /// ranks.all_reduce_in_place(&stream, Combination::Mean, &mut slopes)?;
    /// // SAFETY: the steps that follow make the same calls on all ranks.
    /// let mut ranks = unsafe { ranks.into_unchecked() };
    /// for _ in 0..9 {
    ///     ranks.all_reduce_in_place(&stream, Combination::Mean, &mut slopes)?;
    /// }
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[must_use]
    #[expect(unsafe_code, reason = "the contract is the caller's; nothing unsafe happens here")]
    pub unsafe fn into_unchecked(mut self) -> Self {
        // No call of a stand-in asks other ranks.
        if self.part.is_none() {
            self.own_numbers.get_or_insert_default();
            self.watcher.iter().for_each(|watcher| watcher.unchecked());
            if self.link.broken().is_some() {
                // The board, which lets no rank come to an exchange any more, is not asked from here on.
                self.context.device().abort(&self.raw);
            }
        }
        self
    }

    /// Whether exchanges are not compared.
    pub(super) fn is_unchecked(&self) -> bool {
        self.own_numbers.is_some()
    }

    /// Ends the communicator for all ranks: their calls that wait fail, and so do later ones. Does not
    /// block.
    pub fn abort(self) {
        self.aborter().abort();
    }

    /// A handle with which another thread may abort the communicator, while this one is in a call.
    #[must_use]
    pub fn aborter(&self) -> Aborter<D> {
        let (raw, link, turns) = (Arc::clone(&self.raw), Arc::clone(&self.link), self.turns.clone());
        Aborter { context: self.context.clone(), raw, link, turns }
    }

    /// The call that is made now.
    #[track_caller]
    pub(super) fn next_call(&mut self, operation: &'static str) -> RankCall {
        let number = self.calls;
        self.calls += 1;
        RankCall::new(operation, number)
    }

    /// The number of an exchange: of a checked communicator, when the other ranks make calls that fit.
    #[track_caller]
    pub(super) fn number_of(&mut self, call: &RankCall, exchange: Exchange) -> Result<u64> {
        // The simulator's cluster judges them.
        match &mut self.own_numbers {
            Some(numbers) if self.turns.is_none() => Ok(numbers.next(exchange)),
            _ => Ok(self.agree(call, None)?.number),
        }
    }

    /// Waits until the other ranks make calls that fit.
    #[track_caller]
    pub(super) fn agree(&self, call: &RankCall, color: Option<usize>) -> Result<Agreement> {
        self.check_runs(call.operation)?;
        let waits = Waits::new(call, self.turns.as_deref(), Some(self.time_limit));
        let given = Given { color, bytes: Vec::new() };
        match self.link.agree(call, given, &waits) {
            Ok(agreement) => Ok(agreement),
            Err(error) => {
                if error.cuts_off() || self.is_unchecked() {
                    self.context.device().abort(&self.raw);
                }
                Err(error.of(self.context.0.backend(), call.operation))
            }
        }
    }

    /// Passes an outcome on. If nobody compares calls, an error ends the communicator: the other ranks count on this
    /// one.
    #[track_caller]
    pub(super) fn or_end<R>(&self, outcome: Result<R>) -> Result<R> {
        match outcome {
            Err(error) if self.is_unchecked() => Err(self.give_up(&RankCall::new("end", self.calls), error)),
            outcome => outcome,
        }
    }

    /// Ends the communicator, as a call failed after all ranks had come. The error of the call, or the
    /// first of all ranks.
    #[track_caller]
    pub(super) fn give_up(&self, call: &RankCall, error: Error) -> Error {
        self.context.device().abort(&self.raw);
        let waits = Waits::new(call, self.turns.as_deref(), None);
        let first = self.link.break_off(CollectiveError::Aborted, &waits);
        match &error {
            Error::Collective { error: CollectiveError::Aborted, backend, operation, .. } => {
                first.of(backend, operation)
            }
            _ => error,
        }
    }
}

impl<D: Collects> Drop for Communicator<D> {
    fn drop(&mut self) {
        if self.part.is_some() {
            // The rank stays.
            return;
        }
        let call = RankCall::new("drop", self.calls);
        let waits = Waits::new(&call, self.turns.as_deref(), None);
        let panics = self.in_panic || thread::panicking();
        if panics && self.is_unchecked() && self.turns.is_none() {
            // Nobody asks the board whether it is still there.
            self.context.device().abort(&self.raw);
            self.link.break_off(CollectiveError::Aborted, &waits);
        }
        self.link.leave(panics, &waits);
        if let Some(watcher) = &self.watcher {
            watcher.leave();
        }
    }
}

impl<D: Collects> fmt::Debug for Communicator<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rank, ranks, calls, .. } = self;
        let unchecked = if self.is_unchecked() { ", unchecked" } else { "" };
        let stand = if self.part.is_some() { ", of a recording" } else { "" };
        write!(
            f,
            "Communicator(rank {rank} of {ranks} on {}, {calls} calls{unchecked}{stand})",
            DeviceName(self.context.device())
        )
    }
}
