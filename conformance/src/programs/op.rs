//! Programs as data. Every list of operations is a program: operands are numbers modulo the number of
//! objects, extents and positions are numbers modulo the largest that fits, and an operation without operands
//! does nothing.

use std::fmt;

/// The most calls that one recording has.
pub(super) const MOST_RECORDED: usize = 5;

/// The element type of all arrays of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Item {
    /// `u8`.
    U8,
    /// `[u8; 3]`, an element that no function takes.
    Bytes3,
    /// `u16`.
    U16,
    /// `u32`.
    U32,
    /// `u64`.
    U64,
}

/// Operations on streams that all wait automatically, until one of them is replaced by a strict one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Program {
    /// The type of the elements of arrays.
    pub item: Item,
    /// The number of streams, at least 1. Operations name streams modulo this number.
    pub streams: usize,
    /// The number of host threads that make calls at the same time, at least 1. Each has its own arrays and
    /// transfers; streams, events and limits are shared.
    pub threads: usize,
    /// The operations, in order.
    pub ops: Vec<Op>,
}

impl Program {
    /// A program of these operations, all called by one thread.
    #[must_use]
    pub fn new(item: Item, streams: usize, ops: &[Op]) -> Self {
        Self { item, streams, threads: 1, ops: ops.to_vec() }
    }

    /// Returns this program with this number of threads; [`Op::thread`] tells which thread calls an
    /// operation.
    #[must_use]
    pub fn on_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }
}

/// One transform of a view. Axes are numbers modulo the rank, positions modulo the extent. On a view without
/// axes, or along an axis without positions, transforms that need one do nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transform {
    /// The view as it is.
    Whole,
    /// Two axes change places.
    Swap(usize, usize),
    /// All axes in the order that this number stands for.
    Permute(usize),
    /// An axis is reversed.
    Flip(usize),
    /// Some positions of an axis: from `start`, in steps of `step + 1`, at most `count`.
    Cut {
        /// The axis.
        axis: usize,
        /// The first position.
        start: usize,
        /// The number of positions that are skipped between two.
        step: usize,
        /// The most positions.
        count: usize,
    },
    /// One position of an axis, which is removed.
    Index(usize, usize),
    /// A new axis of extent 1.
    NewAxis(usize),
    /// One part of an axis that is split into up to 4 sections.
    Section(usize, usize, usize),
}

/// Part of an array.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The array.
    pub array: usize,
    /// The transforms that take the part from it.
    pub transforms: [Transform; 2],
}

/// Makes a part. Failures print parts as calls of this function.
#[must_use]
pub const fn part(array: usize, transforms: [Transform; 2]) -> Part {
    Part { array, transforms }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = self.transforms;
        write!(f, "part({}, [{first:?}, {second:?}])", self.array)
    }
}

/// The way in which an array is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Start {
    /// All elements are zero.
    Zeros,
    /// All elements are one value.
    Full,
    /// Elements come from a slice.
    Uploaded,
    /// Elements come from a slice in Fortran order, and are kept in it.
    UploadedF,
    /// The memory is not written until the array is filled.
    Uninit,
}

/// The way in which a transfer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// A wait ends it.
    Waited,
    /// The program polls until the transfer is done, then waits for it.
    Polled,
    /// The transfer is dropped in flight.
    Dropped,
}

/// The way in which an array is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Away {
    /// The array is dropped.
    Here,
    /// The array is dropped while cleanup is deferred, and meanwhile a new array of the same size is made.
    Deferred,
    /// The array is shared, and dropped by another thread.
    Elsewhere,
}

/// A function of one input and one scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Formula {
    /// `x0 + k0`
    Sum,
    /// `x0 * k0`
    Product,
    /// `maximum(x0, k0)`
    Maximum,
    /// `where(x0 < k0, x0, k0 - x0)`
    Fold,
}

/// A call about the order of elements along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ordered {
    /// All elements, in ascending order.
    Ascending,
    /// All elements, in descending order.
    Descending,
    /// The positions of all elements, in order.
    Positions,
    /// Some of the greatest elements, or the elements at their positions.
    Top,
    /// Some of the least elements, or the elements at their positions.
    Bottom,
}

/// The way to combine elements that go to one position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Combined {
    /// Their sum.
    Added,
    /// Their minimum.
    Least,
    /// Their maximum.
    Most,
}

