//! The `Debug` output of the simulator's values: one short line, never the simulator itself.
//! `Display` shows findings, reports and failures in full.

use std::{fmt, panic::Location};

use crate::{
    Builder, Counts, FailedCalls, Failure, FaultPlan, Finding, LiveBuffer, LiveHostBuffer, LiveRegistration,
    MockBuffer, MockDevice, MockEvent, MockHostBuffer, MockStream, Operation, Report, Statistics, Swept,
    Tally, Trace, Wrong,
    device::Shared,
    engine::StreamName,
    program::{Program, Verdict},
};

/// The number of characters to which a text is shortened.
const SHOWN: usize = 100;

/// The first line of a text, cut at `SHOWN` characters.
fn head(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line.to_owned(),
    }
}

/// The device, and the process that sees it: `mock:0`, `mock:0 of process 1`.
impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.info().backend, self.info().ordinal)?;
        match self.process() {
            0 => Ok(()),
            process => write!(f, " of process {process}"),
        }
    }
}

impl fmt::Debug for MockDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MockDevice({:?})", self.shared())
    }
}

impl fmt::Debug for MockStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = self.shared();
        match self.name() {
            StreamName::Lane(lane) => write!(f, "MockStream({lane} on {device:?})"),
            default => write!(f, "MockStream(default stream {default:?} on {device:?})"),
        }
    }
}

impl fmt::Debug for MockEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = self.mark;
        write!(f, "MockEvent(after operation {} of stream {} on {:?})", mark.position, mark.lane, self.shared)
    }
}

impl fmt::Debug for MockBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shared, id, len_bytes, address, .. } = self;
        write!(f, "MockBuffer({id}, {len_bytes} bytes at {address:#x} on {shared:?})")
    }
}

impl fmt::Debug for MockHostBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use devarray::backend::HostBuffer;
        write!(f, "MockHostBuffer({} bytes at {:p})", self.len_bytes(), self.as_ptr())
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("ordinal", &self.info.ordinal)
            .field("profile", &self.profile)
            .field("schedule", &self.schedule)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({})", head(&self.to_string()))
    }
}

impl fmt::Debug for FaultPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FaultPlan({})", head(&self.to_string()))
    }
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, kind, stream, location, .. } = self;
        match stream {
            Some(stream) => write!(f, "Operation(#{number} {kind} on stream {stream}, {location})"),
            None => write!(f, "Operation({kind} of the host, {location})"),
        }
    }
}

/// The first line of [`Display`](fmt::Display).
impl fmt::Debug for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Finding({})", head(&self.to_string()))
    }
}

/// The number of entries of each kind; [`Display`](fmt::Display) shows them all.
impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alive = [
            (self.findings.len(), "findings"),
            (self.lints.len(), "lints"),
            (self.buffers.len(), "buffers"),
            (self.host_buffers.len(), "host buffers"),
            (self.registrations.len(), "registrations"),
            (self.streams, "streams"),
            (self.events, "events"),
            (self.adopted, "adoptions"),
            (self.opened, "opened"),
        ];
        let told =
            alive.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        let told: Vec<String> = told.collect();
        write!(f, "Report({})", if told.is_empty() { "clean".to_owned() } else { told.join(", ") })
    }
}

fn live(f: &mut fmt::Formatter<'_>, kind: &str, len_bytes: usize, location: &Location<'_>) -> fmt::Result {
    write!(f, "{kind}({len_bytes} bytes, {location})")
}

impl fmt::Debug for LiveBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        live(f, &format!("LiveBuffer {} ", self.id), self.len_bytes, self.location)
    }
}

impl fmt::Debug for LiveHostBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        live(f, "LiveHostBuffer", self.len_bytes, self.location)
    }
}

impl fmt::Debug for LiveRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        live(f, "LiveRegistration", self.len_bytes, self.location)
    }
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.count, self.bytes)
    }
}

/// The kinds that have operations, with their numbers of operations, without the bytes.
impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            allocs,
            frees,
            copies,
            fills,
            uploads,
            downloads,
            maps,
            reductions,
            gathers,
            orders,
            products,
            launches,
            exchanges,
            prefetches,
            records,
            waits,
        } = self;
        let kinds = [
            ("allocs", allocs.count),
            ("frees", frees.count),
            ("copies", copies.count),
            ("fills", fills.count),
            ("uploads", uploads.count),
            ("downloads", downloads.count),
            ("maps", maps.count),
            ("reductions", reductions.count),
            ("gathers", gathers.count),
            ("orders", orders.count),
            ("products", products.count),
            ("launches", launches.count),
            ("exchanges", exchanges.count),
            ("prefetches", prefetches.count),
            ("records", *records),
            ("waits", *waits),
        ];
        let (mut shown, mut all) = (f.debug_struct("Counts"), true);
        for (kind, count) in kinds {
            match count {
                0 => all = false,
                count => _ = shown.field(kind, &count),
            }
        }
        if all { shown.finish() } else { shown.finish_non_exhaustive() }
    }
}

/// The number of operations; the fields have their kinds.
impl fmt::Debug for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statistics")
            .field("enqueued", &self.enqueued.operations())
            .field("executed", &self.executed.operations())
            .field("cancelled", &self.cancelled.operations())
            .field("synchronizes", &self.synchronizes)
            .field("queries", &self.queries)
            .finish()
    }
}

impl fmt::Debug for Swept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Swept")
            .field("runs", &self.runs)
            .field("told", &self.told)
            .field("survived", &self.survived)
            .field("failed", &self.failed.values().sum::<u64>())
            .finish()
    }
}

impl fmt::Debug for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found(finding) => finding.fmt(f),
            Self::Panicked(message) => write!(f, "Panicked({:?})", head(message)),
            Self::Leaked(report) => write!(f, "Leaked({report:?})"),
            Self::Broken(how) => write!(f, "Broken({:?})", head(how)),
            Self::Unknown => f.write_str("Unknown"),
        }
    }
}

/// The mistake; [`Display`](fmt::Display) shows everything, and how to repeat it.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failure({:?}, under schedule {})", self.wrong, head(&self.schedule))
    }
}

impl fmt::Debug for FailedCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FailedCalls({:?})", head(&self.to_string()))
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Program({:?})", head(self.id()))
    }
}

/// Leaves out the bytes of the memories.
impl fmt::Debug for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, verdict, kind, op, with, .. } = self;
        let mut shown = f.debug_struct("Verdict");
        shown.field("id", id).field("verdict", verdict).field("kind", kind).field("op", op);
        shown.field("with", with).finish_non_exhaustive()
    }
}
