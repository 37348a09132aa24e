//! The records of a profiled device's operations, and their conversion to a timeline.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    fmt,
    panic::Location,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use crate::{
    Error, Result,
    backend::{Event as _, Timing},
    lock::lock,
    timeline::{Arrow, ArrowKind, Span, SpanId, Timeline, Track, TrackKind},
};

/// The number of times that the clocks of host and device are compared.
const ROUNDS: usize = 8;

/// When a stream has this many unfinished operations, the finished ones among them are looked for.
const MOST_PENDING: usize = 1024;

/// When this much time has passed, times count from a newer event. CUDA returns times as 32-bit
/// floats, which are good to a tenth of a microsecond up to here.
const REACH: Duration = Duration::from_secs(1);

/// The timeline of a device while it is recorded.
pub(super) struct Log<D: Timing> {
    recording: AtomicBool,
    state: Mutex<State<D>>,
}

struct State<D: Timing> {
    /// The host's moment that is time 0 of the device.
    origin: Instant,
    /// The event from which times of later events are counted.
    anchor: Arc<Anchor<D>>,
    /// The number of times that the log was cleared. Places from before have no meaning.
    epoch: usize,
    next: u64,
    threads: Vec<(ThreadId, Vec<Call>)>,
    /// Lanes by the number of the stream, for open streams and for streams with records.
    lanes: BTreeMap<u64, Lane<D>>,
    /// Streams opened so far.
    opened: u64,
}

/// The lane of an open stream. Dropping this closes it.
#[derive(Debug)]
pub(super) struct OpenLane<D: Timing> {
    log: Arc<Log<D>>,
    number: u64,
}

/// A finished event, and its time.
struct Anchor<D: Timing> {
    event: Arc<D::Event>,
    at: Duration,
}

/// The finished and unfinished operations of a stream, in order.
struct Lane<D: Timing> {
    is_open: bool,
    done: Vec<Done>,
    pending: VecDeque<Pending<D>>,
}

struct Done {
    span: Span,
    after: Option<Place>,
}

struct Pending<D: Timing> {
    operation: Operation,
    number: u64,
    begin: D::Event,
    end: Arc<D::Event>,
    anchor: Arc<Anchor<D>>,
}

/// A call of the host.
struct Call {
    span: Span,
    /// The operation that the call enqueued or waited for.
    place: Option<Place>,
    enqueues: bool,
}

/// An operation of a stream, before it is enqueued.
#[derive(Debug)]
pub(super) struct Operation {
    name: &'static str,
    location: &'static Location<'static>,
    bytes: Option<usize>,
    after: Option<Place>,
    note: Option<Arc<str>>,
}

/// The place of an operation in the timeline.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    epoch: usize,
    lane: u64,
    span: usize,
}

impl Operation {
    pub(super) fn new(name: &'static str, location: &'static Location<'static>) -> Self {
        Self { name, location, bytes: None, after: None, note: None }
    }

    pub(super) fn bytes(self, bytes: usize) -> Self {
        Self { bytes: Some(bytes), ..self }
    }

    pub(super) fn after(self, after: Option<Place>) -> Self {
        Self { after, ..self }
    }

    pub(super) fn note(self, note: &Arc<str>) -> Self {
        Self { note: Some(Arc::clone(note)), ..self }
    }

    /// The name of the operation, and the bytes that it moves.
    pub(super) fn name_and_bytes(&self) -> (&'static str, usize) {
        (self.name, self.bytes.unwrap_or(0))
    }

    fn span(&self, number: u64, start: Duration, end: Duration) -> Span {
        let (bytes, location) = (self.bytes, Some(self.location));
        let note = self.note.as_deref().map(str::to_owned);
        Span { bytes, location, note, ..Span::new(self.name, number, start..end.max(start)) }
    }
}

impl<D: Timing> Log<D> {
    pub(super) fn new(device: &D) -> Result<Self> {
        let (origin, anchor) = synchronize_clocks(device)?;
        let (threads, lanes) = (Vec::new(), BTreeMap::new());
        let state = State { origin, anchor, epoch: 0, next: 0, threads, lanes, opened: 0 };
        Ok(Self { recording: AtomicBool::new(true), state: Mutex::new(state) })
    }

