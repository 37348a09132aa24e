//! Raw stream programs: operations that a host thread issues on streams without automatic waits,
//! and that are right by construction.
//!
//! A [`Program`] is a list of operations that move bytes. The necessary order is inserted: records,
//! waits for events and waits of the host, in the way that each operation asks for. So every list
//! of operations is a program, and every program is right. [`Program::line`] writes it in the
//! format that `devarray replay` reads, with the bytes that its pinned memories must hold at the
//! end. These come from a naive model that makes one operation after another.
//!
//! ```
//! use devarray_conformance::programs::raw::{Act, Join, Program, bytes, op};
//! use devarray_mock::{MockDevice, program};
//!
//! let right = Program::new(2, 1, 1, &[
//!     op(0, Join::Event, Act::Fill { to: bytes(0, 0, 8), value: 7 }),
//!     op(1, Join::Event, Act::Download { to: bytes(0, 4, 8), from: bytes(0, 0, 8) }),
//!     op(0, Join::Stream, Act::HostRead { from: bytes(0, 0, 16) }),
//! ]);
//! right.check(&|line: &str| {
//!     let program = program::Program::parse(line.as_bytes()).map_err(|error| error.to_string())?;
//!     let played = program.play_on_mock(&MockDevice::new()).map_err(|error| error.to_string())?;
//!     played.map_err(|finding| finding.to_string())
//! })?;
//! // The same without the wait of stream 1 is a race, and the simulator says so.
//! let without = right.line().replace(r#"{"do":"wait","event":0,"stream":1},"#, "");
//! let wrong = program::Program::parse(without.as_bytes())?.play_on_mock(&MockDevice::new())?;
//! assert_eq!(wrong.unwrap_err().code.kind(), "race");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod memory;
mod order;
mod script;
mod strategies;

use std::fmt;

use super::{
    drawn::{Drawn, Sealed},
    failure::{Failure, SUCCEEDS},
};
use script::Script;

pub use strategies::{acts, programs};

/// A raw program.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Program {
    /// The number of streams, at least 1. Operations name streams, and everything else, modulo its
    /// number.
    pub streams: usize,
    /// The number of device memories that exist from the start, zeroed.
    pub buffers: usize,
    /// The number of pinned memories, zeroed.
    pub hosts: usize,
    /// The operations, in order.
    pub ops: Vec<Op>,
}

/// An operation: its stream, its order after earlier operations, and its act.
#[derive(Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "an operation is nothing else")]
pub struct Op {
    /// The stream, unless the host does it.
    pub stream: usize,
    /// The way to order it after earlier operations that it is not yet ordered after.
    pub join: Join,
    /// The act.
    pub act: Act,
}

/// The way to order one operation after another on another stream. For operations of the host, and
/// waits for the host, only the last two ways are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Join {
    /// An event is recorded now, and the operation's stream waits for it.
    Event,
    /// The operation's stream waits for an event that already covers the other operation; if there
    /// is none, like `Event`.
    Earlier,
    /// The host waits for an event that is recorded now.
    Host,
    /// The host waits for the other operation's stream.
    Stream,
}

/// Some bytes of a memory: at least one, and at most all from the first one to the end.
#[derive(Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "bytes are nothing else")]
pub struct Bytes {
    /// The memory.
    pub memory: usize,
    /// The first byte.
    pub at: usize,
    /// The number of bytes.
    pub len: usize,
}

/// The work of an operation. It does nothing if it has no operands, if source and destination
/// overlap, or if it would copy unwritten bytes to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "`to` is written, `from` is read; memories of device or host as the name says"
)]
pub enum Act {
    /// Fills device memory.
    Fill { to: Bytes, value: u8 },
    /// Copies device memory: up to `rows` rows of it, with `gaps` bytes between them on either
    /// side.
    Copy { to: Bytes, from: Bytes, rows: usize, gaps: [usize; 2] },
    /// Copies pinned memory to device memory.
    Upload { to: Bytes, from: Bytes },
    /// Copies device memory to pinned memory.
    Download { to: Bytes, from: Bytes },
    /// Allocates device memory, in stream order.
    Alloc { size: usize },
    /// Frees device memory, in stream order.
    Free { buffer: usize },
    /// The host reads pinned memory.
    HostRead { from: Bytes },
    /// The host writes pinned memory.
    HostWrite { to: Bytes, value: u8 },
    /// Records an event, which replaces the oldest of three.
    Record,
    /// Lets the stream wait for an event, needed or not.
    Wait { event: usize },
    /// Lets the host wait for the stream, needed or not.
    Synchronize,
}

