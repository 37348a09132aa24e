//! Accesses of operations to allocations.

use std::{
    ops::Range,
    sync::{Arc, Mutex},
};

use super::Allocation;
use crate::{
    backend::Device,
    hazards::{AccessLog, Footprint, Touch},
};

/// The access of one operation to one allocation.
#[derive(Debug)]
pub(crate) struct AllocationAccess<'a, D: Device> {
    pub(crate) allocation: &'a Arc<Allocation<D>>,
    pub(crate) footprint: Footprint,
    pub(crate) write: bool,
}

impl<'a, D: Device> AllocationAccess<'a, D> {
    /// Accesses all bytes of a range.
    pub(crate) fn of_bytes(allocation: &'a Arc<Allocation<D>>, bytes: Range<usize>, write: bool) -> Self {
        Self { allocation, footprint: Footprint::solid(bytes.start, bytes.end), write }
    }

    /// Accesses all bytes.
    pub(crate) fn whole(allocation: &'a Arc<Allocation<D>>, write: bool) -> Self {
        Self::of_bytes(allocation, 0..allocation.len_bytes(), write)
    }
}

impl<D: Device> Touch for AllocationAccess<'_, D> {
    fn uses(&self) -> &Mutex<AccessLog> {
        &self.allocation.uses
    }

    fn footprint(&self) -> Footprint {
        self.footprint
    }

    fn writes(&self) -> bool {
        self.write
    }
}
