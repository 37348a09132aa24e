//! The exchanges of a communicator that an abort cut off.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex},
};

use devarray::backend::{CutOff, Event as _};

use crate::{event::CudaEvent, handle::locked};

/// The exchanges of one rank's communicator, which run in the order in which they were enqueued.
#[derive(Default)]
pub(crate) struct Exchanges(Mutex<Lists>);

#[derive(Default)]
struct Lists {
    /// By number, each with an event behind it.
    running: VecDeque<(u64, CudaEvent)>,
    cut_off: Vec<u64>,
}

impl Exchanges {
    /// Notes an exchange that was enqueued, and an event behind it.
    pub(super) fn note(self: &Arc<Self>, number: u64, end: CudaEvent) {
        let mut lists = locked(&self.0);
        while lists.running.front().is_some_and(|(_, end)| matches!(end.query(), Ok(true))) {
            lists.running.pop_front();
        }
        lists.running.push_back((number, end));
    }

    /// Whether an exchange may not be over yet.
    pub(super) fn may_run(&self) -> bool {
        locked(&self.0).running.back().is_some_and(|(_, end)| !matches!(end.query(), Ok(true)))
    }

    /// The communicator is about to be aborted: exchanges that are not over are cut off.
    pub(super) fn end(&self) {
        let Lists { running, cut_off } = &mut *locked(&self.0);
        let is_over = |(_, end): &(u64, CudaEvent)| matches!(end.query(), Ok(true));
        cut_off.extend(running.drain(..).skip_while(is_over).map(|(number, _)| number));
    }
}

impl CutOff for Exchanges {
    fn cut_off(&self, number: u64) -> bool {
        locked(&self.0).cut_off.contains(&number)
    }
}

impl fmt::Debug for Exchanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = locked(&self.0);
        write!(f, "Exchanges({} may run, {} cut off)", lists.running.len(), lists.cut_off.len())
    }
}