/// Makes an operation.
#[must_use]
pub const fn op(stream: usize, join: Join, act: Act) -> Op {
    Op { stream, join, act }
}

/// Makes bytes of a memory.
#[must_use]
pub const fn bytes(memory: usize, at: usize, len: usize) -> Bytes {
    Bytes { memory, at, len }
}

/// Plays the line of a program on some device. Returns the bytes of its pinned memories at the end,
/// in the order of the line, or the device's objection.
pub trait Play: Fn(&str) -> Result<Vec<Vec<u8>>, String> {}

impl<F: Fn(&str) -> Result<Vec<Vec<u8>>, String>> Play for F {}

impl Program {
    /// A program of these operations.
    #[must_use]
    pub fn new(streams: usize, buffers: usize, hosts: usize, ops: &[Op]) -> Self {
        Self { streams, buffers, hosts, ops: ops.to_vec() }
    }

    /// The program as a line of JSON, with its order and its expected bytes.
    #[must_use]
    pub fn line(&self) -> String {
        Script::of(self).line().to_string()
    }

    /// Plays the program, and compares the bytes of its pinned memories with the model's.
    ///
    /// # Errors
    ///
    /// The first difference, or the device's objection.
    pub fn check(&self, play: &impl Play) -> Result<(), Failure> {
        let script = Script::of(self);
        let fails =
            |expected: &str, found: &str| Failure::unexpected(SUCCEEDS, self.ops.len(), expected, found);
        let found = play(&script.line().to_string())
            .map_err(|found| fails("a program that is right", &found.replace('\n', " | ")))?;
        let due: Vec<_> = script.hosts().collect();
        if found.len() != due.len() {
            let [due, found] = [due.len(), found.len()].map(|count| format!("{count} pinned memories"));
            return Err(fails(&due, &found));
        }
        for ((name, due), found) in due.into_iter().zip(found) {
            if *due != found {
                let at = due.iter().zip(&found).position(|(due, found)| due != found);
                let at = at.unwrap_or(due.len().min(found.len()));
                let [due, found] =
                    [due, &found].map(|bytes| format!("{:?} at {at} of {name}", bytes.get(at)));
                return Err(Failure::unexpected(super::failure::ORDER, self.ops.len(), &due, found));
            }
        }
        Ok(())
    }
}

impl Sealed for Program {}

impl Drawn for Program {
    fn len(&self) -> usize {
        self.ops.len()
    }

    fn simpler(&self) -> Vec<Self> {
        let mut all: Vec<Self> = (0..self.ops.len())
            .map(|at| {
                let mut shorter = self.clone();
                shorter.ops.remove(at);
                shorter
            })
            .collect();
        let Self { streams, buffers, hosts, .. } = *self;
        if streams > 1 {
            all.push(Self { streams: streams - 1, ..self.clone() });
        }
        if buffers > 0 {
            all.push(Self { buffers: buffers - 1, ..self.clone() });
        }
        if hosts > 0 {
            all.push(Self { hosts: hosts - 1, ..self.clone() });
        }
        all
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, (check, _): (&str, &str)) -> fmt::Result {
        let Self { streams, buffers, hosts, .. } = self;
        writeln!(f, "#[test] fn smallest_program() {{ use devarray_conformance::programs::raw::*;")?;
        writeln!(f, "    Program::new({streams}, {buffers}, {hosts}, &[")?;
        for op in &self.ops {
            writeln!(f, "        {op:?},")?;
        }
        write!(f, "    ]).{check}(&play).unwrap() }}")
    }
}

/// Prints the program as a test; `play` plays a line, as [`Play`] says.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, ("check", ""))
    }
}

/// Prints Rust.
impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "op({}, Join::{:?}, Act::{:?})", self.stream, self.join, self.act)
    }
}

/// Prints Rust.
impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytes({}, {}, {})", self.memory, self.at, self.len)
    }
}
