//! Memory of recorded calls: kept by number, found at a launch.

use std::{borrow::Cow, sync::Arc};

use super::RecordingError;
use crate::{Result, allocation::Allocation, backend::Device, layout::Layout, operations::Elements};

/// Elements of a recorded call: the number of their memory, and how they lie in it.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(super) number: usize,
    pub(super) layout: Layout,
    pub(super) item_bytes: usize,
}

/// Where memory is at a launch.
#[derive(Debug)]
pub(super) struct Place<'m, D: Device> {
    pub(super) allocation: &'m Arc<Allocation<D>>,
    /// The distance of the elements from where they were recorded.
    pub(super) moved_bytes: isize,
}

/// The memory of a launch.
#[derive(Debug)]
pub(crate) struct Placement<'m, D: Device> {
    pub(super) places: &'m [Place<'m, D>],
    /// The place of the memory of each number.
    pub(super) homes: &'m [usize],
}

impl<'m, D: Device> Placement<'m, D> {
    fn of(self, number: usize) -> &'m Place<'m, D> {
        &self.places[self.homes[number]]
    }
}

impl<D: Device> Clone for Placement<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Placement<'_, D> {}

/// Elements at a launch.
pub(crate) struct Placed<'m, D: Device> {
    allocation: &'m Arc<Allocation<D>>,
    layout: Cow<'m, Layout>,
    item_bytes: usize,
}

impl<D: Device> Placed<'_, D> {
    pub(crate) fn elements(&self) -> Elements<'_, D> {
        Elements { allocation: self.allocation, layout: &self.layout, item_bytes: self.item_bytes }
    }
}

impl Kept {
    /// The elements, at a launch.
    #[inline]
    pub(crate) fn at<'m, D: Device>(&'m self, memory: Placement<'m, D>) -> Result<Placed<'m, D>> {
        let layout = self.moved(&self.layout, self.item_bytes, memory)?;
        let allocation = memory.of(self.number).allocation;
        // Recorded elements lie inside their argument; the memory of this one may be smaller.
        allocation.check_reach(&layout, self.item_bytes)?;
        Ok(Placed { allocation, layout, item_bytes: self.item_bytes })
    }

    /// Another layout in the same memory, which counts items of this size, at a launch.
    pub(crate) fn moved<'m, D: Device>(
        &self,
        layout: &'m Layout,
        item_bytes: usize,
        memory: Placement<'m, D>,
    ) -> Result<Cow<'m, Layout>> {
        let moved_bytes = memory.of(self.number).moved_bytes;
        // A layout without elements may begin anywhere.
        if moved_bytes == 0 || layout.is_empty() {
            return Ok(Cow::Borrowed(layout));
        }
        let item = item_bytes.cast_signed();
        let offset = layout.offset().checked_add_signed(moved_bytes / item);
        let Some(offset) = offset.filter(|_| moved_bytes % item == 0) else {
            return Err(RecordingError::Misaligned.of("launch"));
        };
        Ok(Cow::Owned(Layout::new(layout.shape(), layout.strides(), offset)?))
    }
}
