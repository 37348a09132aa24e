//! Operations in queues.

use std::ops::Range;

use devarray::{Error, copy::Plan};
use smallvec::{SmallVec, smallvec};

use super::{
    Computation, Exchanged, Gathered, HostRange, LaunchedKernel, Mark, Multiplied, Ordered, pieces::Pieces,
    reach::Reach,
};
use crate::{
    allocation::BufferId,
    finding::{Access, Finding},
    judge::DeferredCheck,
    statistics::Counts,
    time::Stamp,
};

/// One operation of a stream, and its progress.
#[derive(Debug)]
pub(super) struct Op {
    /// Its place in the order in which all operations of the device were enqueued.
    pub(super) number: u64,
    pub(super) work: Work,
    /// The bytes that are still to be moved, as positions in the concatenation of its runs; none
    /// before it has started.
    pub(super) pieces: Option<Pieces>,
    /// The operations of other lanes that it runs after; most operations have none.
    pub(super) after: Option<Box<[Mark]>>,
    /// Whether a failure ended it before it ran: then it moves no bytes, but still allocates,
    /// frees, records and waits.
    pub(super) cancelled: bool,
    /// The error with which it loses the device when it runs.
    pub(super) pending_loss: Option<Box<Error>>,
    /// Lookups in its bytes that can be done only when it runs; most operations have none.
    pub(super) deferred: Option<Box<DeferredCheck>>,
}

impl Op {
    pub(super) fn new(number: u64, work: Work) -> Self {
        Self { number, work, pieces: None, after: None, cancelled: false, pending_loss: None, deferred: None }
    }

    /// The operations of other lanes that it runs after.
    pub(super) fn waits_for(&self) -> impl Iterator<Item = Mark> {
        let wait = match self.work {
            Work::Wait(mark) => Some(mark),
            _ => None,
        };
        self.after.as_deref().unwrap_or_default().iter().copied().chain(wait)
    }
}

/// The work of an operation.
#[derive(Debug)]
pub(crate) enum Work {
    /// Memory becomes usable.
    Alloc { buffer: BufferId, len_bytes: usize },
    /// Memory is freed.
    Free { buffer: BufferId, len_bytes: usize },
    /// Copies device memory to device memory.
    Copy { dst: BufferId, src: BufferId, plan: Box<Plan> },
    /// Writes a pattern to device memory.
    Fill { dst: BufferId, plan: Box<Plan>, pattern: Pattern },
    /// Copies host memory to device memory.
    Upload { dst: BufferId, bytes: Range<usize>, host: HostRange },
    /// Copies device memory to host memory.
    Download { src: BufferId, bytes: Range<usize>, host: HostRange },
    /// Computes a function of elements, or a reduction.
    Compute(Box<Computation>),
    /// Gathers or scatters elements.
    Gather(Box<Gathered>),
    /// Order, search, counts and sums by index.
    Order(Box<Ordered>),
    /// Multiplies matrices.
    Product(Box<Multiplied>),
    /// Runs one of the program's own kernels.
    Launch(Box<LaunchedKernel>),
    /// The part of one rank in an exchange.
    Exchange(Box<Exchanged>),
    /// Moves managed memory to where it is wanted, which changes no byte.
    Prefetch { buffer: BufferId, bytes: Range<usize> },
    /// Records an event, and stores its time.
    Record(Option<Stamp>),
    /// Waits: nothing later on the stream runs before this point of another stream.
    Wait(Mark),
}

/// The bytes of one element of a fill.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pattern {
    bytes: [u8; 16],
    len_bytes: usize,
}

impl Pattern {
    /// At most 16 bytes; a longer pattern is cut.
    pub(crate) fn new(pattern: &[u8]) -> Self {
        let mut bytes = [0; 16];
        let len_bytes = pattern.len().min(bytes.len());
        bytes[..len_bytes].copy_from_slice(&pattern[..len_bytes]);
        Self { bytes, len_bytes }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len_bytes]
    }
}

impl Work {
    /// Its reach in device memory, reads before writes.
    pub(super) fn reaches(&self) -> SmallVec<[Reach; 2]> {
        let reach =
            |&buffer: &BufferId, span_bytes: Range<usize>, access| Reach { buffer, span_bytes, access };
        match self {
            Self::Alloc { .. } | Self::Free { .. } | Self::Record(_) | Self::Wait(_) => SmallVec::new(),
            Self::Copy { dst, src, plan } => smallvec![
                reach(src, plan.src_span(), Access::Read),
                reach(dst, plan.dst_span(), Access::Write),
            ],
            Self::Fill { dst, plan, .. } => smallvec![reach(dst, plan.dst_span(), Access::Write)],
            Self::Upload { dst, bytes, .. } => smallvec![reach(dst, bytes.clone(), Access::Write)],
            Self::Download { src, bytes, .. } => smallvec![reach(src, bytes.clone(), Access::Read)],
            Self::Compute(computation) => computation.reaches().collect(),
            Self::Gather(gathered) => gathered.reaches(),
            Self::Order(ordered) => ordered.reaches(),
            Self::Product(multiplied) => multiplied.reaches(),
            Self::Launch(kernel) => kernel.reaches(),
            Self::Exchange(exchanged) => exchanged.reaches(),
            Self::Prefetch { buffer, bytes } => smallvec![reach(buffer, bytes.clone(), Access::Read)],
        }
    }

