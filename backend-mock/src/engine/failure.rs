//! Calls and operations that fail by plan, and the loss of the device.

use devarray::{Error, Result};

use super::Engine;
use crate::{
    fault::{Fate, Fault, Fired, Site},
    schedule::Choice,
};

impl Engine {
    /// The first step of every call except waits. Fails if the device is lost or a fault is planned
    /// for the call.
    pub(crate) fn enter(&mut self, site: Site) -> Result<()> {
        self.enter_asking(site, 0)
    }

    /// Like [`enter`](Self::enter), for a call that asks for memory.
    pub(crate) fn enter_asking(&mut self, site: Site, len_bytes: usize) -> Result<()> {
        (self.pending_loss, self.is_late) = (None, false);
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        if site == Site::Query {
            self.ledger.statistics.queries += 1;
        }
        if self.faults.are_none() {
            return Ok(());
        }
        match self.faults.call(site, len_bytes, &mut self.chooser) {
            Fate::Runs => Ok(()),
            Fate::Late => {
                self.is_late = true;
                Ok(())
            }
            Fate::Doomed(error) => {
                self.pending_loss = Some(Box::new(error));
                Ok(())
            }
            Fate::Fails(error) => {
                self.lose_if_sticky(&error);
                Err(error)
            }
        }
    }

    /// Loses the device if the operation is planned to, after some of its bytes or none. Returns
    /// true if it did, which ends the operation.
    pub(super) fn meet_doom(&mut self, lane: usize) -> bool {
        let Some(op) = self.lanes.front_mut(lane) else { return false };
        let Some(pending_loss) = op.pending_loss.take().filter(|_| !op.cancelled) else { return false };
        // Way 0: nothing has been moved. Way 1: one piece, or everything if it is one piece.
        if op.work.len_bytes() > 0 && self.chooser.choose(Choice::Doom, 2) == 1 {
            self.execute(lane);
        }
        if let Some(op) = self.lanes.front_mut(lane) {
            op.cancelled = true;
        }
        self.lose_if_sticky(&pending_loss);
        // An operation that moves no bytes still takes effect, as cancelled operations do.
        self.execute(lane)
    }

    pub(super) fn lose_if_sticky(&mut self, error: &Error) {
        if error.is_sticky() && self.lost.is_none() {
            self.lost = Some(error.clone());
            self.lanes.cancel_all();
        }
    }

    /// The planned faults that fired so far.
    pub(crate) fn fired(&self) -> &[Fired] {
        self.faults.fired()
    }

    pub(crate) fn plan_fault(&mut self, site: Site, fault: Fault) {
        self.faults.plan(site, fault);
    }
}