    pub(super) fn is_recording(&self) -> bool {
        self.recording.load(Relaxed)
    }

    pub(super) fn set_recording(&self, on: bool) {
        self.recording.store(on, Relaxed);
    }

    pub(super) fn number_next(&self, number: u64) {
        lock(&self.state).next = number;
    }

    pub(super) fn clear(&self) {
        let mut state = lock(&self.state);
        (state.epoch, state.next) = (state.epoch + 1, 0);
        state.threads.clear();
        state.lanes.retain(|_, lane| lane.is_open);
        for lane in state.lanes.values_mut() {
            (lane.done, lane.pending) = (Vec::new(), VecDeque::new());
        }
    }

    /// Opens a lane for a new stream.
    pub(super) fn open_lane(self: &Arc<Self>) -> OpenLane<D> {
        let mut state = lock(&self.state);
        let number = state.opened;
        state.opened += 1;
        state.lanes.insert(number, Lane { is_open: true, done: Vec::new(), pending: VecDeque::new() });
        OpenLane { log: Arc::clone(self), number }
    }

    /// Records an operation that was enqueued between two events.
    pub(super) fn enqueued(
        &self,
        device: &D,
        lane: &OpenLane<D>,
        called: Instant,
        operation: Operation,
        (begin, end): (D::Event, Arc<D::Event>),
    ) -> Option<Place> {
        let lane = lane.number;
        let returned = Instant::now();
        let mut state = lock(&self.state);
        let number = state.next;
        // After the last number comes 0.
        state.next = state.next.wrapping_add(1);
        let place = Place { epoch: state.epoch, lane, span: state.lanes.get(&lane)?.len() };
        let span = operation.span(number, state.host_time(called), state.host_time(returned));
        state.call(Call { span, place: Some(place), enqueues: true });
        let anchor = Arc::clone(&state.anchor);
        let pending = &mut state.lanes.get_mut(&lane)?.pending;
        pending.push_back(Pending { operation, number, begin, end, anchor });
        if pending.len().is_multiple_of(MOST_PENDING) {
            state.drain(lane, device);
        }
        Some(place)
    }

    /// Records a wait of the host that has ended.
    pub(super) fn waited(&self, device: &D, called: Instant, name: &'static str, place: Option<Place>) {
        if !self.is_recording() {
            return;
        }
        let returned = Instant::now();
        let mut state = lock(&self.state);
        let span = Span::new(name, state.next, state.host_time(called)..state.host_time(returned));
        state.call(Call { span, place, enqueues: false });
        state.drain_all(device);
    }

    /// The newest operation of a stream.
    pub(super) fn last(&self, lane: &OpenLane<D>) -> Option<Place> {
        let state = lock(&self.state);
        let span = state.lanes.get(&lane.number)?.len().checked_sub(1)?;
        Some(Place { epoch: state.epoch, lane: lane.number, span })
    }

    pub(super) fn timeline(&self, device: &D, name: String) -> Timeline {
        let mut state = lock(&self.state);
        state.drain_all(device);
        state.timeline(name)
    }
}

/// Brings a stream to a known moment of the host, by the shortest of a few tries. The moment is the
/// one at which the host saw the event finished, so the host's earlier calls do not appear later
/// than they were.
fn synchronize_clocks<D: Timing>(device: &D) -> Result<(Instant, Arc<Anchor<D>>)> {
    let stream = device.open_stream()?;
    let round = || {
        let before = Instant::now();
        let event = device.record_timed(&stream)?;
        event.synchronize().into_result()?;
        let after = Instant::now();
        Ok::<_, Error>((after - before, after, event))
    };
    let mut best = round()?;
    for _ in 1..ROUNDS {
        let next = round()?;
        if next.0 < best.0 {
            best = next;
        }
    }
    let (_, origin, event) = best;
    Ok((origin, Arc::new(Anchor { event: Arc::new(event), at: Duration::ZERO })))
}

impl<D: Timing> State<D> {
    fn host_time(&self, moment: Instant) -> Duration {
        moment.saturating_duration_since(self.origin)
    }

