//! What the engine remembers for reports.

use std::{collections::BTreeMap, panic::Location};

use crate::{finding::Finding, report::LiveHostBuffer, statistics::Statistics};

/// Counters, live handles and findings.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) statistics: Statistics,
    pub(super) findings: Vec<Finding>,
    /// Events alive.
    pub(super) events: usize,
    /// Pinned memory alive, by number of allocation.
    pub(super) host_buffers: BTreeMap<u64, LiveHostBuffer>,
    allocated_host_buffers: u64,
}

impl Ledger {
    pub(super) fn open_host_buffer(&mut self, len_bytes: usize, location: &'static Location<'static>) -> u64 {
        let number = self.allocated_host_buffers;
        self.allocated_host_buffers += 1;
        self.host_buffers.insert(number, LiveHostBuffer { len_bytes, location });
        number
    }
}
