//! Compares the work of other code with the accesses that it declared.

use std::panic::Location;

use super::{Engine, Work, ledger::MOST_FINDINGS};
use crate::{
    allocation::Allocated,
    finding::{Code, Finding, Memory},
    judge::{Declared, Footprint as _},
};

impl Engine {
    /// Notes that these buffers are memory of arrays. A buffer that is only part of a memory is not
    /// noted, because the rest may belong to anybody. Earlier undeclared work on one of them
    /// becomes a finding now.
    pub(crate) fn note_arrays(&mut self, buffers: &[&impl Allocated]) {
        for buffer in buffers.iter().filter(|buffer| !buffer.is_part()) {
            if self.ledger.of_arrays.insert(buffer.id()) {
                let finding = self.ledger.undeclared.remove(&buffer.id());
                self.add_finding(finding);
            }
        }
    }

    /// Forgets freed memory.
    pub(crate) fn forget_arrays(&mut self, work: &Work) {
        if let Work::Free { buffer, .. } = work {
            self.ledger.of_arrays.remove(buffer);
            self.ledger.undeclared.remove(buffer);
        }
    }

    /// The next operation is work of other code: each access of it that was not declared is a
    /// finding. If the memory is not yet known to belong to an array, the finding is kept until it
    /// is: a new array has not been part of any operation yet.
    pub(crate) fn compare(
        &mut self,
        lane: usize,
        work: &Work,
        declared: &Declared,
        location: &'static Location<'static>,
    ) {
        if !self.judge.is_on() {
            return;
        }
        let operation = self.operation(work.name(), Some(lane), location);
        for touch in work.touches() {
            let Some((id, bytes)) = declared.missing(&touch) else { continue };
            let len_bytes = self.memory.place_of(id).map_or(bytes.end, |(_, len_bytes)| len_bytes);
            let memory = Memory::Device { id, len_bytes };
            let touched = touch.bytes.span();
            let finding = Finding::new(Code::Undeclared, operation, touch.access, memory, bytes);
            let note = format!("touched: bytes {:#x}..{:#x} of buffer {id}", touched.start, touched.end);
            let help = "help: name everything that the work touches to `foreign_work`".to_owned();
            let finding = Box::new(finding.note(note).note(declared.told()).note(help));
            if declared.names(id) || self.ledger.of_arrays.contains(&id) {
                self.add_finding(Some(finding));
            } else if self.ledger.undeclared.len() < MOST_FINDINGS {
                self.ledger.undeclared.entry(id).or_insert(finding);
            }
        }
    }
}
