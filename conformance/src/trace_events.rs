//! Checks that a text is a trace of the form that the library writes and viewers show.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::Deserialize;

use crate::violation::{Outcome, Violation, ensure};

/// A trace, as [`devarray::timeline`] describes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Trace {
    display_time_unit: String,
    trace_events: Vec<TraceEvent>,
}

/// One event of a trace.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "fields of the trace event format")]
#[non_exhaustive]
pub struct TraceEvent {
    pub ph: String,
    pub name: String,
    #[serde(default)]
    pub cat: String,
    pub pid: usize,
    pub tid: usize,
    pub ts: Option<f64>,
    pub dur: Option<f64>,
    pub id: Option<usize>,
    pub bp: Option<String>,
    pub s: Option<String>,
    pub cname: Option<String>,
    #[serde(default)]
    pub args: TraceArgs,
}

/// The fields of an event that a viewer shows when the event is selected.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "fields as `devarray::timeline` describes them")]
#[non_exhaustive]
pub struct TraceArgs {
    pub name: Option<String>,
    pub sort_index: Option<usize>,
    pub op: Option<u64>,
    pub bytes: Option<usize>,
    pub location: Option<String>,
    pub note: Option<String>,
    pub finding: Option<String>,
    pub text: Option<String>,
}

impl TraceEvent {
    /// The beginning, in nanoseconds.
    #[must_use]
    pub fn start_ns(&self) -> u64 {
        nanoseconds(self.ts.unwrap_or(-1.0)).unwrap_or(u64::MAX)
    }

    /// The end, in nanoseconds.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.start_ns().saturating_add(nanoseconds(self.dur.unwrap_or(0.0)).unwrap_or(u64::MAX))
    }

    /// Whether it belongs to this category.
    #[must_use]
    pub fn is_of(&self, category: &str) -> bool {
        self.cat.split(',').any(|one| one == category)
    }

    fn track(&self) -> (usize, usize) {
        (self.pid, self.tid)
    }
}

/// The events of a trace that keeps every rule of the form: fields are complete and known; times
/// are whole nanoseconds, in order on each track; spans of one track do not overlap; processes and
/// tracks are named once; each arrow has two ends, each in a span, the second not before the first;
/// a marked span has a colour, and a mark at its beginning.
///
/// # Errors
///
/// The first rule that is broken, and the event that breaks it.
pub fn trace_events(json: &[u8]) -> Result<Vec<TraceEvent>, Violation> {
    let trace: Trace =
        serde_json::from_slice(json).map_err(|error| Violation::new(format!("no trace: {error}")))?;
    ensure(trace.display_time_unit == "ns", || format!("time unit {:?}", trace.display_time_unit))?;
    let events = trace.trace_events;
    events.iter().try_for_each(fields)?;
    names(&events)?;
    let mut spans: BTreeMap<_, Vec<&TraceEvent>> = BTreeMap::new();
    let mut newest = BTreeMap::new();
    for event in events.iter().filter(|event| event.ph != "M") {
        let before = newest.insert(event.track(), event.start_ns()).unwrap_or(0);
        ensure(before <= event.start_ns(), || format!("goes back in time on its track: {event:?}"))?;
        if event.ph == "X" {
            let track = spans.entry(event.track()).or_default();
            let apart = track.last().is_none_or(|last| last.end_ns() <= event.start_ns());
            ensure(apart, || format!("begins before the span before it ends: {event:?}"))?;
            track.push(event);
        }
    }
    let inside = |event: &TraceEvent| {
        let at = event.start_ns();
        let track = spans.get(&event.track()).map_or(&[][..], Vec::as_slice);
        track.iter().any(|span| span.start_ns() <= at && at <= span.end_ns())
    };
    arrows(&events, inside)?;
    let marks: BTreeSet<_> = events.iter().filter(|event| event.ph == "i").map(at).collect();
    for span in spans.values().flatten().filter(|span| span.is_of("finding")) {
        let marked = span.args.finding.is_some() && marks.contains(&at(span));
        ensure(marked, || format!("of a finding, and not marked with it: {span:?}"))?;
    }
    Ok(events)
}

fn at(event: &TraceEvent) -> ((usize, usize), u64) {
    (event.track(), event.start_ns())
}

