//! Findings: a mistake, with everything needed to understand it.

mod code;

use std::{fmt, ops::Range, panic::Location};

pub use code::{Class, Code};

use crate::{allocation::BufferId, profile::ProfileSet};

/// One mistake: an operation whose behaviour on real hardware would be undefined under some
/// schedule, though perhaps not under this one. The [class](Class) of its code may be less severe.
///
/// `Display` is for people:
///
/// ```text
/// error[DA01]: read/write race on buffer 0.0, bytes 0x0..0x10 of 0x40
///   read  op#3 copy    stream 0  src/step.rs:71:9
///   write op#5 upload  stream 1  src/step.rs:88:14
///   buffer 0.0 was allocated at src/step.rs:60:22
///   no happens-before path #3 → #5
///   nearest miss: stream 1 waited at op#4 for the event of op#2, recorded before #3
///   help: record an event on stream 0 after #3, and wait for it on stream 1 before #5
///   in the order of issue:
///         stream 0        stream 1
///    ...
///     #2  record
///   > #3  copy
///     #4                  wait #2
///   > #5                  upload
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The kind of mistake.
    pub code: Code,
    /// The operation that is wrong.
    pub operation: Operation,
    /// The way in which it touches the memory.
    pub access: Access,
    /// The earlier operations that it is not ordered with, or that ended the life of its memory; in
    /// ascending order.
    pub with: Vec<(Operation, Access)>,
    /// The memory.
    pub memory: Memory,
    /// The place where the memory was allocated, if it is known: the nearest caller that is not
    /// `#[track_caller]`.
    pub allocated_at: Option<&'static Location<'static>>,
    /// The bytes in the memory; if there are several ranges, the first one.
    pub bytes: Range<usize>,
    /// The profiles under which the operation is right; the code is then [`Code::ReliesOnProfile`].
    /// Empty for most findings.
    pub passes_under: ProfileSet,
    /// The missing edge, the nearest miss and the remedy, a line each.
    pub notes: Vec<String>,
    /// A drawing of the steps around it, under 100 characters wide: a column for the host and for
    /// each stream, and a line for each step. The finding's operations are marked with `>`, gaps
    /// with `...`. Empty if the finding is about a single operation.
    pub timeline: Vec<String>,
}

/// The way in which an operation touches memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "memory is read, written, or begins or ends")]
pub enum Access {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It allocates or frees.
    Lifetime,
}

/// An operation, or an action of the host, as findings name it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operation {
    /// Its place in the order in which all operations of the device were enqueued, from 0. An
    /// action of the host has the place of the next operation.
    pub number: u64,
    /// Its kind: `"copy"`, `"free"`, `"host_read"` …
    pub kind: &'static str,
    /// The number of its stream, in the order in which the device opened them; none for an action
    /// of the host.
    pub stream: Option<usize>,
    /// The place where it was enqueued: the nearest caller that is not `#[track_caller]`.
    pub location: &'static Location<'static>,
    /// The argument by which a [kernel](devarray::kernel!) reaches the memory.
    pub argument: Option<&'static str>,
}

/// A memory, as findings name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Memory {
    /// Device memory.
    Device {
        /// The identity of the allocation.
        id: BufferId,
        /// Its size.
        len_bytes: usize,
    },
    /// Pinned host memory of the device.
    Pinned {
        /// The number of the allocation, from 0.
        number: u64,
        /// Its size.
        len_bytes: usize,
    },
    /// Other host memory.
    Host {
        /// The number of bytes that an operation uses.
        len_bytes: usize,
    },
    /// No memory: the finding is only about order.
    Nothing,
}

impl Finding {
    pub(crate) fn new(
        code: Code,
        operation: Operation,
        access: Access,
        memory: Memory,
        bytes: Range<usize>,
    ) -> Self {
        let (with, passes_under) = (Vec::new(), ProfileSet::default());
        let (notes, timeline) = (Vec::new(), Vec::new());
        let allocated_at = None;
        Self { code, operation, access, with, memory, allocated_at, bytes, passes_under, notes, timeline }
    }

    /// Returns this finding with these earlier operations, in the order of their numbers.
    pub(crate) fn with(mut self, earlier: impl IntoIterator<Item = (Operation, Access)>) -> Self {
        self.add(earlier);
        self
    }

    /// Adds more earlier operations.
    pub(crate) fn add(&mut self, earlier: impl IntoIterator<Item = (Operation, Access)>) {
        for (operation, access) in earlier {
            if self.with.iter().all(|(known, _)| known.number != operation.number) {
                self.with.push((operation, access));
            }
        }
        self.with.sort_by_key(|(operation, _)| operation.number);
    }

    /// Merges two findings. Keeps the one that is right under fewer profiles, with the earlier
    /// operations of both; it is right under the profiles that both have.
    pub(crate) fn joined(self, other: Self) -> Self {
        let other_is_worse = other.passes_under.len() < self.passes_under.len();
        let (mut worse, lesser) = if other_is_worse { (other, self) } else { (self, other) };
        worse.passes_under = worse.passes_under.common(lesser.passes_under);
        worse.add(lesser.with);
        worse
    }

