//! Device memory that running operations read.

use super::{Bytes, Memory, memory::State};
use crate::{
    allocation::BufferId,
    poison::{Poison, PoisonKind, repeat},
};

/// Device memory to be read, with poison in place of memory that does not exist.
pub(super) struct Source<'a> {
    held: Held<'a>,
    poison: [u8; 8],
}

/// The bytes of a source.
#[derive(Clone, Copy)]
enum Held<'a> {
    Bytes(&'a Bytes),
    /// Bytes as they were before the operation.
    Copied(&'a [u8]),
    Nothing,
}

impl<'a> Source<'a> {
    pub(super) fn new(memory: &'a Memory, id: BufferId) -> Self {
        let kind = match memory.state(id) {
            State::Gone => PoisonKind::Freed,
            State::Ready | State::Reserved => PoisonKind::Fresh,
        };
        let held = memory.bytes(id).map_or(Held::Nothing, Held::Bytes);
        Self { held, poison: Poison::of_buffer(kind, id).bytes() }
    }

    /// Returns this source with other bytes.
    pub(super) fn of_bytes(self, bytes: &'a [u8]) -> Self {
        Self { held: Held::Copied(bytes), ..self }
    }

    /// All bytes, if they are not in host memory.
    pub(super) fn own(&self) -> Option<&'a [u8]> {
        match self.held {
            Held::Bytes(bytes) => bytes.own(),
            Held::Copied(bytes) => Some(bytes),
            Held::Nothing => Some(&[]),
        }
    }

    pub(super) fn len_bytes(&self) -> usize {
        match self.held {
            Held::Bytes(bytes) => bytes.len_bytes(),
            Held::Copied(bytes) => bytes.len(),
            Held::Nothing => 0,
        }
    }

    pub(super) fn read(&self, offset_bytes: usize, into: &mut [u8]) {
        let held = self.held(offset_bytes, into.len());
        let (there, missing) = into.split_at_mut(held.len());
        there.copy_from_slice(held);
        repeat(missing, &self.poison, (offset_bytes + held.len()) % self.poison.len());
    }

    /// The existing bytes of a range. If they are in host memory, the range must hold only elements
    /// of the operation.
    pub(super) fn held(&self, offset_bytes: usize, len_bytes: usize) -> &'a [u8] {
        let range = offset_bytes..offset_bytes.saturating_add(len_bytes);
        match self.held {
            Held::Bytes(bytes) => bytes.part(range),
            Held::Copied(bytes) => {
                let held = bytes.get(range.start..).unwrap_or(&[]);
                &held[..held.len().min(len_bytes)]
            }
            Held::Nothing => &[],
        }
    }
}
