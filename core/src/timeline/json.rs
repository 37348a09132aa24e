//! Writes timelines as JSON, in the trace event format.

use std::{
    fmt,
    io::{self, Write},
    time::Duration,
};

use serde::Serialize;

use super::{Arrow, ArrowKind, Mark, Span, Timeline, Track, TrackKind};

/// The colour of a finding, by its name in the format.
const FINDING_COLOUR: &str = "terrible";

/// Writes timelines into one file, each as a process. [`finish`](Self::finish) ends the file.
pub struct TraceWriter<W> {
    out: W,
    processes: usize,
    arrows: usize,
    events: usize,
}

/// One event of the format.
#[derive(Debug, Serialize)]
struct Event<'a> {
    ph: &'static str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    pid: usize,
    tid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    /// The span that the end of an arrow attaches to: the one around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    /// The reach of a mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cname: Option<&'static str>,
    #[serde(skip_serializing_if = "Args::is_empty")]
    args: Args<'a>,
}

/// Fields of an event that a viewer shows when the event is selected.
#[derive(Debug, Default, Serialize, PartialEq)]
struct Args<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sort_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    op: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finding: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

impl Args<'_> {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Timeline {
    /// Writes this timeline as a whole file. Buffer `out`: it gets small pieces.
    ///
    /// # Errors
    ///
    /// Writing fails.
    pub fn write_json(&self, out: impl Write) -> io::Result<()> {
        let mut writer = TraceWriter::new(out)?;
        writer.add(self)?;
        writer.finish().map(drop)
    }
}

impl<W: Write> TraceWriter<W> {
    /// Begins a file. Buffer `out`: it gets small pieces.
    ///
    /// # Errors
    ///
    /// Writing fails.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        Ok(Self { out, processes: 0, arrows: 0, events: 0 })
    }

    /// Adds a timeline, as a process of its own.
    ///
    /// # Errors
    ///
    /// Writing fails.
    pub fn add(&mut self, timeline: &Timeline) -> io::Result<()> {
        let pid = self.processes;
        self.processes += 1;
        let naming = |name, tid, args| Event { name, tid, args, ..Event::new("M", pid) };
        let name = Some(timeline.name.as_str());
        self.event(&naming("process_name", 0, Args { name, ..Args::default() }))?;
        for (tid, track) in timeline.tracks.iter().enumerate().filter(|(_, track)| !track.is_empty()) {
            let name = Some(track.name.as_str());
            self.event(&naming("thread_name", tid, Args { name, ..Args::default() }))?;
            let sort_index = Some(tid);
            self.event(&naming("thread_sort_index", tid, Args { sort_index, ..Args::default() }))?;
        }
        let mut events = Vec::new();
        for (tid, track) in timeline.tracks.iter().enumerate() {
            let spans = track.spans.iter().map(|span| Event { tid, ..of_span(span, track.kind, pid) });
            events.extend(spans);
            events.extend(track.marks.iter().map(|mark| Event { tid, ..of_mark(mark, pid) }));
        }
        for arrow in &timeline.arrows {
            if let Some(ends) = of_arrow(arrow, timeline, pid, self.arrows) {
                self.arrows += 1;
                events.extend(ends);
            }
        }
        // The sort is stable: if events begin at one moment, a span comes before the spans inside
        // it.
        events.sort_by(|one, two| one.ts.unwrap_or(0.0).total_cmp(&two.ts.unwrap_or(0.0)));
        events.iter().try_for_each(|event| self.event(event))
    }

    /// Ends the file.
    ///
    /// # Errors
    ///
    /// Writing fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.out.write_all(if self.events == 0 { b"\n" } else { b",\n" })?;
        self.events += 1;
        serde_json::to_writer(&mut self.out, event).map_err(io::Error::from)
    }
}

impl Event<'_> {
    fn new(ph: &'static str, pid: usize) -> Self {
        Self {
            ph,
            name: "",
            cat: None,
            pid,
            tid: 0,
            ts: None,
            dur: None,
            id: None,
            bp: None,
            s: None,
            cname: None,
            args: Args::default(),
        }
    }
}

impl Track {
    fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.marks.is_empty()
    }
}

fn of_span(span: &Span, kind: TrackKind, pid: usize) -> Event<'_> {
    let marked = span.finding.is_some();
    let cat = match (kind, marked) {
        (TrackKind::Host, false) => "host",
        (TrackKind::Host, true) => "host,finding",
        (TrackKind::Device, false) => "device",
        (TrackKind::Device, true) => "device,finding",
    };
    let args = Args {
        op: Some(span.number),
        bytes: span.bytes,
        location: span.location.map(ToString::to_string),
        note: span.note.as_deref(),
        finding: span.finding.as_deref(),
        ..Args::default()
    };
    Event {
        name: span.name,
        cat: Some(cat),
        ts: Some(microseconds(span.time.start)),
        dur: Some(microseconds(span.time.end.saturating_sub(span.time.start))),
        cname: marked.then_some(FINDING_COLOUR),
        args,
        ..Event::new("X", pid)
    }
}

fn of_mark(mark: &Mark, pid: usize) -> Event<'_> {
    Event {
        name: &mark.name,
        cat: Some("finding"),
        ts: Some(microseconds(mark.at)),
        s: Some("t"),
        args: Args { text: Some(&mark.text), ..Args::default() },
        ..Event::new("i", pid)
    }
}

/// Both ends of an arrow, each in its span, the second not before the first. `None` if that cannot
/// be.
fn of_arrow<'a>(arrow: &'a Arrow, timeline: &Timeline, pid: usize, id: usize) -> Option<[Event<'a>; 2]> {
    let (from, to) = (timeline.span(arrow.from)?, timeline.span(arrow.to)?);
    let start = from.time.start;
    let end = start.max(to.time.start);
    if end > to.time.end {
        return None;
    }
    let (name, cat) = match &arrow.kind {
        ArrowKind::Enqueue => ("enqueue", "enqueue"),
        ArrowKind::Event => ("event", "event"),
        ArrowKind::Finding(code) => (code.as_str(), "finding"),
    };
    let common = |ph| Event { name, cat: Some(cat), id: Some(id), ..Event::new(ph, pid) };
    Some([
        Event { tid: arrow.from.track, ts: Some(microseconds(start)), ..common("s") },
        Event { tid: arrow.to.track, ts: Some(microseconds(end)), bp: Some("e"), ..common("f") },
    ])
}

/// The time in microseconds, exact to the nanosecond for a hundred days.
fn microseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}

impl<W> fmt::Debug for TraceWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceWriter").field("events", &self.events).finish_non_exhaustive()
    }
}
