//! An operation in a queue.

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

/// One operation of a stream, and how far it is.
#[derive(Debug)]
pub(super) struct Op {
    /// Its place in the order in which all operations of the device were enqueued.
    pub(super) number: u64,
    pub(super) work: Work,
    /// The bytes still to be moved, as positions in the concatenation of its runs; none before it
    /// started.
    pub(super) pieces: Option<Pieces>,
    /// Operations of other lanes that it runs after; none for most.
    pub(super) after: Option<Box<[Mark]>>,
    /// A failure ended it before it ran: it moves no bytes any more, but still allocates, frees,
    /// records and waits.
    pub(super) cancelled: bool,
    /// It loses the device, with this error, when it runs.
    pub(super) pending_loss: Option<Box<Error>>,
    /// Lookups for its bytes that only a run can answer; none for most.
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

/// What an operation does.
#[derive(Debug)]
pub(crate) enum Work {
    /// Memory becomes usable.
    Alloc { buffer: BufferId, len_bytes: usize },
    /// Memory is given back.
    Free { buffer: BufferId, len_bytes: usize },
    /// Device memory to device memory.
    Copy { dst: BufferId, src: BufferId, plan: Box<Plan> },
    /// A pattern to device memory.
    Fill { dst: BufferId, plan: Box<Plan>, pattern: Pattern },
    /// Host memory to device memory.
    Upload { dst: BufferId, bytes: Range<usize>, host: HostRange },
    /// Device memory to host memory.
    Download { src: BufferId, bytes: Range<usize>, host: HostRange },
    /// A function on elements, or a reduction.
    Compute(Box<Computation>),
    /// Elements by index.
    Gather(Box<Gathered>),
    /// Order, search, counts and sums by index.
    Order(Box<Ordered>),
    /// Matrix products.
    Product(Box<Multiplied>),
    /// A kernel of the program's own.
    Launch(Box<LaunchedKernel>),
    /// The part of one rank in an exchange.
    Exchange(Box<Exchanged>),
    /// Managed memory to where it is wanted, which changes no byte.
    Prefetch { buffer: BufferId, bytes: Range<usize> },
    /// An event, and where to leave its time.
    Record(Option<Stamp>),
    /// Nothing later on the stream runs before this point of another.
    Wait(Mark),
}

/// One element of a fill.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pattern {
    bytes: [u8; 16],
    len_bytes: usize,
}

impl Pattern {
    /// At most 16 bytes; what is longer is cut.
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
    /// How far it reaches in device memory, reads before writes.
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

    /// The finding, with the argument named if it is about one of a kernel.
    pub(super) fn explain(&self, finding: Box<Finding>) -> Box<Finding> {
        let Self::Launch(kernel) = self else { return finding };
        kernel.explain(finding)
    }

    /// The host memory it touches, and how.
    pub(super) fn host(&self) -> Option<(&HostRange, Access)> {
        match self {
            Self::Upload { host, .. } => Some((host, Access::Read)),
            Self::Download { host, .. } => Some((host, Access::Write)),
            _ => None,
        }
    }

    /// Whether it may touch a byte of the host range.
    pub(super) fn touches_host(&self, range: &HostRange) -> bool {
        self.host().is_some_and(|(host, _)| host.overlaps(range))
    }

    /// Bytes that it moves in pieces; 0 if it moves none.
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

    /// Bytes that it is about; none of an event.
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
