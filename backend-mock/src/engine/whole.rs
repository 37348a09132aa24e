//! Operations that run as a whole: gathers, order calls, products, exchanges, and the program's own kernels.

use devarray::gather::IndexError;

use super::{Engine, Work, gather::Mistake};
use crate::finding::{Finding, Memory};

impl Engine {
    /// Runs the gather at the front of a lane. Returns true if nothing of it is left.
    pub(super) fn run_gather(&mut self, lane: usize) -> bool {
        let Some(op) = self.lanes.front_mut(lane) else { return true };
        let Work::Gather(gathered) = &op.work else { return true };
        let operation = gathered.operation(op.number, lane);
        let (error, mistakes) = gathered.run(&mut self.memory);
        self.ledger.index_errors.extend(error.map(|error| (gathered.number(), error)));
        for Mistake { code, access, of, bytes, help } in mistakes {
            let len_bytes = self.memory.place_of(of).map_or(bytes.span().end, |(_, len_bytes)| len_bytes);
            let memory = Memory::Device { id: of, len_bytes };
            let finding = Finding::new(code, operation, access, memory, bytes.span()).note(help.to_owned());
            self.add_finding(Some(Box::new(finding)));
        }
        true
    }

    /// Makes the order call at the front of a lane. Returns true if nothing of it is left.
    pub(super) fn run_order(&mut self, lane: usize) -> bool {
        let Some(op) = self.lanes.front_mut(lane) else { return true };
        let Work::Order(ordered) = &op.work else { return true };
        let error = ordered.run(&mut self.memory);
        self.ledger.index_errors.extend(error.map(|error| (ordered.number(), error)));
        true
    }

    /// Multiplies the matrices at the front of a lane. Returns true if nothing of it is left.
    pub(super) fn run_product(&mut self, lane: usize) -> bool {
        let Some(op) = self.lanes.front_mut(lane) else { return true };
        let Work::Product(multiplied) = &op.work else { return true };
        multiplied.run(&mut self.memory);
        true
    }

    /// Does the part of an exchange in front of a lane. True: nothing of it is left.
    pub(super) fn run_exchange(&mut self, lane: usize) -> bool {
        let Some(op) = self.lanes.front_mut(lane) else { return true };
        let Work::Exchange(exchanged) = &op.work else { return true };
        exchanged.run(&mut self.memory);
        true
    }

    /// Takes the first index out of range that a gather found.
    pub(crate) fn take_index_error(&mut self, gather: u64) -> Option<IndexError> {
        self.ledger.index_errors.remove(&gather)
    }

    /// Sets whether host functions run twice from now on; without the judge they never do.
    pub(crate) fn check_kernels(&mut self, check: bool) {
        self.ledger.check_kernels = check && self.judge.is_on();
    }

    /// Runs the kernel at the front of a lane. Returns true if nothing of it is left.
    pub(super) fn run_kernel(&mut self, lane: usize) -> bool {
        let looks = self.looks_for_lints();
        let Some(op) = self.lanes.front_mut(lane) else { return true };
        let Work::Launch(kernel) = &op.work else { return true };
        let operation = kernel.operation(op.number, lane);
        let mistakes = kernel.run(&mut self.memory, self.ledger.check_kernels, looks);
        for mistake in mistakes {
            let len_bytes = |id| self.memory.place_of(id).map(|(_, len_bytes)| len_bytes);
            let (is_lint, finding) = mistake.finding(operation, len_bytes);
            if is_lint {
                self.add_lint(|_| finding);
            } else {
                self.add_finding(Some(Box::new(finding)));
            }
        }
        true
    }
}
