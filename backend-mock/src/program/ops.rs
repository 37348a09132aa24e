//! The operations of a program, with numbers instead of names.

use devarray::{Layout, backend::Capabilities, copy::Plan};

use super::raw::RawOp;

/// No memory reaches this far, and sums of a few such numbers do not overflow.
const FAR: usize = 1 << 40;

/// An operation that the host thread issues, with numbers for streams, events and memories.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the table of the module says what each field is")]
#[non_exhaustive]
pub enum Op {
    Fill { stream: usize, buffer: usize, to: Block, value: u8 },
    Copy { stream: usize, src: usize, from: Block, dst: usize, to: Block },
    Upload { stream: usize, host: usize, host_offset: usize, dst: usize, dst_offset: usize, len: usize },
    Download { stream: usize, src: usize, src_offset: usize, host: usize, host_offset: usize, len: usize },
    Alloc { stream: usize, buffer: usize },
    Free { stream: usize, buffer: usize },
    Record { stream: usize, event: usize },
    Wait { stream: usize, event: usize },
    SyncStream { stream: usize },
    SyncEvent { event: usize },
    SyncDevice,
    HostRead { host: usize, offset: usize, len: usize },
    HostWrite { host: usize, offset: usize, len: usize, value: u8 },
}

impl Op {
    /// The stream that it is enqueued on or waits for, if it has one.
    pub(super) fn stream(&self) -> Option<usize> {
        match *self {
            Self::Fill { stream, .. }
            | Self::Copy { stream, .. }
            | Self::Upload { stream, .. }
            | Self::Download { stream, .. }
            | Self::Alloc { stream, .. }
            | Self::Free { stream, .. }
            | Self::Record { stream, .. }
            | Self::Wait { stream, .. }
            | Self::SyncStream { stream } => Some(stream),
            Self::SyncEvent { .. } | Self::SyncDevice | Self::HostRead { .. } | Self::HostWrite { .. } => {
                None
            }
        }
    }
}

/// Rows of bytes in a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "rows are nothing else")]
pub struct Block {
    /// The offset of the first row.
    pub offset: usize,
    /// The distance from the start of one row to the start of the next.
    pub pitch: usize,
    /// The number of bytes in a row.
    pub width: usize,
    /// The number of rows.
    pub height: usize,
}

impl Block {
    /// One row.
    #[must_use]
    pub const fn row(offset: usize, len: usize) -> Self {
        Self { offset, pitch: len, width: len, height: 1 }
    }

    /// Whether it ends before [`FAR`].
    fn is_near(&self) -> bool {
        let [offset, pitch, width, height] =
            [self.offset, self.pitch, self.width, self.height].map(|number| number as u128);
        offset + (height - 1) * pitch + width < FAR as u128
    }

    fn layout(&self) -> Option<Layout> {
        Layout::new(&[self.height, self.width], &[self.pitch.cast_signed(), 1], self.offset).ok()
    }
}

/// An operation, with the plan that is made before it is played.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    pub(super) op: Op,
    /// The plan of a fill or a copy.
    pub(super) plan: Option<Plan>,
    raw: RawOp,
}

impl Prepared {
    pub(super) fn new(op: Op, raw: RawOp) -> Self {
        let plan = match &op {
            Op::Fill { to, .. } => Some(plan(to, to)),
            Op::Copy { from, to, .. } => Some(plan(to, from)),
            _ => None,
        };
        Self { op, plan, raw }
    }

    pub(super) fn text(&self) -> String {
        serde_json::to_string(&self.raw).expect("an operation has names and numbers only")
    }
}

/// The plan of a copy between blocks of equal width and height. If one reaches further than any
/// memory does, it is replaced by one byte at that distance: the verdict is the same.
fn plan(to: &Block, from: &Block) -> Plan {
    let far = Block::row(FAR, 1);
    let (to, from) = match (to.is_near(), from.is_near()) {
        (true, true) => (*to, *from),
        (near_to, near_from) => (
            if near_to { Block::row(to.offset, 1) } else { far },
            if near_from { Block::row(from.offset, 1) } else { far },
        ),
    };
    let (to, from) = to.layout().zip(from.layout()).expect("numbers far below the limit");
    Plan::new(&to, &from, 1, &Capabilities::default())
        .expect("blocks of one shape, whose rows do not overlap")
}
