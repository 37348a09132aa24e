//! Compares the declared accesses of other code with its actual ones.

use std::{collections::BTreeMap, ops::Range};

use devarray::{
    Layout, Order,
    backend::{Capabilities, DeclaredAccess},
    copy::Plan,
};

use super::{Place, Touch, bytes::Bytes, initialized::Initialized};
use crate::{
    allocation::{Allocated, BufferId},
    finding::Access,
};

/// The bytes that were declared, for each memory.
#[derive(Debug, Default)]
pub(crate) struct Declared {
    read: BTreeMap<BufferId, Initialized>,
    written: BTreeMap<BufferId, Initialized>,
    /// The access, the memory and the bytes of each declaration, in order, for messages.
    told: Vec<(Access, BufferId, Range<usize>)>,
}

impl Declared {
    pub(crate) fn of(accesses: &[DeclaredAccess<'_, impl Allocated>]) -> Self {
        let mut declared = Self::default();
        for access in accesses {
            let (id, bytes) = (access.buffer.id(), bytes_of(access));
            // Work that is declared to write may also read.
            declared.read.entry(id).or_default().set(&bytes, true);
            if access.write {
                declared.written.entry(id).or_default().set(&bytes, true);
            }
            let what = if access.write { Access::Write } else { Access::Read };
            declared.told.push((what, id, bytes.span()));
        }
        declared
    }

    /// Whether any bytes of a memory were declared.
    pub(crate) fn names(&self, id: BufferId) -> bool {
        self.read.contains_key(&id)
    }

    /// The first undeclared bytes of device memory that an operation touches.
    pub(crate) fn missing(&self, touch: &Touch) -> Option<(BufferId, Range<usize>)> {
        let Place::Device(id) = touch.place else { return None };
        let allowed = match touch.access {
            Access::Read => self.read.get(&id),
            Access::Write => self.written.get(&id),
            Access::Lifetime => return None,
        };
        let missing = match allowed {
            Some(allowed) => allowed.first_missing(&touch.bytes)?,
            // No bytes of it were declared, so the first run is missing already.
            None => Initialized::default().first_missing(&touch.bytes)?,
        };
        Some((id, missing))
    }

    /// The declarations, in one line.
    pub(crate) fn told(&self) -> String {
        let each = self.told.iter().map(|(access, id, Range { start, end })| {
            let verb = if *access == Access::Write { "writes" } else { "reads" };
            format!("{verb} bytes {start:#x}..{end:#x} of buffer {id}")
        });
        let all: Vec<String> = each.collect();
        if all.is_empty() { "declared: nothing".to_owned() } else { format!("declared: {}", all.join(", ")) }
    }
}

/// The bytes in the memory that the buffer is part of.
pub(super) fn bytes_of(access: &DeclaredAccess<'_, impl Allocated>) -> Bytes {
    let (layout, start) = (access.layout, access.buffer.start_bytes());
    let plan = Layout::contiguous(layout.shape(), Order::C)
        .and_then(|dense| Plan::new(&dense, layout, access.item_bytes, &Capabilities::default()));
    match plan.ok().and_then(|plan| plan.moved(0, start)) {
        Some(plan) => Bytes::source(&plan),
        // Elements are repeated more often than can be counted, so all bytes of the span are taken.
        None => {
            let span = layout.span();
            let at = |element: usize| (element * access.item_bytes).saturating_add_signed(start);
            Bytes::range(at(span.start)..at(span.end))
        }
    }
}