/// Converts microseconds to nanoseconds; none if that is not a whole number.
fn nanoseconds(microseconds: f64) -> Option<u64> {
    let rounded = (microseconds * 1000.0).round();
    let whole = rounded >= 0.0 && (microseconds * 1000.0 - rounded).abs() < 1e-3;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and not negative")]
    whole.then_some(rounded as u64)
}

/// Checks that each event has the fields of its kind and no others.
fn fields(event: &TraceEvent) -> Outcome {
    let TraceEvent { ph, name, cat, ts, dur, id, bp, s, cname, args, .. } = event;
    let timed = ts.is_some_and(|ts| nanoseconds(ts).is_some());
    let (has_finding, is_finding) = (args.finding.is_some(), event.is_of("finding"));
    let bare = (id, bp, s) == (&None, &None, &None) && cname.is_none();
    let right = match ph.as_str() {
        "M" => ts.is_none() && dur.is_none() && cat.is_empty() && bare,
        "X" => {
            let side = event.is_of("host") != event.is_of("device");
            let lasts = dur.is_some_and(|dur| nanoseconds(dur).is_some());
            let coloured = is_finding == has_finding && is_finding == cname.is_some();
            timed && side && lasts && coloured && args.op.is_some() && (id, bp, s) == (&None, &None, &None)
        }
        "i" => timed && dur.is_none() && cat == "finding" && s.as_deref() == Some("t") && args.text.is_some(),
        "s" | "f" => {
            let category = matches!(cat.as_str(), "enqueue" | "event" | "finding");
            let end = bp.as_deref() == (ph == "f").then_some("e");
            timed && dur.is_none() && category && id.is_some() && end && *args == TraceArgs::default()
        }
        _ => false,
    };
    ensure(right && !name.is_empty(), || format!("not an event of the form: {event:?}"))
}

/// Checks that every process and every track that is used, and no other, is named once.
fn names(events: &[TraceEvent]) -> Outcome {
    let named = |kind: &str| {
        let of_kind = events.iter().filter(|event| event.name == kind && event.ph == "M");
        of_kind.map(TraceEvent::track).collect::<Vec<_>>()
    };
    let used: BTreeSet<_> = events.iter().filter(|event| event.ph != "M").map(TraceEvent::track).collect();
    for kind in ["thread_name", "thread_sort_index"] {
        let (all, once) = (named(kind), named(kind).into_iter().collect::<BTreeSet<_>>());
        ensure(once == used && all.len() == once.len(), || format!("{kind} of {all:?}, used are {used:?}"))?;
    }
    let processes: Vec<_> = named("process_name").into_iter().map(|(pid, _)| pid).collect();
    let all: Vec<_> = (0..processes.len()).collect();
    ensure(processes == all, || format!("process_name of {processes:?}"))?;
    let stray = used.iter().find(|(pid, _)| *pid >= processes.len());
    ensure(stray.is_none(), || format!("a track of no process: {stray:?}"))
}

/// Checks that each arrow has two ends of one kind and process, each in a span, the second not
/// before the first.
fn arrows(events: &[TraceEvent], inside: impl Fn(&TraceEvent) -> bool) -> Outcome {
    let mut ends: BTreeMap<usize, Vec<&TraceEvent>> = BTreeMap::new();
    for event in events.iter().filter(|event| matches!(event.ph.as_str(), "s" | "f")) {
        ensure(inside(event), || format!("ends in no span: {event:?}"))?;
        ends.entry(event.id.unwrap_or_default()).or_default().push(event);
    }
    for pair in ends.values() {
        let [from, to] = pair.as_slice() else {
            return Err(Violation::new(format!("no two ends: {pair:?}")));
        };
        let kind = |event: &TraceEvent| (event.pid, event.cat.clone(), event.name.clone());
        let right =
            from.ph == "s" && to.ph == "f" && kind(from) == kind(to) && from.start_ns() <= to.start_ns();
        ensure(right, || format!("no arrow from one to the other: {pair:?}"))?;
    }
    Ok(())
}

impl fmt::Debug for TraceEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ph, name, pid, tid, ts, .. } = self;
        write!(f, "TraceEvent({ph} {name:?} of {pid}.{tid} at {ts:?})")
    }
}

impl fmt::Debug for TraceArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, op, bytes, .. } = self;
        write!(f, "TraceArgs({name:?}, op {op:?}, {bytes:?} bytes)")
    }
}
