//! The recorder of the calls of a recording.

use std::{
    fmt,
    panic::Location,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use smallvec::SmallVec;

use super::{
    Kept, Placement, RecordingError,
    branches::{Branches, MOST_WASTED, REPORTS, Side},
    exchanges::RecordedExchange,
};
use crate::{
    Result, allocation::Allocation, backend::Device, collective::Exchanged, context::ContextCore,
    error::made_again, lock::lock, operations::Elements, stream::StreamCore,
};

/// The number of the next recording of the process.
static RECORDINGS: AtomicU64 = AtomicU64::new(1);

/// Larger memory is used again as soon as its array is gone, which puts a call behind all that used it. Smaller
/// memory is used again where that puts no call behind another: such calls leave room on the device for others.
pub(super) const MOST_APART_BYTES: usize = 1 << 20;

/// The recording that memory belongs to, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    recording: u64,
    number: usize,
}

/// Makes a call again, on a stream, with the memory of a launch.
pub(super) type Replay<D> = Box<dyn Fn(&StreamCore<D>, Placement<'_, D>) -> Result<()> + Send + Sync>;

/// A call, and the line of the program that made it.
pub(super) struct RecordedCall<D: Device> {
    pub(super) site: &'static Location<'static>,
    /// Whether it may find an index that has no place, which each launch tells anew.
    pub(super) reports: bool,
    pub(super) replay: Replay<D>,
}

impl<D: Device> RecordedCall<D> {
    /// Makes the call again, as one of its line.
    pub(super) fn again(&self, stream: &StreamCore<D>, memory: Placement<'_, D>) -> Result<()> {
        made_again(self.site, || (self.replay)(stream, memory))
    }
}

/// Recorded calls, and the earlier ones that each comes directly behind.
#[derive(Debug)]
pub(super) struct Calls<D: Device> {
    pub(super) all: Vec<RecordedCall<D>>,
    pub(super) behind: Vec<Box<[usize]>>,
}

/// Memory that calls name by number.
#[derive(Debug)]
pub(super) enum Memory<D: Device> {
    /// An argument, or memory of the recording: it has bytes at a launch only.
    Later(Arc<Allocation<D>>),
    /// Memory that nobody writes, which the recording keeps.
    Now(Arc<Allocation<D>>),
}

/// All that was recorded.
#[derive(Debug)]
pub(super) struct Recorded<D: Device> {
    /// The arguments, then what came.
    pub(super) memory: Vec<Memory<D>>,
    pub(super) calls: Vec<RecordedCall<D>>,
    /// In their order.
    pub(super) exchanges: Vec<RecordedExchange>,
    pub(super) branches: Branches,
}

/// Records the calls of a stream. Over when the closure of the recording has returned.
pub(crate) struct Recorder<D: Device> {
    recording: u64,
    recorded: Mutex<Option<Recorded<D>>>,
}

impl<D: Device> Recorder<D> {
    pub(super) fn new() -> Self {
        let recorded = Mutex::new(Some(Recorded {
            memory: Vec::new(),
            calls: Vec::new(),
            exchanges: Vec::new(),
            branches: Branches::default(),
        }));
        Self { recording: RECORDINGS.fetch_add(1, Relaxed), recorded }
    }

    /// Whether memory is of this recording.
    pub(crate) fn has(&self, part: Part) -> bool {
        part.recording == self.recording
    }

    /// Stands for the memory of an argument, up to its last byte.
    #[track_caller]
    pub(super) fn argument(
        &self,
        core: &Arc<ContextCore<D>>,
        len_bytes: usize,
    ) -> Result<Arc<Allocation<D>>> {
        let mut recorded = lock(&self.recorded);
        let Some(recorded) = recorded.as_mut() else { return Err(RecordingError::Over.of("record_work")) };
        Ok(self.add(recorded, core, len_bytes))
    }

    fn add(
        &self,
        recorded: &mut Recorded<D>,
        core: &Arc<ContextCore<D>>,
        len_bytes: usize,
    ) -> Arc<Allocation<D>> {
        let part = Part { recording: self.recording, number: recorded.memory.len() };
        let allocation = Arc::new(Allocation::recorded(core, len_bytes, part));
        recorded.memory.push(Memory::Later(Arc::clone(&allocation)));
        allocation
    }

    /// New memory; or large memory of an array that is gone, if it fits.
    #[track_caller]
    pub(crate) fn allocate(
        &self,
        core: &Arc<ContextCore<D>>,
        len_bytes: usize,
    ) -> Result<Arc<Allocation<D>>> {
        let mut recorded = lock(&self.recorded);
        let Some(recorded) = recorded.as_mut() else { return Err(RecordingError::Over.of("alloc")) };
        let most = len_bytes.saturating_add(len_bytes / MOST_WASTED);
        let idle = recorded.memory.iter().find_map(|memory| match memory {
            Memory::Later(of)
                if Arc::strong_count(of) == 1 && (len_bytes..=most).contains(&of.len_bytes()) =>
            {
                Some(of)
            }
            _ => None,
        });
        let idle = idle.filter(|_| len_bytes > MOST_APART_BYTES);
        if let Some(idle) = idle {
            return Ok(Arc::clone(idle));
        }
        Ok(self.add(recorded, core, len_bytes))
    }

    /// Begins to record a call.
    pub(super) fn call(&self, operation: &'static str) -> Taking<'_, D> {
        Taking { recorder: self, operation, sides: SmallVec::new(), reports: false }
    }

    /// The number of memory that the recording keeps from now on.
    fn number_of(&self, allocation: &Arc<Allocation<D>>) -> usize {
        let mut recorded = lock(&self.recorded);
        // A recording that is over takes no call.
        let Some(recorded) = recorded.as_mut() else { return 0 };
        let is_it = |memory: &Memory<D>| matches!(memory, Memory::Now(of) if Arc::ptr_eq(of, allocation));
        recorded.memory.iter().position(is_it).unwrap_or_else(|| {
            recorded.memory.push(Memory::Now(Arc::clone(allocation)));
            recorded.memory.len() - 1
        })
    }

    /// Takes an exchange down, by the communicator of this part.
    #[track_caller]
    pub(crate) fn exchange(&self, ranks: Part, what: &Exchanged<Elements<'_, D>>) -> Result<()> {
        let mut taking = self.call(what.operation);
        let source = what.source.as_ref().map(|of| taking.reads(of));
        let result = what.result.as_ref().map(|of| taking.writes(of));
        let (site, argument, what) = (Location::caller(), ranks.number, what.of(source, result));
        let mut recorded = lock(&self.recorded);
        let Some(recorded) = recorded.as_mut() else { return Err(RecordingError::Over.of(what.operation)) };
        recorded.branches.add_between(&taking.sides);
        let calls_before = recorded.calls.len();
        recorded.exchanges.push(RecordedExchange { site, calls_before, argument, what });
        Ok(())
    }

    /// Ends the recording.
    pub(super) fn end(&self) -> Option<Recorded<D>> {
        lock(&self.recorded).take()
    }
}

/// A call that is being recorded, with all that it uses.
pub(super) struct Taking<'r, D: Device> {
    recorder: &'r Recorder<D>,
    operation: &'static str,
    sides: SmallVec<[Side; 4]>,
    reports: bool,
}

impl<D: Device> Taking<'_, D> {
    /// Elements that the call reads.
    pub(super) fn reads(&mut self, elements: &Elements<'_, D>) -> Kept {
        self.uses(elements, false)
    }

    /// Elements that the call writes, and may read.
    pub(super) fn writes(&mut self, elements: &Elements<'_, D>) -> Kept {
        self.uses(elements, true)
    }

    /// Elements by the number of their memory, which the stream has checked to be of the recording or shared.
    pub(super) fn uses(&mut self, elements: &Elements<'_, D>, write: bool) -> Kept {
        let number = match elements.allocation.part() {
            Some(part) => part.number,
            None => self.recorder.number_of(elements.allocation),
        };
        self.sides.push(Side { number, footprint: elements.touch(write).footprint, write });
        Kept { number, layout: elements.layout.clone(), item_bytes: elements.item_bytes }
    }

    /// Whether the call may find an index that has no place.
    pub(super) fn reports(mut self, reports: bool) -> Self {
        self.reports = reports;
        self
    }

    /// Takes the call down.
    #[track_caller]
    pub(super) fn push(
        self,
        replay: impl Fn(&StreamCore<D>, Placement<'_, D>) -> Result<()> + Send + Sync + 'static,
    ) -> Result<()> {
        let Self { recorder, operation, mut sides, reports } = self;
        let mut recorded = lock(&recorder.recorded);
        let Some(recorded) = recorded.as_mut() else { return Err(RecordingError::Over.of(operation)) };
        if reports {
            sides.push(REPORTS);
        }
        recorded.branches.add(&sides);
        let (site, replay) = (Location::caller(), Box::new(replay));
        recorded.calls.push(RecordedCall { site, reports, replay });
        Ok(())
    }
}

impl<D: Device> fmt::Debug for Recorder<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorder({})", self.recording)
    }
}

impl<D: Device> fmt::Debug for RecordedCall<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordedCall({})", self.site)
    }
}
