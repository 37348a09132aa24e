//! Elements that an operation reads or writes as a whole, by copies of them.

use devarray::{
    Layout, Order,
    copy::{Limits, Plan},
    function::ElementType,
};

use super::{Memory, compute::Elements, reach::Reach, source::Source};
use crate::{
    allocation::{Allocated, BufferId},
    finding::Access,
    judge::{Place, Touch},
};

/// Elements that an operation reads or writes as a whole.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) element_type: ElementType,
    pub(super) layout: Layout,
    /// Where they are, if there are any.
    pub(super) elements: Option<Elements>,
}

impl Side {
    pub(super) fn new(element_type: ElementType, buffer: Option<&impl Allocated>, layout: &Layout) -> Self {
        let elements = buffer.map(|buffer| Elements::of(buffer, layout, element_type.len_bytes()));
        Self { element_type, layout: layout.clone(), elements }
    }

    /// How far it reaches; nowhere without elements.
    pub(super) fn reach(&self, access: Access) -> Option<Reach> {
        Some(self.elements.as_ref()?.reach(access))
    }

    /// What it touches; nothing without elements.
    pub(super) fn touch(&self, access: Access) -> Option<Touch> {
        let elements = self.elements.as_ref()?;
        Some(Touch { place: Place::Device(elements.buffer), bytes: elements.bytes(), access })
    }

    /// The memory, and the byte of it where the first element of a layout lies; none without elements.
    pub(super) fn first_byte(&self, layout: &Layout) -> Option<(BufferId, usize)> {
        let elements = self.elements.as_ref()?;
        let at = layout.offset() * self.element_type.len_bytes();
        Some((elements.buffer, at.saturating_add_signed(elements.start_bytes)))
    }

    pub(super) fn dense(&self) -> Layout {
        dense(&self.layout)
    }

    /// Its elements in row-major order, copied; poison where there is no memory.
    pub(super) fn read(&self, memory: &Memory) -> Vec<u8> {
        let mut bytes = vec![0; self.layout.len() * self.element_type.len_bytes()];
        if let Some(elements) = &self.elements {
            let source = Source::new(memory, elements.buffer);
            for (from, to, len) in runs(&self.dense(), &self.layout, self.element_type) {
                source.read(from.saturating_add_signed(elements.start_bytes), &mut bytes[to..to + len]);
            }
        }
        bytes
    }

    /// Writes all its elements, or only the first `rows` rows, from bytes in row-major order.
    pub(super) fn write(&self, memory: &mut Memory, bytes: &[u8], rows: Option<usize>) {
        let Some(elements) = &self.elements else { return };
        let first = rows.and_then(|rows| self.layout.slice_axis(0, ..rows).ok());
        let layout = first.as_ref().unwrap_or(&self.layout);
        let mut written = memory.take(elements.buffer);
        for (from, to, len) in runs(layout, &dense(layout), self.element_type) {
            let start = to.saturating_add_signed(elements.start_bytes);
            let into = written.part_mut(start..start + len);
            let there = into.len();
            into.copy_from_slice(&bytes[from..from + there]);
        }
        memory.put(elements.buffer, written);
    }
}

/// The shape, with elements side by side in row-major order.
pub(super) fn dense(layout: &Layout) -> Layout {
    layout.dense_like(Order::C).unwrap_or_else(|_| layout.clone())
}

/// The ways of bytes from the second layout to the first: from where, to where, how many.
fn runs(
    to: &Layout,
    from: &Layout,
    element_type: ElementType,
) -> impl Iterator<Item = (usize, usize, usize)> {
    let plan = Plan::new(to, from, element_type.len_bytes(), Limits::default());
    plan.map_or_else(|_| Vec::new(), |plan| plan.runs().collect()).into_iter()
}
