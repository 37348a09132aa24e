//! Exchanges with other ranks: devices of one simulated machine.
#![allow(unsafe_code)] // implements an unsafe trait; performs no unsafe operation

use std::{sync::Arc, time::Duration};

use devarray::{
    Error, Result,
    backend::{
        Capability, CollectOp, Collects, CutOff, Joining, Participant, RankTurns, Rendezvous, call_location,
    },
    collective::CollectiveError,
};

use super::{MockDevice, buffer::MockBuffer, stream::MockStream};
use crate::{
    backend::BACKEND,
    engine::{Exchanged, Given, Work},
    fault::Site,
};

/// The part of one rank in a communicator of [siblings](MockDevice::sibling).
#[derive(Debug)]
pub struct MockCommunicator {
    ranks: Arc<Ranks>,
    time_limit: Duration,
}

/// The parts that all ranks have in common.
#[derive(Debug)]
struct Ranks {
    machine: u64,
    meetings: Rendezvous<Given>,
}

// SAFETY: parts of an exchange go to the end of the lanes of their streams, behind events that all of them
// wait for, while all participants are in this call. None is enqueued unless all are.
unsafe impl Collects for MockDevice {
    type Communicator = MockCommunicator;

    #[track_caller]
    fn join(&self, joining: &Joining<'_>) -> Result<MockCommunicator> {
        self.check("join", Capability::Collectives)?;
        self.shared().engine().enter(Site::Join)?;
        let machine = self.shared().machine_number();
        let new = || Ranks { machine, meetings: Rendezvous::default() };
        match joining.shared(new).filter(|ranks| ranks.machine == machine) {
            Some(ranks) => Ok(MockCommunicator { ranks, time_limit: joining.time_limit() }),
            None => Err(CollectiveError::Apart(joining.rank()).of(BACKEND, "join")),
        }
    }

    #[track_caller]
    fn collect(
        &self,
        stream: &MockStream,
        communicator: &MockCommunicator,
        op: &CollectOp<'_, MockBuffer>,
    ) -> Result<()> {
        let (operation, location, ranks) = (op.call().operation, call_location(), op.participants());
        let sides = op.source().into_iter().chain(op.result());
        let buffers: Vec<&MockBuffer> = sides.map(|(buffer, _)| buffer).collect();
        let given = {
            let mut engine = self.shared().engine();
            engine.enter(Site::Collect)?;
            if buffers.iter().any(|buffer| !Arc::ptr_eq(&buffer.shared, self.shared())) {
                return Err(Error::DeviceMismatch { backend: BACKEND, operation });
            }
            let lane = engine.lane_of(stream.name());
            let given = Given::of(op, (self.shared().host(), lane), location);
            let alone = Work::Exchange(Box::new(Exchanged::alone(op, given.clone())));
            if engine.is_out_of_bounds(lane, &alone, &buffers, location) {
                return Err(super::stream::out_of_bounds(operation));
            }
            engine.note_arrays(&buffers);
            engine.with_planned_loss(given)
        };
        let place = ranks.iter().position(|&rank| rank == op.rank()).unwrap_or(0);
        let turns = self.shared().turn().map(|turn| turn.as_ref() as &dyn RankTurns);
        let who = Participant { number: op.number(), place, count: ranks.len(), call: op.call(), turns };
        let met = communicator.ranks.meetings.meet(who, given, communicator.time_limit);
        let met = met.map_err(|error| error.of(BACKEND, operation))?;
        if place == 0 {
            self.shared().engine().enqueue_exchange(op, met.all().to_vec());
        }
        // The others wait for that.
        drop(met);
        Ok(())
    }

    fn abort(&self, communicator: &MockCommunicator) {
        communicator.ranks.meetings.abort();
    }

    fn cut_off(&self, _: &MockCommunicator) -> Option<Arc<dyn CutOff>> {
        None // all are carried out
    }

    fn turns(&self) -> Option<Arc<dyn RankTurns>> {
        self.shared().turn().map(|turn| Arc::clone(turn) as Arc<dyn RankTurns>)
    }
}