    /// Returns this finding with another note.
    pub(crate) fn note(mut self, note: String) -> Self {
        self.notes.push(note);
        self
    }

    /// The mistake, its bytes and its memory, in one line.
    #[must_use]
    pub fn headline(&self) -> String {
        let Self { memory, bytes: Range { start, end }, operation: Operation { kind, .. }, .. } = self;
        let place = format!("{memory}, bytes {start:#x}..{end:#x} of {:#x}", memory.len_bytes());
        match self.code {
            Code::Race => {
                let earlier = self.with.first().map_or(Access::Write, |(_, access)| *access);
                format!("{}/{} race on {place}", earlier.verb(), self.access.verb())
            }
            Code::HostRead => format!("the host reads what an operation may still write: {place}"),
            Code::HostWrite => format!("the host writes what an operation may still use: {place}"),
            Code::HostFreed => format!("given back while an operation may still use it: {place}"),
            Code::UseBeforeAlloc if self.access == Access::Lifetime => {
                format!("freed before its allocation takes effect: {place}")
            }
            Code::UseBeforeAlloc => format!("used before its allocation takes effect: {place}"),
            Code::UseAfterFree if self.access == Access::Lifetime => {
                format!("freed while an operation may still use it: {place}")
            }
            Code::UseAfterFree => format!("used after its free: {place}"),
            Code::DoubleFree => format!("freed twice: {memory}"),
            Code::OutOfBounds => format!("reaches outside {place}"),
            Code::Uninitialized if self.operation.is("download") => {
                format!("never given a value, and brought to the host: {place}")
            }
            Code::Uninitialized => format!("never given a value, and read by `{kind}`: {place}"),
            Code::Overlap if self.operation.is("copy") => {
                format!("source and destination share bytes of {place}")
            }
            Code::Overlap => format!("`{kind}` writes bytes that it also reaches another way: {place}"),
            Code::Undeclared => {
                format!("{} by work of other code that did not declare it: {place}", self.access.past())
            }
            Code::OutsideArgument => {
                format!("the host function of `{kind}` wrote outside its arguments: {place}")
            }
            Code::Unwritten => format!("`{kind}` left elements unwritten that it declares to write: {place}"),
            Code::UndeclaredRead => format!("what `{kind}` writes depends on what it may not read: {place}"),
            Code::HostPanicked => format!("the host function of `{kind}` panicked"),
            Code::RepeatedIndex => format!("`{kind}` puts two elements in one place: {place}"),
            Code::UnusedInput => format!("nothing that `{kind}` writes depends on {place}"),
            Code::RanksDisagree => "the calls of the ranks differ".to_owned(),
            Code::RanksStuck => "ranks wait for each other, and none can go on".to_owned(),
            Code::Unpaired => "a send or a receive waits, and its other half does not come".to_owned(),
            Code::RankGone => "a rank is gone that others need".to_owned(),
            Code::RankBlocked => "a rank waits outside the library, and all others for it".to_owned(),
            Code::Leak => format!("leaked: {memory}"),
            Code::ReliesOnProfile => format!("in no order but that of some machines: {place}"),
            Code::NeedlessSync => "the host waits for what it has waited for already".to_owned(),
            Code::NeedlessWait => "the stream waits for what it comes after already".to_owned(),
            Code::SlowRead => format!("the host reads write-combined memory, slowly: {place}"),
        }
    }
}

impl Operation {
    /// Whether it is an operation of the library of this kind, and not a kernel of this name.
    fn is(&self, kind: &str) -> bool {
        self.kind == kind && self.argument.is_none()
    }
}

impl Access {
    const fn past(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "written",
            Self::Lifetime => "given back",
        }
    }

    const fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Lifetime => "",
        }
    }
}

impl Memory {
    /// Its size.
    #[must_use]
    pub const fn len_bytes(self) -> usize {
        match self {
            Self::Device { len_bytes, .. } | Self::Pinned { len_bytes, .. } | Self::Host { len_bytes } => {
                len_bytes
            }
            Self::Nothing => 0,
        }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device { id, .. } => write!(f, "buffer {id}"),
            Self::Pinned { number, .. } => write!(f, "pinned memory {number}"),
            Self::Host { .. } => f.write_str("host memory"),
            Self::Nothing => f.write_str("no memory"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.headline())?;
        let involved = self.with.iter().copied().chain([(self.operation, self.access)]);
        for (Operation { number, kind, stream, location, .. }, access) in involved {
            let verb = access.verb();
            match stream {
                Some(stream) => write!(f, "\n  {verb:5} op#{number} {kind:8} stream {stream}  {location}")?,
                None => write!(f, "\n  {verb:5} {kind}  {location}")?,
            }
        }
        if let Some(location) = self.allocated_at {
            write!(f, "\n  {} was allocated at {location}", self.memory)?;
        }
        for line in self.notes.iter().chain(&self.timeline) {
            write!(f, "\n  {line}")?;
        }
        Ok(())
    }
}
