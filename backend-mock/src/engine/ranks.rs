//! Ranks. Each has a host of its own.

use devarray::backend::{CollectOp, Meeting};

use super::{Engine, Exchanged, Given, Work};
use crate::{allocation::Allocated, schedule::Choice};

impl Engine {
    /// Enqueues the parts of all participants, in their order.
    pub(crate) fn enqueue_exchange(&mut self, op: &CollectOp<'_, impl Allocated>, mut given: Vec<Given>) {
        let host = self.judge.host();
        self.pending_loss = None;
        let mut losses: Vec<_> = given.iter_mut().map(|of_rank| of_rank.loss.take()).collect();
        let mut marks = Vec::new();
        for Given { host, lane, location, .. } in &given {
            self.set_host(*host);
            marks.push(self.record(*lane, None, location));
        }
        for (place, exchanged) in Exchanged::of_all(op, given).into_iter().enumerate() {
            let &Given { host, lane, location, .. } = exchanged.given();
            self.set_host(host);
            for (of, (mark, snapshot)) in marks.iter().enumerate() {
                if of != place {
                    self.wait(lane, (*mark, snapshot), location);
                }
            }
            self.pending_loss = losses[place].take();
            self.enqueue(lane, Work::Exchange(Box::new(exchanged)), location);
        }
        self.set_host(host);
    }

    /// The elements of a rank with the loss that is planned for its call: other ranks make calls before the part
    /// of this one is enqueued.
    pub(crate) fn with_planned_loss(&mut self, mut given: Given) -> Given {
        given.loss = self.pending_loss.take();
        given
    }

    /// Tells which of some ranks goes on.
    pub(crate) fn choose_rank(&mut self, ways: usize) -> usize {
        self.chooser.choose(Choice::Rank, ways)
    }

    /// Tells which of some recorded calls comes next.
    pub(crate) fn choose_call(&mut self, ways: usize) -> usize {
        self.chooser.choose(Choice::Call, ways)
    }

    /// Notes that a program starts this many ranks. False if ranks run already.
    #[must_use]
    pub(crate) fn start_ranks(&mut self, count: usize) -> bool {
        self.judge.start_hosts(count)
    }

    /// Notes that the rank that makes the calls begins to wait for the others.
    pub(crate) fn come_to(&mut self, meeting: Meeting) {
        self.judge.come_to(meeting);
    }

    /// Notes that the rank that makes the calls has waited for the others.
    pub(crate) fn go_from(&mut self, meeting: Meeting, all_came: bool) {
        self.judge.go_from(meeting, all_came);
    }

    /// Notes that all ranks have ended, and the program has waited for that.
    pub(crate) fn end_ranks(&mut self) {
        self.judge.end_hosts();
    }

    /// Says which host makes the calls that follow.
    pub(crate) fn set_host(&mut self, host: usize) {
        self.judge.set_host(host);
    }
}
