//! Work of other code against what it declared.

use std::panic::Location;

use super::{Engine, Work};
use crate::{
    buffer::MockBuffer,
    finding::{Code, Finding, Memory},
    judge::Declared,
};

impl Engine {
    /// These buffers are memory of arrays. One that is part of a memory is not: the rest may be
    /// anybody's.
    pub(crate) fn note_arrays(&mut self, buffers: &[&MockBuffer]) {
        for buffer in buffers.iter().filter(|buffer| buffer.within.is_none()) {
            self.ledger.of_arrays.insert(buffer.id);
        }
    }

    /// A memory that is freed is nobody's.
    pub(crate) fn forget_arrays(&mut self, work: &Work) {
        if let Work::Free { buffer, .. } = work {
            self.ledger.of_arrays.remove(buffer);
        }
    }

    /// What is enqueued next is work of other code: a finding for each side of it that was not
    /// declared.
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
            let of_arrays = &self.ledger.of_arrays;
            let Some((id, bytes)) = declared.missing(&touch, |id| of_arrays.contains(&id)) else { continue };
            let len_bytes = self.memory.place_of(id).map_or(bytes.end, |(_, len_bytes)| len_bytes);
            let memory = Memory::Device { id, len_bytes };
            let touched = touch.bytes.span();
            let finding = Finding::new(Code::Undeclared, operation, touch.access, memory, bytes);
            let note = format!("touched: bytes {:#x}..{:#x} of buffer {id}", touched.start, touched.end);
            let help = "help: name everything that the work touches to `foreign_work`".to_owned();
            self.add_finding(Some(Box::new(finding.note(note).note(declared.told()).note(help))));
        }
    }
}
