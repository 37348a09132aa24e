//! A rank's communicator of NCCL: joined, polled, aborted, ended.
//!
//! Calls do not block, so that another thread can end them. The communicator is locked for a call, never while
//! one is waited for.
#![allow(unsafe_code)] // calls the library with the communicator it owns

mod cut_off;

pub(crate) use cut_off::Exchanges;

use std::{
    fmt, ptr,
    sync::{Arc, Mutex, Weak},
    thread,
    time::{Duration, Instant},
};

use crate::{
    context::Context,
    driver::BACKEND,
    event::CudaEvent,
    handle::locked,
    nccl::{Comm, Config, LIBRARY, Status, Table, UniqueId},
};
use devarray::{Error, Result, backend::Joining, collective::CollectiveError};

/// The time that the end of a communicator may take beyond its exchanges, before it is aborted.
const END_LIMIT: Duration = Duration::from_secs(5);
/// Polls in a row before a thread sleeps between them.
const EAGER_POLLS: u32 = 2000;
const PAUSE: Duration = Duration::from_micros(50);

/// State that the ranks of one process share.
#[derive(Default)]
pub(crate) struct Shared {
    joined: Mutex<Vec<Weak<Communicator>>>,
}

/// The communicator of one rank.
pub(crate) struct Communicator {
    context: Arc<Context>,
    shared: Arc<Shared>,
    time_limit: Duration,
    /// None when it has ended.
    comm: Mutex<Option<Owned>>,
    exchanges: Arc<Exchanges>,
}

/// A communicator of the library. It may be used by any thread, one at a time.
struct Owned(Comm);

// SAFETY: NCCL's communicators belong to no thread, and the lock around this one lets one in at a time.
unsafe impl Send for Owned {}

impl Communicator {
    /// Joins. All ranks do, each in a thread or a process of its own. Blocks until all have, or the time limit has
    /// passed.
    pub(crate) fn join(
        context: &Arc<Context>,
        shared: &Arc<Shared>,
        joining: &Joining<'_>,
    ) -> Result<Arc<Self>> {
        const OPERATION: &str = "join";
        let driver = context.bound(OPERATION)?;
        let table = driver.nccl(OPERATION)?;
        let too_many = |_| refused(OPERATION, "more ranks than it counts".to_owned());
        let counts = [joining.rank(), joining.ranks()].map(|count| i32::try_from(count).map_err(too_many));
        let [rank, ranks] = counts;
        let (rank, ranks) = (rank?, ranks?);
        let own = if rank == 0 { UniqueId::new(table).map(|id| id.0.to_vec()) } else { Ok(Vec::new()) };
        let own = own.map_err(|status| refused(OPERATION, status.to_string()))?;
        let all = joining.gather(&own)?;
        let Ok(id) = all[0][..].try_into().map(UniqueId) else {
            return Err(CollectiveError::Apart(joining.rank()).of(BACKEND, OPERATION));
        };
        let (mut comm, mut config) = (ptr::null_mut(), Config::non_blocking());
        // SAFETY: the pointers are to locals of the right types, and the rank's context is bound.
        let begun = unsafe { (table.init)(&raw mut comm, ranks, id, rank, &raw mut config) };
        let communicator = Arc::new(Self {
            context: Arc::clone(context),
            shared: Arc::clone(shared),
            time_limit: joining.time_limit(),
            comm: Mutex::new((!comm.is_null()).then_some(Owned(comm))),
            exchanges: Arc::default(),
        });
        locked(&shared.joined).push(Arc::downgrade(&communicator));
        communicator.finish(OPERATION, begun)?;
        Ok(communicator)
    }

    /// Makes calls of the library, as one group, and waits until they are on the stream. The context is bound.
    ///
    /// # Errors
    ///
    /// The communicator has ended, for all ranks of this process.
    pub(crate) fn group(
        &self,
        operation: &'static str,
        mut calls: impl FnMut(&Table, Comm) -> i32,
    ) -> Result<()> {
        let table = self.context.driver().nccl(operation)?;
        let answer = {
            let comm = locked(&self.comm);
            let Some(Owned(comm)) = *comm else { return Err(aborted(operation)) };
            // SAFETY: a group is the thread's own.
            let begun = unsafe { (table.group_start)() };
            let called = if begun == 0 { calls(table, comm) } else { begun };
            // SAFETY: ends the group that was begun; one that was not is the library's to refuse.
            let ended = unsafe { (table.group_end)() };
            let goes_on = called == 0 || called == Status::IN_PROGRESS.0;
            if goes_on { ended } else { called }
        };
        self.finish(operation, answer)
    }

