//! Records the timeline of a device.
//!
//! In simulated time, only one thing happens at a time, on the host or on a stream, and it takes
//! [its time](crate::time::time_of). So a timeline follows from the schedule alone, and shows the
//! order of all events.

use std::{collections::BTreeMap, mem, panic::Location, time::Duration};

use devarray::timeline::{Arrow, ArrowKind, Mark as TimelineMark, Span, SpanId, Timeline, Track, TrackKind};

use super::{Engine, Mark, Work, op::Op};
use crate::{
    finding::{Finding, Operation},
    time::CALL_TIME,
};

/// The track of the host; the tracks of the streams follow.
const HOST: usize = 0;

/// The calls, operations and findings so far.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    paused: bool,
    calls: Vec<Call>,
    lanes: Vec<LaneLog>,
    findings: Vec<(Finding, Duration)>,
}

/// A call of the host.
#[derive(Debug)]
struct Call {
    span: Span,
    relation: Relation,
}

/// The relation of a host call to operations of streams.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Relation {
    /// It enqueued this operation.
    Enqueues(Mark),
    /// It waited for this operation, if there was one.
    WaitsFor(Option<Mark>),
    /// None: the host touched its own memory.
    None,
}

/// The operations that ran on a lane.
#[derive(Debug, Default)]
struct LaneLog {
    /// The time when the first piece of the front operation ran.
    began: Option<Duration>,
    /// The number of operations that have run, including those that are not kept: the position of
    /// the next one.
    executed: u64,
    ran: Vec<Ran>,
}

/// An operation that has run.
#[derive(Debug)]
struct Ran {
    position: u64,
    span: Span,
    waited_for: Option<Mark>,
}

impl Recorder {
    /// Forgets everything so far.
    pub(super) fn clear(&mut self) {
        self.paused = false;
        self.calls.clear();
        self.findings.clear();
        self.lanes.iter_mut().for_each(|lane| lane.ran.clear());
    }

    /// Records a call of the host.
    pub(super) fn called(
        &mut self,
        operation: &Operation,
        (start, end): (Duration, Duration),
        relation: Relation,
        bytes: Option<usize>,
    ) {
        if !self.paused {
            let Operation { kind, number, location, .. } = *operation;
            let span = Span::new(kind, number, start..end);
            self.calls.push(Call { span: with(span, bytes, Some(location)), relation });
        }
    }

    /// Records a wait of the host.
    pub(super) fn waited(
        &mut self,
        name: &'static str,
        number: u64,
        time: (Duration, Duration),
        for_: Option<Mark>,
    ) {
        if !self.paused {
            let span = Span::new(name, number, time.0..time.1);
            self.calls.push(Call { span, relation: Relation::WaitsFor(for_) });
        }
    }

    /// Records that a piece of the operation at the front of a lane is about to run.
    pub(super) fn begins(&mut self, lane: usize, now: Duration) {
        self.lane(lane).began.get_or_insert(now);
    }

    /// Records that the operation at the front of a lane has run.
    pub(super) fn ran(&mut self, lane: usize, op: &Op, now: Duration) {
        let paused = self.paused;
        let lane = self.lane(lane);
        let (position, start) = (lane.executed, lane.began.take().unwrap_or(now));
        lane.executed += 1;
        if paused {
            return;
        }
        let mut span = Span::new(op.work.name(), op.number, start..now);
        span.bytes = op.work.bytes();
        span.note = op.cancelled.then(|| "cancelled by a failure".to_owned());
        let waited_for = match op.work {
            Work::Wait(mark) => Some(mark),
            _ => None,
        };
        lane.ran.push(Ran { position, span, waited_for });
    }

    /// Records that a mistake was found.
    pub(super) fn found(&mut self, finding: &Finding, now: Duration) {
        if !self.paused {
            self.findings.push((finding.clone(), now));
        }
    }

    fn lane(&mut self, index: usize) -> &mut LaneLog {
        if self.lanes.len() <= index {
            self.lanes.resize_with(index + 1, LaneLog::default);
        }
        &mut self.lanes[index]
    }