    /// The finding, with the name of the kernel argument that it is about, if there is one.
    pub(super) fn explain(&self, finding: Box<Finding>) -> Box<Finding> {
        let Self::Launch(kernel) = self else { return finding };
        kernel.explain(finding)
    }

    /// The host memory that it touches, and whether it reads or writes it.
    pub(super) fn host(&self) -> Option<(&HostRange, Access)> {
        match self {
            Self::Upload { host, .. } => Some((host, Access::Read)),
            Self::Download { host, .. } => Some((host, Access::Write)),
            _ => None,
        }
    }

    /// Whether it may touch a byte of this host memory.
    pub(super) fn touches_host(&self, range: &HostRange) -> bool {
        self.host().is_some_and(|(host, _)| host.overlaps(range))
    }

    /// The number of bytes that it moves in pieces; 0 if it moves none.
    pub(super) fn len_bytes(&self) -> usize {
        match self {
            Self::Alloc { .. }
            | Self::Free { .. }
            | Self::Prefetch { .. }
            | Self::Record(_)
            | Self::Wait(_) => 0,
            Self::Copy { plan, .. } | Self::Fill { plan, .. } => plan.len_bytes(),
            Self::Upload { bytes, .. } | Self::Download { bytes, .. } => bytes.len(),
            Self::Compute(computation) => computation.len_bytes(),
            Self::Gather(gathered) => gathered.len_bytes(),
            Self::Order(ordered) => ordered.len_bytes(),
            Self::Product(multiplied) => multiplied.len_bytes(),
            Self::Launch(kernel) => kernel.len_bytes(),
            Self::Exchange(exchanged) => exchanged.len_bytes(),
        }
    }

    /// The number of bytes that it concerns; none for events.
    pub(super) fn bytes(&self) -> Option<usize> {
        match self {
            Self::Alloc { len_bytes, .. } | Self::Free { len_bytes, .. } => Some(*len_bytes),
            Self::Prefetch { bytes, .. } => Some(bytes.len()),
            Self::Record(_) | Self::Wait(_) => None,
            _ => Some(self.len_bytes()),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Alloc { .. } => "alloc",
            Self::Free { .. } => "free",
            Self::Copy { .. } => "copy",
            Self::Fill { .. } => "fill",
            Self::Upload { .. } => "upload",
            Self::Download { .. } => "download",
            Self::Compute(computation) => computation.name(),
            Self::Gather(gathered) => gathered.name(),
            Self::Order(ordered) => ordered.name(),
            Self::Product(_) => "matmul",
            Self::Launch(kernel) => kernel.name(),
            Self::Exchange(exchanged) => exchanged.name(),
            Self::Prefetch { .. } => "prefetch",
            Self::Record(_) => "record",
            Self::Wait(_) => "wait",
        }
    }

    pub(super) fn count(&self, counts: &mut Counts) {
        match self {
            Self::Alloc { len_bytes, .. } => counts.allocs += *len_bytes,
            Self::Free { len_bytes, .. } => counts.frees += *len_bytes,
            Self::Copy { plan, .. } => counts.copies += plan.len_bytes(),
            Self::Fill { plan, .. } => counts.fills += plan.len_bytes(),
            Self::Upload { bytes, .. } => counts.uploads += bytes.len(),
            Self::Download { bytes, .. } => counts.downloads += bytes.len(),
            Self::Compute(computation) => computation.count(counts),
            Self::Gather(gathered) => counts.gathers += gathered.len_bytes(),
            Self::Order(ordered) => counts.orders += ordered.len_bytes(),
            Self::Product(multiplied) => counts.products += multiplied.len_bytes(),
            Self::Launch(kernel) => counts.launches += kernel.len_bytes(),
            Self::Exchange(exchanged) => counts.exchanges += exchanged.len_bytes(),
            Self::Prefetch { bytes, .. } => counts.prefetches += bytes.len(),
            Self::Record(_) => counts.records += 1,
            Self::Wait(_) => counts.waits += 1,
        }
    }
}
