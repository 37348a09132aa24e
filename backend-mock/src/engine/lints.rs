//! Lints: uses that are right but slow or needless. They are looked for on request, and listed apart from
//! mistakes.

use std::panic::Location;

use super::Engine;
use crate::{
    finding::{Access, Code, Finding, Memory, Operation},
    judge::Snapshot,
};

/// The most lints that are kept.
const MOST_LINTS: usize = 1000;

/// The lints, if they are looked for.
#[derive(Debug, Default)]
pub(super) struct Lints {
    found: Option<Vec<Finding>>,
    /// Whether waits of the host give no lints.
    waits_pass: bool,
}

impl Engine {
    /// Looks for lints from now on, unless the judge is off.
    pub(crate) fn look_for_lints(&mut self) {
        self.ledger.lints.found = self.judge.is_on().then(Vec::new);
    }

    /// Sets whether the following waits of the host give no lints: they belong to a program that waits for
    /// everything, and some of them may have nothing to wait for.
    pub(crate) fn let_waits_pass(&mut self, pass: bool) {
        self.ledger.lints.waits_pass = pass;
    }

    /// The lints so far.
    pub(crate) fn lints(&self) -> &[Finding] {
        self.ledger.lints.found.as_deref().unwrap_or_default()
    }

    /// Whether lints are looked for.
    pub(super) fn looks_for_lints(&self) -> bool {
        self.ledger.lints.found.is_some()
    }

    pub(super) fn add_lint(&mut self, lint: impl FnOnce(&Self) -> Finding) {
        if self.ledger.lints.found.as_ref().is_some_and(|found| found.len() < MOST_LINTS) {
            let lint = self.judge.drawn(lint(self));
            self.ledger.lints.found.iter_mut().for_each(|found| found.push(lint.clone()));
        }
    }

    /// Adds a lint if the host, which is about to wait for a lane, knows already that its work is done.
    pub(super) fn look_at_sync_of_lane(&mut self, lane: usize, location: &'static Location<'static>) {
        if !self.ledger.lints.waits_pass && self.judge.host_knows_all(lane) {
            self.add_lint(|engine| {
                let operation = engine.operation("sync_stream", None, location);
                of_order(Code::NeedlessSync, operation)
                    .note(format!("stream {lane} was given nothing since the host last waited for it"))
            });
        }
    }

    /// Adds a lint if the host, which is about to wait for an event, knows already that it has happened.
    pub(super) fn look_at_sync_of_event(&mut self, event: &Snapshot, location: &'static Location<'static>) {
        if !self.ledger.lints.waits_pass && self.judge.host_knows(event) {
            self.add_lint(|engine| {
                let operation = engine.operation("sync_event", None, location);
                of_order(Code::NeedlessSync, operation)
                    .with(event.record().map(|record| (record, Access::Lifetime)))
            });
        }
    }

    /// Adds a lint for a wait on an event that already came before everything later in the lane.
    pub(super) fn note_needless_wait(&mut self, wait: Operation, event: &Snapshot) {
        self.add_lint(|_| {
            of_order(Code::NeedlessWait, wait).with(event.record().map(|record| (record, Access::Lifetime)))
        });
    }

    /// Adds a lint, once, if the host reads write-combined memory.
    pub(crate) fn note_slow_read(&mut self, number: u64, location: &'static Location<'static>) {
        let Some((_, live)) = self.ledger.host_buffers.get(&number) else { return };
        let len_bytes = live.len_bytes;
        if self.ledger.read_slowly.insert(number) {
            self.add_lint(|engine| {
                let operation = engine.operation("host_read", None, location);
                let memory = Memory::Pinned { number, len_bytes };
                Finding::new(Code::SlowRead, operation, Access::Read, memory, 0..len_bytes)
            });
        }
    }
}

fn of_order(code: Code, operation: Operation) -> Finding {
    Finding::new(code, operation, Access::Lifetime, Memory::Nothing, 0..0)
}
