//! What operations do to allocations.

use std::sync::{Arc, Mutex};

use super::Allocation;
use crate::{
    backend::Device,
    hazards::{AccessLog, Footprint, Touch},
};

/// What one operation does to one allocation.
#[derive(Debug)]
pub(crate) struct AllocationAccess<'a, D: Device> {
    pub(crate) allocation: &'a Arc<Allocation<D>>,
    pub(crate) footprint: Footprint,
    pub(crate) write: bool,
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
