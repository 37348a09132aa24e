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

/// The most findings that are kept; nobody would read more.
pub(super) const MOST_FINDINGS: usize = 1000;

/// Counters, live handles and findings.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) statistics: Statistics,
    pub(super) findings: Vec<Finding>,
    /// Indices out of range that core has not asked for yet, by the number of the gather.
    pub(super) index_errors: HashMap<u64, IndexError>,
    pub(super) lints: Lints,
    /// Whether kernels run twice and the results are compared.
    pub(super) check_kernels: bool,
    /// The recorder of the timeline, if one is kept.
    pub(super) recorder: Option<Recorder>,
    /// The number of live events.
    pub(super) events: usize,
    /// The number of adopted memories that were not given back.
    pub(super) adopted: usize,
    /// Host memory that other code lent, with the number of its users.
    pub(super) lent: BTreeMap<BufferId, usize>,
    /// The number of memories of other processes that are open.
    pub(super) opened: usize,
    /// The allocations that can be exported, by number.
    pub(super) exportable: BTreeSet<u64>,
    /// Memory that belongs to arrays: operations on arrays have used it.
    pub(super) of_arrays: BTreeSet<BufferId>,
    /// Findings about undeclared work of other code, on memory that may turn out to belong to an
    /// array.
    pub(super) undeclared: BTreeMap<BufferId, Box<Finding>>,
    /// Events that other processes may wait for.
    pub(super) exported_events: BTreeMap<u64, (Mark, Snapshot)>,
    /// The number of processes, and of exported events, so far; also the numbers of the next ones.
    pub(super) processes: u64,
    pub(super) events_exported: u64,
    /// The highest number of a device of this machine, once there is a second device.
    pub(super) last_ordinal: Option<usize>,
    /// The pairs of a device and a peer whose memory it may reach.
    pub(super) peers: BTreeSet<(usize, usize)>,
    /// Live pinned and managed memory, by number of allocation.
    pub(super) host_buffers: BTreeMap<u64, (HostUse, LiveHostBuffer)>,
    pub(super) allocated_host_buffers: u64,
    /// The bytes of live pinned memory, and of live managed memory. Kept, because every allocation
    /// needs them.
    pub(super) pinned_bytes: usize,
    pub(super) managed_bytes: usize,
    /// The most bytes that can be pinned at a time.
    pub(super) host_limit_bytes: usize,
    /// Write-combined memory for which a lint about reading it was added, by number.
    pub(super) read_slowly: BTreeSet<u64>,
    /// The pinned ranges of the program's own memory, by number of registration: their addresses,
    /// and their entry in the report.
    pub(super) registrations: BTreeMap<u64, (Range<usize>, LiveRegistration)>,
    pub(super) registered: u64,
}