    fn call(&mut self, call: Call) {
        let id = thread::current().id();
        match self.threads.iter_mut().find(|(thread, _)| *thread == id) {
            Some((_, calls)) => calls.push(call),
            None => self.threads.push((id, vec![call])),
        }
    }

    fn drain_all(&mut self, device: &D) {
        let busy = self.lanes.iter().filter(|(_, lane)| !lane.pending.is_empty());
        let busy: Vec<u64> = busy.map(|(&number, _)| number).collect();
        busy.into_iter().for_each(|lane| self.drain(lane, device));
    }

    /// Reads the times of finished operations, and drops their events.
    fn drain(&mut self, lane: u64, device: &D) {
        let Some(lane) = self.lanes.get_mut(&lane) else { return };
        while let Some(Pending { operation, number, begin, end, anchor }) = lane.pending.front() {
            let time =
                |event| device.elapsed(&anchor.event, event).ok().flatten().map(|time| anchor.at + time);
            let Some((start, finish)) = time(begin).zip(time(end)) else { return };
            // Times counted from two anchors may differ by the grain of the clock.
            let previous = lane.done.last().map_or(Duration::ZERO, |done| done.span.time.end);
            let span = operation.span(*number, start.max(previous), finish.max(previous));
            // The event is finished, so whatever is recorded from now on comes after it.
            if finish > self.anchor.at + REACH {
                self.anchor = Arc::new(Anchor { event: Arc::clone(end), at: finish });
            }
            lane.done.push(Done { span, after: operation.after });
            lane.pending.pop_front();
        }
    }

    fn timeline(&self, name: String) -> Timeline {
        let mut timeline = Timeline::new(name);
        for (number, (_, calls)) in self.threads.iter().enumerate() {
            let name = if number == 0 { "host".to_owned() } else { format!("host, thread {number}") };
            let spans = calls.iter().map(|call| call.span.clone()).collect();
            timeline.tracks.push(Track { spans, ..Track::new(TrackKind::Host, name) });
        }
        for (number, lane) in &self.lanes {
            let spans = lane.done.iter().map(|done| done.span.clone()).collect();
            let name = format!("stream {number}");
            timeline.tracks.push(Track { spans, ..Track::new(TrackKind::Device, name) });
        }
        let tracks = self.lanes.keys().zip(self.threads.len()..);
        let tracks: HashMap<u64, usize> = tracks.map(|(&number, track)| (number, track)).collect();
        let find = |place| self.find(place, &tracks);
        for (track, (_, calls)) in self.threads.iter().enumerate() {
            for (span, call) in calls.iter().enumerate() {
                let Some(place) = call.place.and_then(find) else { continue };
                let call_id = SpanId { track, span };
                timeline.arrows.push(match call.enqueues {
                    true => Arrow::new(ArrowKind::Enqueue, call_id, place),
                    false => Arrow::new(ArrowKind::Event, place, call_id),
                });
            }
        }
        for (lane, Lane { done, .. }) in &self.lanes {
            for (span, done) in done.iter().enumerate() {
                let Some(from) = done.after.and_then(find) else { continue };
                let to = SpanId { track: tracks[lane], span };
                timeline.arrows.push(Arrow::new(ArrowKind::Event, from, to));
            }
        }
        timeline
    }

    /// The span of an operation, if it is finished, given the tracks of the streams.
    fn find(&self, place: Place, tracks: &HashMap<u64, usize>) -> Option<SpanId> {
        let lane = self.lanes.get(&place.lane)?;
        let finished = place.epoch == self.epoch && place.span < lane.done.len();
        finished.then_some(SpanId { track: *tracks.get(&place.lane)?, span: place.span })
    }
}

impl<D: Timing> Lane<D> {
    fn len(&self) -> usize {
        self.done.len() + self.pending.len()
    }
}

impl<D: Timing> Drop for OpenLane<D> {
    /// Records of the stream stay. A stream without records leaves nothing behind.
    fn drop(&mut self) {
        let mut state = lock(&self.log.state);
        if let Some(lane) = state.lanes.get_mut(&self.number) {
            lane.is_open = false;
            if lane.len() == 0 {
                state.lanes.remove(&self.number);
            }
        }
    }
}

impl<D: Timing> fmt::Debug for Log<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("recording", &self.recording).finish_non_exhaustive()
    }
}