    /// Everything so far, as a timeline.
    pub(super) fn timeline(&self, name: String) -> Timeline {
        let mut timeline = Timeline::new(name);
        let track = |kind, name, spans| {
            let mut track = Track::new(kind, name);
            track.spans = spans;
            track
        };
        let calls = self.calls.iter().map(|call| call.span.clone()).collect();
        timeline.tracks.push(track(TrackKind::Host, "host".to_owned(), calls));
        let mut places = BTreeMap::new();
        for (index, lane) in self.lanes.iter().enumerate() {
            let spans = lane.ran.iter().map(|ran| ran.span.clone()).collect();
            timeline.tracks.push(track(TrackKind::Device, format!("stream {index}"), spans));
            for (span, ran) in lane.ran.iter().enumerate() {
                places.insert((index, ran.position), SpanId { track: index + 1, span });
            }
        }
        let find = |mark: Mark| places.get(&(mark.lane, mark.position)).copied();
        for (span, call) in self.calls.iter().enumerate() {
            let host = SpanId { track: HOST, span };
            match call.relation {
                Relation::Enqueues(mark) => {
                    let Some(place) = find(mark) else { continue };
                    timeline.tracks[place.track].spans[place.span].location = call.span.location;
                    timeline.arrows.push(Arrow::new(ArrowKind::Enqueue, host, place));
                }
                Relation::WaitsFor(mark) => {
                    let from = mark.and_then(find);
                    timeline.arrows.extend(from.map(|from| Arrow::new(ArrowKind::Event, from, host)));
                }
                Relation::None => {}
            }
        }
        for (index, lane) in self.lanes.iter().enumerate() {
            for (span, ran) in lane.ran.iter().enumerate() {
                let Some(from) = ran.waited_for.and_then(find) else { continue };
                let to = SpanId { track: index + 1, span };
                timeline.arrows.push(Arrow::new(ArrowKind::Event, from, to));
            }
        }
        for (finding, at) in &self.findings {
            mark_finding(&mut timeline, finding, *at);
        }
        timeline.tracks.iter_mut().for_each(|track| track.marks.sort_by_key(|mark| mark.at));
        timeline
    }
}

/// Marks the operations that a finding is about, and connects each earlier one with the later one.
fn mark_finding(timeline: &mut Timeline, finding: &Finding, at: Duration) {
    let code = finding.code.name();
    let wrong = place_of(timeline, &finding.operation);
    let others: Vec<_> = finding.with.iter().filter_map(|(with, _)| place_of(timeline, with)).collect();
    for place in others.iter().copied().chain(wrong) {
        let track = &mut timeline.tracks[place.track];
        let span = &mut track.spans[place.span];
        span.finding = Some(code.clone());
        let text = finding.headline();
        track.marks.push(TimelineMark::new(code.clone(), span.time.start, text));
    }
    match wrong {
        None => {
            let mark = TimelineMark::new(code, at, finding.headline());
            timeline.tracks[HOST].marks.push(mark);
        }
        Some(wrong) => {
            for other in others {
                let starts = |id: SpanId| timeline.span(id).map(|span| span.time.start);
                let (mut from, mut to) = (other, wrong);
                if starts(to) < starts(from) {
                    mem::swap(&mut from, &mut to);
                }
                timeline.arrows.push(Arrow::new(ArrowKind::Finding(code.clone()), from, to));
            }
        }
    }
}

/// The span of an operation, if it has run.
fn place_of(timeline: &Timeline, operation: &Operation) -> Option<SpanId> {
    let track = operation.stream.map_or(HOST, |stream| stream + 1);
    let is_it = |span: &Span| span.number == operation.number && span.name == operation.kind;
    let span = timeline.tracks.get(track)?.spans.iter().position(is_it)?;
    Some(SpanId { track, span })
}

fn with(mut span: Span, bytes: Option<usize>, location: Option<&'static Location<'static>>) -> Span {
    (span.bytes, span.location) = (bytes, location);
    span
}

impl Engine {
    /// Keeps a timeline from now on.
    pub(crate) fn record_timeline(&mut self) {
        self.ledger.recorder = Some(Recorder::default());
    }

    /// The program is over: later events are not part of its timeline.
    pub(crate) fn end_program(&mut self) {
        if let Some(recorder) = &mut self.ledger.recorder {
            recorder.paused = true;
        }
    }

    /// The timeline so far; none if it is not recorded.
    pub(crate) fn timeline(&self, name: String) -> Option<Timeline> {
        self.ledger.recorder.as_ref().map(|recorder| recorder.timeline(name))
    }

    /// A call of the host, which takes simulated time.
    pub(super) fn call(&mut self, operation: &Operation, relation: Relation, bytes: Option<usize>) {
        let began = self.now;
        self.now += CALL_TIME;
        if let Some(recorder) = &mut self.ledger.recorder {
            recorder.called(operation, (began, self.now), relation, bytes);
        }
    }

    /// A wait of the host that began earlier, and takes the time of a call in addition.
    pub(super) fn waited(&mut self, call: &'static str, began: Duration, for_: Option<Mark>) {
        self.now += CALL_TIME;
        if let Some(recorder) = &mut self.ledger.recorder {
            recorder.waited(call, self.enqueued, (began, self.now), for_);
        }
    }
}