    /// Waits until a call that answered so is over.
    fn finish(&self, operation: &'static str, answer: i32) -> Result<()> {
        let table = self.context.driver().nccl(operation)?;
        let begun = Instant::now();
        let (mut status, mut polls) = (answer, 0);
        while status == Status::IN_PROGRESS.0 {
            let locked = locked(&self.comm);
            let Some(Owned(comm)) = *locked else { return Err(aborted(operation)) };
            // SAFETY: the communicator is alive while it is locked; the pointer is to a local.
            let asked = unsafe { (table.async_error)(comm, &raw mut status) };
            // An abort takes the lock.
            drop(locked);
            if asked != 0 {
                status = asked;
            }
            if status != Status::IN_PROGRESS.0 {
                break;
            }
            if begun.elapsed() > self.time_limit {
                let reason = format!("{operation} was not over within {:?}", self.time_limit);
                self.abort_all();
                return Err(refused(operation, reason));
            }
            polls += 1;
            if polls > EAGER_POLLS { thread::sleep(PAUSE) } else { thread::yield_now() }
        }
        Status::check(status).map_err(|status| {
            self.abort_all();
            refused(operation, status.to_string())
        })
    }

    /// Ends it for all ranks of this process: kernels of theirs that wait for others end. Doing it again changes
    /// nothing.
    pub(crate) fn abort_all(&self) {
        let joined = std::mem::take(&mut *locked(&self.shared.joined));
        for communicator in joined.iter().filter_map(Weak::upgrade) {
            communicator.abort();
        }
        self.abort();
    }

    /// The exchanges, which outlive the communicator.
    pub(crate) fn exchanges(&self) -> &Arc<Exchanges> {
        &self.exchanges
    }

    /// Notes an exchange that was enqueued, with an event behind it.
    ///
    /// # Errors
    ///
    /// The communicator has been aborted meanwhile.
    pub(crate) fn note(&self, operation: &'static str, number: u64, end: CudaEvent) -> Result<()> {
        // An abort comes before, or it comes after and finds the exchange here.
        let comm = locked(&self.comm);
        if comm.is_none() {
            return Err(aborted(operation));
        }
        self.exchanges.note(number, end);
        Ok(())
    }

    fn abort(&self) {
        let owned = {
            let mut comm = locked(&self.comm);
            self.exchanges.end();
            comm.take()
        };
        // Out of the lock: the library waits for threads of its own.
        if let (Some(Owned(comm)), Ok(table)) = (owned, self.context.driver().nccl("abort")) {
            self.context.release("abort", |_| {
                // SAFETY: the communicator is alive, and nobody has it any more.
                let answer = unsafe { (table.abort)(comm) };
                self.report("abort", answer);
                Ok(())
            });
        }
    }

    /// Tells what no call can return.
    fn report(&self, operation: &'static str, answer: i32) {
        if let Err(status) = Status::check(answer) {
            self.context.driver().report(refused(operation, status.to_string()));
        }
    }
}

impl UniqueId {
    /// A new address at which ranks meet.
    fn new(table: &Table) -> Result<Self, Status> {
        let mut id = Self([0; 128]);
        // SAFETY: the pointer is to a local of the right type.
        Status::check(unsafe { (table.get_unique_id)(&raw mut id) })?;
        Ok(id)
    }
}

impl Drop for Communicator {
    /// Ends it when its exchanges are done, or after a time limit. Errors go to the driver's list.
    fn drop(&mut self) {
        const OPERATION: &str = "leave";
        let comm = self.comm.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some(Owned(comm)) = comm.take() else { return };
        let Ok(table) = self.context.driver().nccl(OPERATION) else { return };
        self.context.release(OPERATION, |_| {
            // SAFETY: the communicator is alive, and this is its last owner.
            let mut status = unsafe { (table.finalize)(comm) };
            let begun = Instant::now();
            // Exchanges that all have come to are carried out, however long other ranks take to reach them.
            let limit = if self.exchanges.may_run() { self.time_limit.max(END_LIMIT) } else { END_LIMIT };
            while status == Status::IN_PROGRESS.0 && begun.elapsed() < limit {
                thread::sleep(PAUSE);
                // SAFETY: likewise; the pointer is to a local.
                let asked = unsafe { (table.async_error)(comm, &raw mut status) };
                status = if asked == 0 { status } else { asked };
            }
            if status != 0 {
                self.exchanges.end();
            }
            // An abort ends one that waits for a rank that is gone.
            let end = if status == 0 { table.destroy } else { table.abort };
            // SAFETY: likewise; it is ended once.
            let ended = unsafe { end(comm) };
            self.report(OPERATION, ended);
            Ok(())
        });
    }
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Communicator({})", if locked(&self.comm).is_some() { "joined" } else { "ended" })
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared({} ranks)", locked(&self.joined).len())
    }
}

fn refused(operation: &'static str, reason: String) -> Error {
    Error::Library { backend: BACKEND, operation, library: LIBRARY, reason }
}

#[track_caller]
fn aborted(operation: &'static str) -> Error {
    CollectiveError::Aborted.of(BACKEND, operation)
}
