//! The engine's records for reports.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Range,
};

use devarray::gather::IndexError;

use super::{HostUse, Mark, lints::Lints, recorder::Recorder};
use crate::{
    allocation::BufferId,
    finding::Finding,
    judge::Snapshot,
    report::{LiveHostBuffer, LiveRegistration},
    statistics::Statistics,
};

/// Most findings that are kept; more would not be read.
pub(super) const MOST_FINDINGS: usize = 1000;

/// Counters, live handles and findings.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) statistics: Statistics,
    pub(super) findings: Vec<Finding>,
    /// Indices out of range that core did not ask for yet, by the number of the gather.
    pub(super) index_errors: HashMap<u64, IndexError>,
    pub(super) lints: Lints,
    /// Whether kernels are run twice, and compared.
    pub(super) check_kernels: bool,
    /// What keeps the timeline, if one is kept.
    pub(super) recorder: Option<Recorder>,
    /// Events alive.
    pub(super) events: usize,
    /// Adopted memory that was not given up.
    pub(super) adopted: usize,
    /// Host memory that other code lent, with its users.
    pub(super) lent: BTreeMap<BufferId, usize>,
    /// Memory that processes have open, with how often.
    pub(super) opened: usize,
    /// Allocations that can be exported, by number.
    pub(super) exportable: BTreeSet<u64>,
    /// Memory that arrays have: operations on arrays used it.
    pub(super) of_arrays: BTreeSet<BufferId>,
    /// Findings of undeclared work of other code, on memory that may turn out to be an array's.
    pub(super) undeclared: BTreeMap<BufferId, Box<Finding>>,
    /// Events that other processes may wait for.
    pub(super) exported_events: BTreeMap<u64, (Mark, Snapshot)>,
    /// Processes, and exported events, so far: what the next has for a number.
    pub(super) processes: u64,
    pub(super) events_exported: u64,
    /// The highest number of a device of this machine, once there is a second.
    pub(super) last_ordinal: Option<usize>,
    /// Which devices are let into another's memory.
    pub(super) peers: BTreeSet<(usize, usize)>,
    /// Pinned and managed memory alive, by number of allocation.
    pub(super) host_buffers: BTreeMap<u64, (HostUse, LiveHostBuffer)>,
    pub(super) allocated_host_buffers: u64,
    /// Bytes of the pinned and of the managed memory alive. Kept, as they are asked for at every
    /// allocation.
    pub(super) pinned_bytes: usize,
    pub(super) managed_bytes: usize,
    /// Bytes that can be pinned at a time.
    pub(super) host_limit_bytes: usize,
    /// Write-combined memory whose reading was told of, by number.
    pub(super) read_slowly: BTreeSet<u64>,
    /// Pinned ranges of the program's own memory, by number of registration: the addresses, and
    /// what is told.
    pub(super) registrations: BTreeMap<u64, (Range<usize>, LiveRegistration)>,
    pub(super) registered: u64,
}
