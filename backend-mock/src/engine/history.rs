//! What happened in a run, in order, for those who want to know in which other orders it could have.

use super::{Engine, Mark, Op, Work};
use crate::judge::ByteSet;

/// One thing that happened.
#[derive(Debug, Clone)]
pub(crate) enum Happened {
    /// It was open who goes on: one of the streams, or the host if it may.
    Open {
        /// Choices made before. If there is only one way, none is made.
        choices: usize,
        lanes: Vec<usize>,
        may_return: bool,
        way: usize,
    },
    /// The host put an operation into a queue; its number.
    Enqueued(u64),
    /// An operation ran, or a piece of it.
    Ran {
        lane: usize,
        number: u64,
        /// Which of its lane it is; none if there is more of it to run.
        at: Option<Mark>,
        /// What it waited for.
        after: Vec<Mark>,
        touches: Vec<Touch>,
        /// Whether it changes how much memory is free.
        frees: bool,
    },
    /// The host asked whether an operation has run.
    Asked(Mark),
    /// The host asked how much memory is free.
    AskedForMemory,
    /// The host knows that an operation has run.
    Waited(Mark),
}

/// Bytes that an operation reads or writes.
#[derive(Debug, Clone)]
pub(crate) struct Touch {
    place: Place,
    bytes: ByteSet,
    write: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Device(u64),
    Host,
}

impl Touch {
    /// Whether it matters which of the two comes first.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        (self.write || other.write)
            && self.place == other.place
            && !self.bytes.common(&other.bytes).pieces().is_empty()
    }

    /// What an operation touches. One that allocates or frees touches all of its memory.
    fn of(work: &Work) -> Vec<Self> {
        let device = |number, bytes, write| Self { place: Place::Device(number), bytes, write };
        let host = |addresses, write| Self { place: Place::Host, bytes: ByteSet::range(addresses), write };
        match work {
            Work::Alloc { buffer, len_bytes } | Work::Free { buffer, len_bytes } => {
                vec![device(buffer.number, ByteSet::range(0..*len_bytes), true)]
            }
            Work::Copy { dst, src, plan } => vec![
                device(src.number, ByteSet::source(plan), false),
                device(dst.number, ByteSet::destination(plan), true),
            ],
            Work::Fill { dst, plan, .. } => vec![device(dst.number, ByteSet::destination(plan), true)],
            Work::Upload { dst, bytes, host: from } => {
                vec![host(from.addresses(), false), device(dst.number, ByteSet::range(bytes.clone()), true)]
            }
            Work::Download { src, bytes, host: to } => {
                vec![device(src.number, ByteSet::range(bytes.clone()), false), host(to.addresses(), true)]
            }
            Work::Prefetch { .. } | Work::Record(_) | Work::Wait(_) => Vec::new(),
        }
    }
}

impl Engine {
    /// What happened so far; nothing unless that is recorded.
    pub(crate) fn history(&self) -> &[Happened] {
        self.history.as_deref().unwrap_or(&[])
    }

    /// Takes a note, if notes are taken.
    pub(super) fn note(&mut self, happened: impl FnOnce(&Self) -> Happened) {
        if self.history.is_some() {
            let happened = happened(self);
            self.history.get_or_insert_default().push(happened);
        }
    }
}

impl Happened {
    pub(super) fn ran(lane: usize, at: Option<Mark>, op: &Op, after: Vec<Mark>) -> Self {
        let Op { number, ref work, .. } = *op;
        let frees = matches!(work, Work::Free { .. });
        Self::Ran { lane, number, at, after, touches: Touch::of(work), frees }
    }
}