/// One call, or a few calls that belong together. `value` seeds the elements that it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "`stream` names a stream, `to` is written, `from` is read, `of` is both")]
pub enum Op {
    /// Makes an array from the first `rank` extents (at most 3). The seventh array replaces another one,
    /// which is dropped.
    Create { stream: usize, extents: [usize; 3], rank: usize, start: Start, value: usize },
    /// Fills a part.
    Fill { stream: usize, to: Part, value: usize },
    /// Copies a slice to a part.
    Upload { stream: usize, to: Part, value: usize },
    /// Copies host elements in Fortran order to a part.
    UploadF { stream: usize, to: Part, value: usize },
    /// Reads a part, and compares it.
    Download { stream: usize, from: Part },
    /// Copies between parts of two arrays, which are cut to a common shape; extents of 1 are repeated in the
    /// source.
    Copy { stream: usize, to: Part, from: Part },
    /// Splits a part into two to four sections. Copies one of them to another, or fills it if their shapes
    /// differ.
    Sections { stream: usize, of: Part, axis: usize, to: usize, from: usize, value: usize },
    /// Moves all but some positions of an axis up or down along it: source and destination may overlap.
    Shift { stream: usize, of: Part, axis: usize, by: usize, down: bool },
    /// Makes an array from the elements of a part.
    Contiguous { stream: usize, from: Part, fortran: bool },
    /// Makes an array from two parts of one shape, one after the other.
    Concatenate { stream: usize, first: Part, second: Part },
    /// Computes a function of one part into another. On devices that compute.
    Map { stream: usize, to: Part, from: Part, formula: Formula, value: usize },
    /// Makes an array of the greatest elements along an axis. On devices that reduce.
    Greatest { stream: usize, from: Part, axis: usize },
    /// Launches a kernel that reads one part and writes another. On `u16` it adds one part to the other,
    /// along two axes with any strides. On `u8` and `u32` it works on all memory from the first element of a
    /// part to its last: it reverses one to three lines, or multiplies by a value and adds positions. On
    /// devices that launch kernels.
    Kernel { stream: usize, to: Part, from: Part, value: usize },
    /// Makes an array from the elements at indices of an axis. On devices that gather.
    Take { stream: usize, from: Part, axis: usize, value: usize },
    /// Puts values at indices of an axis; of several for one position the last remains. On devices that
    /// gather.
    Put { stream: usize, to: Part, axis: usize, value: usize },
    /// Makes an array of the elements in order along an axis. This and the next four are for devices that
    /// order.
    Sort { stream: usize, from: Part, axis: usize, by: Ordered, value: usize },
    /// Makes an array that counts the remainders of elements.
    Count { stream: usize, from: Part, value: usize },
    /// Combines values with the elements at indices of an axis; any number may go to one position.
    Combine { stream: usize, to: Part, axis: usize, by: Combined, value: usize },
    /// Makes an array of segments of the first axis, each combined to one row.
    Segments { stream: usize, from: Part, by: Combined, value: usize },
    /// Sorts a part, and makes an array of the positions in it for the elements of another part.
    SearchSorted { stream: usize, from: Part, of_each: Part, value: usize },
    /// Makes an array of the product of two matrices. On devices that multiply.
    Matmul { stream: usize, first: Part, second: Part },
    /// Makes an array of a function of the elements of a product. On devices that multiply.
    MatmulMap { stream: usize, first: Part, second: Part, formula: Formula, value: usize },
    /// Multiplies a matrix with its transpose into a part of another array. On devices that multiply.
    Square { stream: usize, to: Part, from: Part },
    /// Records the calls that follow it, up to 5 and as long as they can be recorded, with three arguments;
    /// `from` is only read. Launches the recording one to three times, on one stream after another, with the
    /// recorded arrays and with others of the same layout.
    Recorded {
        stream: usize,
        to: Part,
        beside: Part,
        from: Part,
        calls: usize,
        launches: usize,
        value: usize,
    },
    /// Uploads more than goes in one piece, reads it back on the next stream, reversed or transposed, and
    /// drops it.
    Large { stream: usize, value: usize },
    /// Copies a part to the second device, and from there to another part.
    Across { stream: usize, to: Part, from: Part },
    /// Starts an upload of pinned memory.
    StartUpload { stream: usize, to: Part, value: usize },
    /// Starts a download to pinned memory.
    StartDownload { stream: usize, from: Part },
    /// Ends a transfer.
    EndTransfer { transfer: usize, end: End },
    /// In a scope, copies borrowed memory to one part, and reads that part and another one back.
    Scope { stream: usize, to: Part, from: Part, value: usize },
    /// Drops an array.
    Drop { array: usize, away: Away },
    /// Lets `count` dropped allocations wait to be freed; 0 frees them.
    ReleaseLimit { count: usize },
    /// Lets the pinned pool keep `kib` KiB of idle memory.
    PinnedIdle { kib: usize },
    /// Drops a stream, with its work, and opens another one in its place.
    Replace { stream: usize, strict: bool },
    /// Records an event; the ninth replaces the first.
    Record { stream: usize },
    /// Lets a stream wait for an event.
    Wait { stream: usize, event: usize },
    /// Waits for an event on the host, or only queries it.
    AwaitEvent { event: usize, only_ask: bool },
    /// Lets a stream wait for all others.
    Join { stream: usize },
    /// Waits for a stream on the host.
    Synchronize { stream: usize },
}

