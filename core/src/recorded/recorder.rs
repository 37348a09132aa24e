//! The recorder, which takes the calls of a recording down.

use std::{
    fmt,
    panic::Location,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use super::{Kept, Placement, RecordingError, exchanges::RecordedExchange};
use crate::{
    Result, allocation::Allocation, backend::Device, collective::Exchanged, context::ContextCore, lock::lock,
    operations::Elements, stream::StreamCore,
};

/// The number of the next recording of the process.
static RECORDINGS: AtomicU64 = AtomicU64::new(1);

/// Reuse the memory of an array that is gone only if it is at most this part larger.
const MOST_WASTED: usize = 8;

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
    /// Whether it is not captured: it may find an index that has no place, which each launch tells anew, or it takes
    /// elements from the host.
    pub(super) is_anew: bool,
    pub(super) replay: Replay<D>,
}

/// Memory that calls name by number.
#[derive(Debug)]
pub(super) enum Memory<D: Device> {
    /// An argument, or memory of the recording: it has bytes at a launch only.
    Later(Arc<Allocation<D>>),
    /// Memory that nobody writes, which the recording keeps.
    Now(Arc<Allocation<D>>),
}

/// All that was taken down.
#[derive(Debug)]
pub(super) struct Recorded<D: Device> {
    /// The arguments, then what came.
    pub(super) memory: Vec<Memory<D>>,
    pub(super) calls: Vec<RecordedCall<D>>,
    /// In their order.
    pub(super) exchanges: Vec<RecordedExchange>,
}

/// Takes the calls of a stream down. Over when the closure of the recording has returned.
pub(crate) struct Recorder<D: Device> {
    recording: u64,
    recorded: Mutex<Option<Recorded<D>>>,
}

impl<D: Device> Recorder<D> {
    pub(super) fn new() -> Self {
        let recorded = Recorded { memory: Vec::new(), calls: Vec::new(), exchanges: Vec::new() };
        let recorded = Mutex::new(Some(recorded));
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

    /// Memory of an array that is gone, if it fits; or new memory.
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
        if let Some(idle) = idle {
            return Ok(Arc::clone(idle));
        }
        Ok(self.add(recorded, core, len_bytes))
    }

    /// Elements by the number of their memory, which the stream has checked to be of the recording or shared.
    pub(crate) fn keep(&self, elements: &Elements<'_, D>) -> Kept {
        let number = match elements.allocation.part() {
            Some(part) => part.number,
            None => self.number_of(elements.allocation),
        };
        Kept { number, layout: elements.layout.clone(), item_bytes: elements.item_bytes }
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

    /// Takes a call down.
    #[track_caller]
    pub(super) fn push(
        &self,
        operation: &'static str,
        replay: impl Fn(&StreamCore<D>, Placement<'_, D>) -> Result<()> + Send + Sync + 'static,
    ) -> Result<()> {
        self.push_anew(operation, false, replay)
    }

    /// Takes a call down that may have to be made anew at each launch.
    #[track_caller]
    pub(super) fn push_anew(
        &self,
        operation: &'static str,
        is_anew: bool,
        replay: impl Fn(&StreamCore<D>, Placement<'_, D>) -> Result<()> + Send + Sync + 'static,
    ) -> Result<()> {
        let mut recorded = lock(&self.recorded);
        let Some(recorded) = recorded.as_mut() else { return Err(RecordingError::Over.of(operation)) };
        recorded.calls.push(RecordedCall { site: Location::caller(), is_anew, replay: Box::new(replay) });
        Ok(())
    }

    /// Takes an exchange down, by the communicator of this part.
    #[track_caller]
    pub(crate) fn exchange(&self, ranks: Part, what: &Exchanged<Elements<'_, D>>) -> Result<()> {
        let [source, result] = [&what.source, &what.result].map(|side| side.as_ref().map(|of| self.keep(of)));
        let (site, argument, what) = (Location::caller(), ranks.number, what.of(source, result));
        let mut recorded = lock(&self.recorded);
        let Some(recorded) = recorded.as_mut() else { return Err(RecordingError::Over.of(what.operation)) };
        let calls_before = recorded.calls.len();
        recorded.exchanges.push(RecordedExchange { site, calls_before, argument, what });
        Ok(())
    }

    /// Ends the recording.
    pub(super) fn end(&self) -> Option<Recorded<D>> {
        lock(&self.recorded).take()
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
