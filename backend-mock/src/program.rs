//! Stream programs: the operations that a host thread issues on raw streams, as data.
//!
//! A program is the sequence of operations that a host thread issues on streams without automatic
//! synchronization. It is written as one line of JSON, so a failing case can be printed, saved, played again
//! and kept as a regression test:
//!
//! ```
//! use devarray_mock::{MockDevice, program::Program};
//!
//! let line = r#"{"id":"early","buffers":[{"id":"b","bytes":8,"init":true}],"hosts":[{"id":"h","bytes":8}],
//!     "streams":1,"events":0,"ops":[
//!         {"do":"download","stream":0,"src":"b","src_off":0,"host":"h","host_off":0,"len":8},
//!         {"do":"host_read","host":"h","off":0,"len":8}]}"#;
//! let program = Program::parse(line.as_bytes())?;
//!
//! let finding = program.play_on_mock(&MockDevice::new())?.expect_err("the host did not wait");
//! assert_eq!((finding.code.kind(), finding.operation.number), ("race", 1));
//! assert_eq!(finding.with[0].0.number, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The operations, with their fields (lengths in bytes, at least 1; offsets, pitches and sizes in
//! bytes):
//!
//! | `do` | fields |
//! |---|---|
//! | `fill` | stream, buf, off, len, value |
//! | `copy` | stream, src, src_off, dst, dst_off, len |
//! | `copy2d` | stream, src, src_off, src_pitch, dst, dst_off, dst_pitch, width, height; a pitch is at least the width |
//! | `upload`, `download` | stream, host, host_off, dst, dst_off, len; stream, src, src_off, host, host_off, len |
//! | `alloc`, `free` | stream, buf, bytes; stream, buf |
//! | `record`, `wait` | stream, event |
//! | `sync_stream`, `sync_event`, `sync_device` | stream; event; none |
//! | `host_read`, `host_write` | host, off, len; host, off, len, value |
//!
//! `buffers` are there from the start, filled with zeros or uninitialized; `hosts` are pinned and
//! zeroed. Streams and events are numbered from 0, at most 65,536 of each; there are at most as
//! many buffers, hosts and operations. The number of streams that are used, times the number of
//! streams and `record` operations that come after the first wait or synchronization, is at most
//! 2^25. A wait for an event that was never recorded does nothing.

mod callbacks;
mod error;
mod expect;
mod ops;
mod play;
mod raw;
mod resolve;

pub use callbacks::{Callbacks, Unjudged};
pub use error::ParseProgramError;
pub use expect::{Expect, Verdict};
pub use ops::{Block, Op};

use devarray::timeline::Timeline;
use ops::Prepared;

/// A checked program: every name is known, and every number is in its range.
#[derive(Clone)]
pub struct Program {
    id: String,
    buffers: Vec<Buffer>,
    hosts: Vec<Host>,
    streams: usize,
    events: usize,
    ops: Vec<Prepared>,
    expect: Option<Expect>,
}

/// Device memory of a program.
#[derive(Debug, Clone)]
struct Buffer {
    bytes: usize,
    /// Filled with zeros (`true`) or uninitialized before the program begins; if none, the program allocates
    /// it.
    from_start: Option<bool>,
}

/// Pinned memory of a program.
#[derive(Debug, Clone)]
struct Host {
    name: String,
    bytes: usize,
}

impl Program {
    /// Its name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The expected result, if the file has one.
    #[must_use]
    pub fn expect(&self) -> Option<&Expect> {
        self.expect.as_ref()
    }

    /// The number of operations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether it has no operation.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// The text of an operation, as in the file; none if there is no operation of that number.
    #[must_use]
    pub fn op_text(&self, index: usize) -> Option<String> {
        self.ops.get(index).map(Prepared::text)
    }

    /// Labels each span of its timeline with the operation's text, in place of the library's source line that
    /// enqueued it.
    pub fn annotate(&self, timeline: &mut Timeline) {
        for span in timeline.tracks.iter_mut().flat_map(|track| &mut track.spans) {
            span.location = None;
            if span.note.is_none() {
                span.note = usize::try_from(span.number).ok().and_then(|index| self.op_text(index));
            }
        }
    }

    /// The names of its pinned memories, in order.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().map(|host| host.name.as_str())
    }
}