impl Op {
    /// The thread, out of this many, that calls it. It does not depend on other operations: every fourth
    /// number that the operation names something by belongs to the next thread.
    #[must_use]
    pub fn thread(&self, threads: usize) -> usize {
        let mut op = *self;
        op.name_mut().map_or(0, |named| *named / 4 % threads.max(1))
    }

    /// The number of following calls, of the same thread, that it records.
    pub(super) fn recorded<'o>(&self, behind: impl Iterator<Item = &'o Self>) -> usize {
        let Self::Recorded { calls, .. } = self else { return 0 };
        behind.take(calls % (MOST_RECORDED + 1)).take_while(|op| op.can_be_recorded()).count()
    }

    /// Whether the call can be recorded.
    pub(super) fn can_be_recorded(&self) -> bool {
        matches!(
            self,
            Self::Fill { .. }
                | Self::Copy { .. }
                | Self::Sections { .. }
                | Self::Shift { .. }
                | Self::Contiguous { .. }
                | Self::Concatenate { .. }
                | Self::Map { .. }
                | Self::Greatest { .. }
                | Self::Take { .. }
                | Self::Put { .. }
                | Self::Sort { .. }
                | Self::Count { .. }
                | Self::Combine { .. }
                | Self::Segments { .. }
                | Self::SearchSorted { .. }
                | Self::Matmul { .. }
                | Self::MatmulMap { .. }
                | Self::Square { .. }
        )
    }

    /// The number by which it names a stream, or otherwise a transfer, an array or an event.
    pub(super) fn name_mut(&mut self) -> Option<&mut usize> {
        Some(match self {
            Self::Create { stream, .. }
            | Self::Fill { stream, .. }
            | Self::Upload { stream, .. }
            | Self::UploadF { stream, .. }
            | Self::Download { stream, .. }
            | Self::Copy { stream, .. }
            | Self::Sections { stream, .. }
            | Self::Shift { stream, .. }
            | Self::Contiguous { stream, .. }
            | Self::Concatenate { stream, .. }
            | Self::Map { stream, .. }
            | Self::Greatest { stream, .. }
            | Self::Kernel { stream, .. }
            | Self::Take { stream, .. }
            | Self::Put { stream, .. }
            | Self::Sort { stream, .. }
            | Self::Count { stream, .. }
            | Self::Combine { stream, .. }
            | Self::Segments { stream, .. }
            | Self::SearchSorted { stream, .. }
            | Self::Matmul { stream, .. }
            | Self::MatmulMap { stream, .. }
            | Self::Square { stream, .. }
            | Self::Recorded { stream, .. }
            | Self::Large { stream, .. }
            | Self::Across { stream, .. }
            | Self::StartUpload { stream, .. }
            | Self::StartDownload { stream, .. }
            | Self::Scope { stream, .. }
            | Self::Replace { stream, .. }
            | Self::Record { stream }
            | Self::Wait { stream, .. }
            | Self::Join { stream }
            | Self::Synchronize { stream } => stream,
            Self::EndTransfer { transfer, .. } => transfer,
            Self::Drop { array, .. } => array,
            Self::AwaitEvent { event, .. } => event,
            Self::ReleaseLimit { .. } | Self::PinnedIdle { .. } => return None,
        })
    }
}
