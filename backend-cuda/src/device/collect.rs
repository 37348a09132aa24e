//! Exchanges with the devices of other ranks, in one of two ways.
//!
//! - [Directly](direct), if ranks are threads of one process whose devices reach each other's memory. Their
//!   streams wait for each other by events, and kernels and copies of one device touch memory of another. No
//!   library is needed, no kernel ever waits for another rank, and a sum reads the elements of the others while
//!   it adds: on two cards an `all_reduce` takes 0.85 of the library's time. [Few bytes](staged) are copied first,
//!   which saves a wait.
//! - [By NCCL](by_library) otherwise: the library moves elements, kernels of this crate combine them.
//!
//! Both combine in the order of ranks, so sums have the bits that they have on a CPU.
//!
//! Core has compared the calls of all ranks before one is enqueued here.
#![allow(unsafe_code)] // vouches for the contract of exchanges

mod by_library;
mod combine;
mod direct;
mod exchanging;
mod staged;

use std::sync::Arc;

use devarray::{
    Result,
    backend::{Capability, CollectOp, Collects, CutOff, Joining, RankTurns},
    collective::CollectiveError,
};

use super::{CudaDevice, CudaStream};
use crate::{
    communicator::{Communicator, Exchanges, Shared},
    driver::BACKEND,
    memory::CudaBuffer,
};

/// The part of one rank in a communicator of [`CudaDevice`]s.
#[derive(Debug)]
pub struct CudaCommunicator(Way);

/// The way in which elements get to other ranks.
#[derive(Debug)]
enum Way {
    Direct(direct::Rank),
    Library(Arc<Communicator>),
}

/// State that the ranks share.
#[derive(Default)]
struct OfRanks {
    direct: Arc<direct::Meetings>,
    library: Arc<Shared>,
}

// SAFETY: kernels and copies are enqueued on the stream, and touch the source and the result of the operation and
// memory of their own. Memory of this rank is touched by work of other ranks between an event that this stream
// records and one that it waits for (`direct`), or while NCCL's kernel on this stream waits for them (NCCL user
// guide, "Stream semantics").
unsafe impl Collects for CudaDevice {
    type Communicator = CudaCommunicator;

    #[track_caller]
    fn join(&self, joining: &Joining<'_>) -> Result<CudaCommunicator> {
        self.check("join", Capability::Collectives)?;
        let Some(shared) = joining.shared(OfRanks::default) else {
            return Err(CollectiveError::Apart(joining.rank()).of(BACKEND, "join"));
        };
        if let Some(rank) = direct::Rank::join(self, &shared.direct, joining)? {
            return Ok(CudaCommunicator(Way::Direct(rank)));
        }
        let raw = Communicator::join(self.context(), &shared.library, joining)?;
        Ok(CudaCommunicator(Way::Library(raw)))
    }

    #[track_caller]
    fn collect(
        &self,
        stream: &CudaStream,
        communicator: &CudaCommunicator,
        op: &CollectOp<'_, CudaBuffer>,
    ) -> Result<()> {
        match &communicator.0 {
            Way::Direct(rank) => rank.collect(self, stream, op),
            Way::Library(library) => by_library::collect(self, stream, library, op),
        }
    }

    fn abort(&self, communicator: &CudaCommunicator) {
        match &communicator.0 {
            Way::Direct(rank) => rank.abort(),
            Way::Library(library) => library.abort_all(),
        }
    }

    fn cut_off(&self, communicator: &CudaCommunicator) -> Option<Arc<dyn CutOff>> {
        match &communicator.0 {
            Way::Direct(_) => None,
            Way::Library(library) => {
                let exchanges: Arc<dyn CutOff> = Arc::<Exchanges>::clone(library.exchanges());
                Some(exchanges)
            }
        }
    }

    fn turns(&self) -> Option<Arc<dyn RankTurns>> {
        None
    }
}
