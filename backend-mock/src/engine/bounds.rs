//! What reaches outside a memory is refused: it is the one mistake that cannot be acted out.

use std::panic::Location;

use super::{Engine, Work};
use crate::{
    buffer::MockBuffer,
    finding::{Access, Code, Finding, Memory},
};

impl Engine {
    /// Whether an operation reaches outside one of its buffers or its pinned memory; a finding then.
    pub(crate) fn is_out_of_bounds(
        &mut self,
        lane: usize,
        work: &Work,
        buffers: &[&MockBuffer],
        location: &'static Location<'static>,
    ) -> bool {
        let outside = |(memory, bytes, access): (Memory, std::ops::Range<usize>, Access)| {
            (bytes.end > memory.len_bytes()).then_some((memory, bytes, access))
        };
        let device = work.accesses().into_iter().flatten().map(|access| {
            let id = access.buffer;
            let len_bytes =
                buffers.iter().find(|buffer| buffer.id == id).map_or(0, |buffer| buffer.bound_bytes());
            let way = if access.write { Access::Write } else { Access::Read };
            (Memory::Device { id, len_bytes }, access.span_bytes, way)
        });
        let host = work.host().and_then(|(host, access)| {
            let (memory, bytes) = self.judge.pinned(&host.addresses())?;
            Some((memory, bytes, access))
        });
        let Some((memory, bytes, access)) = device.chain(host).find_map(outside) else { return false };
        let operation = self.operation(work.name(), Some(lane), location);
        let finding = Finding::new(Code::OutOfBounds, operation, access, memory, bytes);
        self.add_finding(Some(Box::new(finding)));
        true
    }
}
