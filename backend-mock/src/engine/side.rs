//! Operands that an operation reads or writes as a whole, through copies.

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

/// The elements of an operand that is read or written as a whole.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) element_type: ElementType,
    pub(super) layout: Layout,
    /// The elements in memory, if there are any.
    pub(super) elements: Option<Elements>,
}

impl Side {
    pub(super) fn new(element_type: ElementType, buffer: Option<&impl Allocated>, layout: &Layout) -> Self {
        let elements = buffer.map(|buffer| Elements::of(buffer, layout, element_type.len_bytes()));
        Self { element_type, layout: layout.clone(), elements }
    }

    /// Its reach; none without elements.
    pub(super) fn reach(&self, access: Access) -> Option<Reach> {
        Some(self.elements.as_ref()?.reach(access))
    }

    /// Its touch; none without elements.
    pub(super) fn touch(&self, access: Access) -> Option<Touch> {
        let elements = self.elements.as_ref()?;
        Some(Touch { place: Place::Device(elements.buffer), bytes: elements.bytes(), access })
    }

    /// The memory, and the position in it of the first element of a layout, in bytes; none without elements.
    pub(super) fn first_byte(&self, layout: &Layout) -> Option<(BufferId, usize)> {
        let elements = self.elements.as_ref()?;
        let at = layout.offset() * self.element_type.len_bytes();
        Some((elements.buffer, at.saturating_add_signed(elements.start_bytes)))
    }

    pub(super) fn dense(&self) -> Layout {
        dense(&self.layout)
    }

    /// A copy of its elements in C order, with poison in place of memory that does not exist.
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

    /// Writes all its elements, or only the first `rows` rows, from bytes in C order.
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

/// A layout of the same shape, with elements side by side in C order.
pub(super) fn dense(layout: &Layout) -> Layout {
    layout.dense_like(Order::C).unwrap_or_else(|_| layout.clone())
}

/// The runs from the second layout to the first: source byte, destination byte, number of bytes.
fn runs(
    to: &Layout,
    from: &Layout,
    element_type: ElementType,
) -> impl Iterator<Item = (usize, usize, usize)> {
    let plan = Plan::new(to, from, element_type.len_bytes(), Limits::default());
    plan.map_or_else(|_| Vec::new(), |plan| plan.runs().collect()).into_iter()
}
