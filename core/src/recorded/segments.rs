//! The calls of a recording, cut at its exchanges between ranks.

use super::{
    branches::Branches,
    captured::Launches,
    exchanges::RecordedExchange,
    recorder::{Calls, RecordedCall},
};
use crate::backend::Device;

/// Calls that are launched together, and the exchange that is made behind them.
#[derive(Debug)]
pub(super) struct Segment<D: Device> {
    pub(super) calls: Calls<D>,
    pub(super) exchange: Option<RecordedExchange>,
}

/// Cuts calls at the exchanges. The last segment has none.
pub(super) fn segments<D: Device>(
    calls: Vec<RecordedCall<D>>,
    exchanges: Vec<RecordedExchange>,
    branches: Branches,
) -> Vec<Segment<D>> {
    let count = calls.len();
    let (mut calls, mut behind) = (calls.into_iter(), branches.into_behind().into_iter());
    let mut first = 0;
    let ends = exchanges.iter().map(|exchange| exchange.calls_before).chain([count]).collect::<Vec<_>>();
    let mut exchanges = exchanges.into_iter();
    let segment = |(number, end): (usize, usize)| {
        let all: Vec<_> = calls.by_ref().take(end - first).collect();
        // Calls are numbered with the exchanges before them.
        let begin = first + number;
        let within = |behind: Box<[usize]>| behind.iter().map(|call| call - begin).collect();
        let behind_within = behind.by_ref().take(all.len()).map(within).collect();
        behind.next();
        first = end;
        Segment { calls: Calls { all, behind: behind_within }, exchange: exchanges.next() }
    };
    ends.into_iter().enumerate().map(segment).collect()
}

impl<D: Device> Segment<D> {
    pub(super) fn launches(&self) -> Launches<D> {
        Launches::new(&self.calls)
    }

    /// Calls and exchanges.
    pub(super) fn len(&self) -> usize {
        self.calls.all.len() + usize::from(self.exchange.is_some())
    }
}
