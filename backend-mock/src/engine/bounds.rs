//! Refuses operations that reach outside a memory, the only mistake that cannot be simulated.

use std::{ops::Range, panic::Location};

use super::{Engine, Work, reach::Reach};
use crate::{
    allocation::Allocated,
    finding::{Code, Finding, Memory},
};

impl Engine {
    /// Whether an operation reaches outside one of its buffers or its pinned memory; if so, adds a
    /// finding.
    pub(crate) fn is_out_of_bounds(
        &mut self,
        lane: usize,
        work: &Work,
        buffers: &[&impl Allocated],
        location: &'static Location<'static>,
    ) -> bool {
        let outside = |memory: Memory, bytes: Range<usize>, access| {
            (bytes.end > memory.len_bytes()).then_some((memory, bytes, access))
        };
        let device = |Reach { buffer: id, span_bytes, access }| {
            let len_bytes =
                buffers.iter().find(|buffer| buffer.id() == id).map_or(0, |buffer| buffer.bound_bytes());
            outside(Memory::Device { id, len_bytes }, span_bytes, access)
        };
        let host = || {
            let (host, access) = work.host()?;
            let (memory, bytes) = self.judge.pinned(&host.addresses())?;
            outside(memory, bytes, access)
        };
        let found = work.reaches().into_iter().find_map(device).or_else(host);
        let Some((memory, bytes, access)) = found else { return false };
        let operation = self.operation(work.name(), Some(lane), location);
        let finding = Finding::new(Code::OutOfBounds, operation, access, memory, bytes);
        self.add_finding(Some(Box::new(finding)));
        true
    }
}
