//! Lookups that operations do when they run: the bytes that scatters and counted results left without a
//! value.

use super::{Engine, Memory, Work};
use crate::{
    allocation::BufferId,
    finding::{Access, Code, Finding, Operation},
    judge::{ByteSet, DeferredCheck, INITIALIZE, propagated_by},
};

impl Engine {
    /// Finds the bytes that may have no value, for the operation at the front of a lane, which
    /// begins now.
    pub(super) fn run_deferred_check(&mut self, lane: usize) {
        let Some(op) = self.lanes.front_mut(lane) else { return };
        let Some(check) = op.deferred.take().filter(|_| !op.cancelled) else { return };
        let DeferredCheck { operation, read, put } = *check;
        let mut missing: Vec<(BufferId, ByteSet)> = Vec::new();
        for (at, id, maybe) in read {
            let Some(unput) = self.memory.unput_mut(id) else { continue };
            let unput = unput.common(&maybe);
            match &mut op.work {
                Work::Copy { dst, plan, .. } => {
                    let (settled, unput) = (propagated_by(plan, &maybe), propagated_by(plan, &unput));
                    if let Some(known) = self.memory.unput_mut(*dst) {
                        *known = known.without(&settled).with(&unput);
                    }
                }
                // A gather reads only the elements that its indices name.
                Work::Gather(gathered) if at == 0 => gathered.add_missing(&unput),
                _ if unput.is_empty() => {}
                _ => missing.push((id, unput)),
            }
        }
        match &mut op.work {
            Work::Gather(gathered) => gathered.set_put(put.into_iter().next().map(|(_, bytes)| bytes)),
            Work::Order(ordered) => ordered.set_put(put),
            _ => {}
        }
        let memory = &self.memory;
        let found = missing.iter().filter_map(|(of, bytes)| found_missing(memory, operation, *of, bytes));
        let found: Vec<_> = found.map(|finding| op.work.explain(finding)).collect();
        found.into_iter().for_each(|finding| self.add_finding(Some(finding)));
    }
}

/// The finding that an operation reads these bytes, which have no value; none without bytes.
pub(super) fn found_missing(
    memory: &Memory,
    operation: Operation,
    of: BufferId,
    bytes: &ByteSet,
) -> Option<Box<Finding>> {
    let first = bytes.first_common(bytes)?;
    let len_bytes = memory.place_of(of).map_or(first.end, |(_, len_bytes)| len_bytes);
    let memory = crate::Memory::Device { id: of, len_bytes };
    let finding = Finding::new(Code::Uninitialized, operation, Access::Read, memory, first);
    Some(Box::new(finding.note(INITIALIZE.to_owned())))
}
