//! Timelines as data.

use std::{fmt, ops::Range, panic::Location, time::Duration};

/// The steps of a device and its host, with their times. The recorder defines the origin and the
/// unit of time.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeline {
    /// The name of the run.
    pub name: String,
    /// The host's tracks first, then the streams'. Some may be empty.
    pub tracks: Vec<Track>,
    /// Pairs of a span and a later one that follows from it.
    pub arrows: Vec<Arrow>,
}

/// Spans one after another: on one stream, or on one thread of the host.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Track {
    /// The name of the stream, or of the host.
    pub name: String,
    /// Whether it belongs to the host or the device.
    pub kind: TrackKind,
    /// The spans in order; no two overlap.
    pub spans: Vec<Span>,
    /// The marks in order.
    pub marks: Vec<Mark>,
}

/// The side that a track belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "there are two sides")]
pub enum TrackKind {
    /// A thread of the host: its calls.
    Host,
    /// A stream of the device: its operations.
    Device,
}

/// One call of the host, or one operation of a stream.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Span {
    /// The name of the operation: `"copy"`, `"record"`, `"synchronize"` …
    pub name: &'static str,
    /// The time from the beginning to the end.
    pub time: Range<Duration>,
    /// The number of the operation that the call enqueues; if it enqueues none, the number of the
    /// next operation.
    pub number: u64,
    /// The bytes that it moves, allocates or frees.
    pub bytes: Option<usize>,
    /// The source line that asked for it.
    pub location: Option<&'static Location<'static>>,
    /// Anything else about the span.
    pub note: Option<String>,
    /// The code of the finding that it is part of.
    pub finding: Option<String>,
}

/// A moment to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mark {
    /// The name of the mark: the code of a finding.
    pub name: String,
    /// The moment.
    pub at: Duration,
    /// The text at the mark.
    pub text: String,
}

/// One span led to another, or should have.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Arrow {
    /// The connection between the two.
    pub kind: ArrowKind,
    /// The earlier.
    pub from: SpanId,
    /// The later.
    pub to: SpanId,
}

/// The connection between two spans.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArrowKind {
    /// A call of the host enqueued the operation.
    Enqueue,
    /// A stream or the host waited for recorded work.
    Event,
    /// Nothing orders the two, which is a mistake; this is the code of the finding.
    Finding(String),
}

/// A span of a timeline, given by its track and its index there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "two indices")]
pub struct SpanId {
    /// Index of the track.
    pub track: usize,
    /// Index of the span in it.
    pub span: usize,
}

impl Timeline {
    /// Makes a timeline without tracks.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The span of an id; `None` if there is none.
    #[must_use]
    pub fn span(&self, id: SpanId) -> Option<&Span> {
        self.tracks.get(id.track)?.spans.get(id.span)
    }
}

impl Track {
    /// Makes a track without spans.
    #[must_use]
    pub fn new(kind: TrackKind, name: impl Into<String>) -> Self {
        Self { name: name.into(), kind, spans: Vec::new(), marks: Vec::new() }
    }
}

impl Span {
    /// Makes a span about which nothing else is known.
    #[must_use]
    pub const fn new(name: &'static str, number: u64, time: Range<Duration>) -> Self {
        Self { name, time, number, bytes: None, location: None, note: None, finding: None }
    }
}

impl Mark {
    /// Adds a mark.
    #[must_use]
    pub fn new(name: impl Into<String>, at: Duration, text: impl Into<String>) -> Self {
        Self { name: name.into(), at, text: text.into() }
    }
}

impl Arrow {
    /// Adds an arrow.
    #[must_use]
    pub const fn new(kind: ArrowKind, from: SpanId, to: SpanId) -> Self {
        Self { kind, from, to }
    }
}

impl fmt::Debug for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, tracks, arrows } = self;
        write!(f, "Timeline({name:?}, {} tracks, {} arrows)", tracks.len(), arrows.len())
    }
}

impl fmt::Debug for Track {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kind, spans, marks } = self;
        write!(f, "Track({name:?}, {kind:?}, {} spans, {} marks)", spans.len(), marks.len())
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Span")
            .field("name", &self.name)
            .field("number", &self.number)
            .field("time", &self.time)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}
