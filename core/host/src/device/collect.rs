//! Exchanges with other ranks: threads of this process, each with a device of its own, or
//! [processes].
//!
//! # Why memory of another rank may be touched
//!
//! A rank tells the others where its elements are by meeting them in a
//! [`Rendezvous`], at the turn of the exchange on its own stream. It then
//! stays in this call, at its turn, with the arrays borrowed, until all participants have done their part:
//! the drop of what the meeting gave blocks until then. So while any rank touches memory of another:
//!
//! - the memory is allocated, as the other's arrays are borrowed by its call;
//! - no earlier operation of the other uses it, as it is that rank's turn, and no later one begins, as
//!   the turn has not ended;
//! - the other cannot leave: neither by the time limit nor by an abort, which only end meetings that not
//!   all have come to; nor by unwinding, since the drop waits on that way, too; nor by dropping its
//!   stream, its context or its communicator, which its call borrows or keeps alive.
//!
//! A rank that gives up before all have come has given nobody anything: the last to come decides, under
//! the lock, whether all meet. Nobody looks at its addresses again.
//!
//! Two ranks never touch the same byte: a result of a rank is written by one rank alone, element by
//! element in `all_reduce`, and no rank reads it meanwhile, unless it is the rank's source as well; then
//! each element is read and written by one rank, reads first. Where one is a part of the other, it is the part
//! that the rank alone reads and writes, or that nobody writes.
#![allow(unsafe_code)] // reads and writes memory that other ranks give

use std::{ops::Range, ptr, sync::Arc, time::Duration};

use devarray::{
    Result,
    backend::{
        CollectOp, Collects, CutOff, Exchange, Joining, Mesh, Participant, Piece, RankTurns, Rendezvous,
        RowCounts,
    },
    collective::CollectiveError,
};

use super::{
    HostDevice,
    processes::{self, share},
};
use crate::{
    HostStream, backend::BACKEND, execute, memory::DeviceMemory, stream::copy_bytes, threads::Threads,
};

/// The part of one rank in a communicator of [`HostDevice`]s.
#[derive(Debug)]
pub struct HostCommunicator {
    ranks: Ranks,
    time_limit: Duration,
}

/// The way to the other ranks.
#[derive(Debug)]
enum Ranks {
    /// They are threads of this process.
    Threads(Arc<Rendezvous<Given>>),
    /// They are processes.
    Processes(Mesh),
}

/// The elements of a rank; null where it has none.
#[derive(Debug)]
struct Given {
    source: *const u8,
    result: *mut u8,
    counts: Option<RowCounts>,
}

// SAFETY: addresses; access is the `unsafe` of whoever does it.
unsafe impl Send for Given {}
// SAFETY: as for `Send`.
unsafe impl Sync for Given {}

// SAFETY: an exchange runs at its turn, and touches memory of other ranks as the page argues. These are
// at their turn, too.
unsafe impl Collects for HostDevice {
    type Communicator = HostCommunicator;

    #[track_caller]
    fn join(&self, joining: &Joining<'_>) -> Result<HostCommunicator> {
        let time_limit = joining.time_limit();
        if let Some(mesh) = Mesh::join(joining)? {
            return Ok(HostCommunicator { ranks: Ranks::Processes(mesh), time_limit });
        }
        let Some(ranks) = joining.shared(Rendezvous::default) else {
            return Err(CollectiveError::Apart(joining.rank()).of(BACKEND, "join"));
        };
        Ok(HostCommunicator { ranks: Ranks::Threads(ranks), time_limit })
    }

    #[track_caller]
    fn collect(
        &self,
        stream: &HostStream,
        communicator: &HostCommunicator,
        op: &CollectOp<'_, DeviceMemory>,
    ) -> Result<()> {
        let (ranks, call) = (op.participants(), op.call());
        let place = ranks.iter().position(|&rank| rank == op.rank()).unwrap_or(0);
        let given = Given {
            source: op.source().map_or(ptr::null(), |(memory, at)| memory.at(at)),
            result: op.result().map_or(ptr::null_mut(), |(memory, at)| memory.at(at)),
            counts: op.counts().cloned(),
        };
        let exchanged = stream.run(|device| {
            let all = match &communicator.ranks {
                Ranks::Threads(all) => all,
                // SAFETY: it is the turn of the operation, and its elements are its own memory.
                Ranks::Processes(mesh) => return unsafe { processes::exchange(&device.threads, mesh, op) },
            };
            let who = Participant { number: op.number(), place, count: ranks.len(), call, turns: None };
            let met = all.meet(who, given, communicator.time_limit)?;
            // SAFETY: what all ranks gave may be read and written until `met` is dropped.
            unsafe { exchange(&device.threads, op, place, met.all()) };
            met.end()
        });
        exchanged.map_err(|error: CollectiveError| error.of(BACKEND, call.operation))
    }

    fn abort(&self, communicator: &HostCommunicator) {
        match &communicator.ranks {
            Ranks::Threads(ranks) => ranks.abort(),
            Ranks::Processes(mesh) => mesh.abort(),
        }
    }

    fn cut_off(&self, _: &HostCommunicator) -> Option<Arc<dyn CutOff>> {
        None // all are carried out
    }

    fn turns(&self) -> Option<Arc<dyn RankTurns>> {
        None
    }
}

/// Does the part of one participant, by its place among them.
///
/// # Safety
///
/// The sources that were given may be read, the results written, as long as the operation says. Nobody else
/// touches them but other participants in this function.
unsafe fn exchange(threads: &Threads, op: &CollectOp<'_, DeviceMemory>, place: usize, given: &[Given]) {
    let (part_bytes, ranks) = (op.part_bytes(), given.len());
    let combine = |source_part: usize, results: &[*mut u8], elements: Range<usize>| {
        let Some(combining) = op.combining() else { return };
        let sources: Vec<*const u8> =
            given.iter().map(|of| of.source.wrapping_add(source_part * part_bytes)).collect();
        // SAFETY: as the caller promises; results have one part.
        unsafe { execute::combine(threads, combining, op.item_bytes(), &sources, results, elements) }
    };
    if op.exchange() == Exchange::AllReduce {
        // Each element is combined once, by one rank, for all.
        let results: Vec<*mut u8> = given.iter().map(|of| of.result).collect();
        return combine(0, &results, share(op.count(), ranks, place));
    }
    for Piece { result_part, from, source_part } in op.exchange().pieces(op.rank(), ranks) {
        let bytes = op.result_part(result_part);
        let result = given[place].result.wrapping_add(bytes.start);
        let Some(from) = from else {
            combine(source_part, &[result], 0..op.count());
            continue;
        };
        let from = op.participants().iter().position(|&rank| rank == from).unwrap_or(0);
        // Where the part begins is for the rank to say that gives it.
        let before = given[from].counts.as_ref().map_or(source_part, |of| of.sent_to(source_part).start);
        let source = given[from].source.wrapping_add(before * part_bytes);
        // In place, the own part is where it belongs.
        if !bytes.is_empty() && !ptr::eq(source, result) {
            // SAFETY: as the caller promises; source and result share no byte.
            unsafe { copy_bytes(threads, source, result, bytes.len()) }
        }
    }
}
