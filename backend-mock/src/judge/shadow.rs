//! Who touched which bytes of a memory, as far as it can still matter.

use std::{mem, ops::Range};

use smallvec::SmallVec;

use super::{
    bytes::Bytes,
    clock::{Clock, Position},
};
use crate::finding::{Access, Operation};

/// Cells at which a shadow first looks for what the host has waited for.
const FIRST_SWEEP: usize = 64;

/// One access that a later one may race with, or the beginning or end of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) position: Position,
    pub(crate) operation: Operation,
    pub(crate) access: Access,
}

impl Note {
    /// As findings name it.
    pub(crate) fn named(&self) -> (Operation, Access) {
        (self.operation, self.access)
    }

    fn writes(&self) -> bool {
        self.access == Access::Write
    }
}

/// A race: bytes that two accesses share, and the earlier of the two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) with: Note,
    pub(crate) bytes: Range<usize>,
}

/// Neighbouring bytes that the same accesses touched.
#[derive(Debug, Clone)]
struct Cell {
    bytes: Range<usize>,
    accesses: Accesses,
}

type Accesses = SmallVec<[Note; 2]>;

/// The accesses of one memory, by bytes.
///
/// An access is forgotten when no later operation can race with it without also racing with one that is kept:
/// - a write takes the place of whatever is ordered before it;
/// - a read takes the place of reads that are ordered before it;
/// - what the host has waited for is ordered before everything issued from now on.
///
/// So each byte keeps at most two accesses a stream, and a shadow does not grow with the number of operations.
#[derive(Debug)]
pub(crate) struct Shadow {
    /// Ascending, disjoint.
    cells: Vec<Cell>,
    /// Room for rebuilding, kept.
    rebuilt: Vec<Cell>,
    sweep_at: usize,
}

impl Default for Shadow {
    fn default() -> Self {
        Self { cells: Vec::new(), rebuilt: Vec::new(), sweep_at: FIRST_SWEEP }
    }
}

impl Shadow {
    /// Takes an access note of, and tells which earlier ones it races with: those that touch a common byte, one of the two
    /// writing, and that `clock` does not know.
    pub(crate) fn touch(
        &mut self,
        bytes: &Bytes,
        access: Note,
        clock: &Clock,
        host: &Clock,
        conflicts: &mut Vec<Conflict>,
    ) {
        let window = self.window(&bytes.span());
        let mut rebuilt = mem::take(&mut self.rebuilt);
        let mut old = self.cells[window.clone()].iter();
        let mut cell = old.next().cloned();
        for piece in bytes.pieces() {
            let mut at = piece.start;
            while at < piece.end {
                let Some(current) = &mut cell else {
                    push(&mut rebuilt, at..piece.end, Accesses::from_elem(access, 1));
                    break;
                };
                if current.bytes.end <= at {
                    push_cell(&mut rebuilt, mem::replace(&mut cell, old.next().cloned()));
                } else if current.bytes.start > at {
                    let end = piece.end.min(current.bytes.start);
                    push(&mut rebuilt, at..end, Accesses::from_elem(access, 1));
                    at = end;
                } else if current.bytes.start < at {
                    push(&mut rebuilt, current.bytes.start..at, current.accesses.clone());
                    current.bytes.start = at;
                } else {
                    let shared = at..piece.end.min(current.bytes.end);
                    find_conflicts(&current.accesses, &access, clock, &shared, conflicts);
                    let after = succeed(&current.accesses, access, clock, host);
                    at = shared.end;
                    current.bytes.start = at;
                    push(&mut rebuilt, shared, after);
                    if current.bytes.is_empty() {
                        cell = old.next().cloned();
                    }
                }
            }
        }
        push_cell(&mut rebuilt, cell);
        old.for_each(|cell| push_cell(&mut rebuilt, Some(cell.clone())));
        self.cells.splice(window, rebuilt.drain(..));
        self.rebuilt = rebuilt;
        self.sweep(host);
    }

    /// The accesses among `bytes` that an operation which knows `clock` races with; it is not taken note of.
    pub(crate) fn conflicts(
        &self,
        bytes: &Range<usize>,
        write: bool,
        clock: &Clock,
        conflicts: &mut Vec<Conflict>,
    ) {
        for cell in &self.cells[self.window(bytes)] {
            let shared = cell.bytes.start.max(bytes.start)..cell.bytes.end.min(bytes.end);
            for with in &cell.accesses {
                if (with.writes() || write) && !clock.knows(with.position) {
                    add(conflicts, *with, &shared);
                }
            }
        }
    }

    /// Forgets what was done to these bytes.
    pub(crate) fn forget(&mut self, bytes: &Range<usize>) {
        self.cells.retain(|cell| cell.bytes.end <= bytes.start || bytes.end <= cell.bytes.start);
    }

    /// The cells that share a byte with the span.
    fn window(&self, span: &Range<usize>) -> Range<usize> {
        let first = self.cells.partition_point(|cell| cell.bytes.end <= span.start);
        first..first + self.cells[first..].partition_point(|cell| cell.bytes.start < span.end)
    }

    /// Now and then, forgets what the host has waited for also where nobody comes by.
    fn sweep(&mut self, host: &Clock) {
        if self.cells.len() < self.sweep_at {
            return;
        }
        self.cells.retain_mut(|cell| {
            cell.accesses.retain(|access| !host.knows(access.position));
            !cell.accesses.is_empty()
        });
        self.sweep_at = FIRST_SWEEP.max(2 * self.cells.len());
    }
}

fn find_conflicts(
    before: &[Note],
    access: &Note,
    clock: &Clock,
    shared: &Range<usize>,
    conflicts: &mut Vec<Conflict>,
) {
    for with in before {
        if (with.writes() || access.writes()) && !clock.knows(with.position) {
            add(conflicts, *with, shared);
        }
    }
}

/// One conflict an operation, with the first bytes.
fn add(conflicts: &mut Vec<Conflict>, with: Note, shared: &Range<usize>) {
    if conflicts.iter().all(|known| known.with.operation.number != with.operation.number) {
        conflicts.push(Conflict { with, bytes: shared.clone() });
    }
}

/// What is kept of the accesses to some bytes when another follows.
fn succeed(before: &[Note], access: Note, clock: &Clock, host: &Clock) -> Accesses {
    let matters = |earlier: &&Note| {
        let position = earlier.position;
        if access.writes() || !earlier.writes() { !clock.knows(position) } else { !host.knows(position) }
    };
    before.iter().filter(matters).copied().chain([access]).collect()
}

fn push(cells: &mut Vec<Cell>, bytes: Range<usize>, accesses: Accesses) {
    match cells.last_mut() {
        Some(last) if last.bytes.end == bytes.start && last.accesses == accesses => {
            last.bytes.end = bytes.end
        }
        _ => cells.push(Cell { bytes, accesses }),
    }
}

fn push_cell(cells: &mut Vec<Cell>, cell: Option<Cell>) {
    if let Some(Cell { bytes, accesses }) = cell {
        push(cells, bytes, accesses);
    }
}
