//! What the engine remembers for reports.

use std::collections::{BTreeMap, BTreeSet};

use super::HostUse;
use crate::{
    report::{Finding, LiveHostBuffer, LiveRegistration},
    statistics::Statistics,
};

/// Counters, live handles and findings.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) statistics: Statistics,
    pub(super) findings: Vec<Finding>,
    /// Events alive.
    pub(super) events: usize,
    /// Pinned memory alive, by number of allocation.
    pub(super) host_buffers: BTreeMap<u64, (HostUse, LiveHostBuffer)>,
    /// Pinned ranges of the program's memory, by number of registration: the first byte, and what is told.
    pub(super) registrations: BTreeMap<u64, (usize, LiveRegistration)>,
    /// Bytes that can be pinned at a time.
    pub(super) host_limit_bytes: usize,
    /// Write-combined memory whose reading was told of, by number.
    pub(super) read_slowly: BTreeSet<u64>,
    pub(super) numbered: u64,
}
