//! The operation that moves elements by index.
#![allow(unsafe_code)] // declares an unsafe constructor; performs no unsafe operation

use std::fmt;

use crate::gather::{Direction, Gathering, IndexType};

/// A gather or scatter, with its memory.
#[repr(C)]
pub struct GatherOp<'a, B> {
    pub(crate) number: u64,
    pub(crate) work: Gathering<'a>,
    pub(crate) indexed: &'a B,
    pub(crate) indices: &'a B,
    pub(crate) mask: Option<&'a B>,
    pub(crate) elements: &'a B,
    pub(crate) checked: bool,
}

impl<'a, B> GatherOp<'a, B> {
    /// The operation, unchecked. `number` tells this launch from every other.
    ///
    /// # Safety
    ///
    /// All layouts of `work` have its shape, in which no extent is 0, as `positions` has its rank.
    /// They lie inside their buffers, in elements of `width_bytes`, in indices and in bytes. No
    /// extent of `indexed_axes` is 0, and any index inside them names elements of `indexed`. There
    /// is a mask if `work` has one, and only of a scatter. The condition of [`IndexType::Counted`]
    /// holds. The write, with a count, is injective, any index included, and shares no byte
    /// with the other sides. Nothing that conflicts with it is in
    /// flight, or an event or the stream orders it after that.
    #[must_use]
    pub unsafe fn new_unchecked(
        number: u64,
        work: Gathering<'a>,
        indexed: &'a B,
        indices: &'a B,
        mask: Option<&'a B>,
        elements: &'a B,
    ) -> Self {
        Self { number, work, indexed, indices, mask, elements, checked: false }
    }

    /// Tells this launch from every other one of the process, also of the same gather: its findings
    /// are [asked for](super::Gathers::take_index_error) by this number. Not 0. A
    /// [captured](crate::backend::Captures::launch_captured) operation has other numbers, one for each launch.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The elements that move, and where they are in the buffers.
    #[must_use]
    pub fn work(&self) -> &Gathering<'a> {
        &self.work
    }

    /// The memory of the array that indices count in.
    #[must_use]
    pub fn indexed(&self) -> &'a B {
        self.indexed
    }

    /// The memory of the indices, or of the count that is written.
    #[must_use]
    pub fn indices(&self) -> &'a B {
        self.indices
    }

    /// The memory of the mask, if there is one.
    #[must_use]
    pub fn mask(&self) -> Option<&'a B> {
        self.mask
    }

    /// The memory of the elements that are picked, or put.
    #[must_use]
    pub fn elements(&self) -> &'a B {
        self.elements
    }

    /// The memory of the elements that are written.
    #[must_use]
    pub fn written(&self) -> &'a B {
        match self.work.direction {
            Direction::Gather => self.elements,
            Direction::Scatter => self.indexed,
        }
    }

    /// The memory of the count that is written, if there is one.
    #[must_use]
    pub fn counted(&self) -> Option<&'a B> {
        (self.work.index_type == IndexType::Counted).then_some(self.indices)
    }

    /// Bytes that are written, at most.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.work.elements.len() * self.work.width_bytes
    }
}

/// The call, and the shape that it goes through.
impl<B> fmt::Debug for GatherOp<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GatherOp({:?})", self.work())
    }
}
