//! Who touched which bytes of a memory, as far as it can still matter.

use std::{collections::BTreeMap, mem, ops::Range};

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
    /// Whether it is the read of the source of an upload of pageable memory.
    pub(crate) of_pageable: bool,
}

impl Note {
    pub(crate) fn new(position: Position, operation: Operation, access: Access) -> Self {
        Self { position, operation, access, of_pageable: false }
    }

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
    end: usize,
    accesses: Accesses,
}

type Accesses = SmallVec<[Note; 1]>;

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
    /// By first byte; disjoint.
    cells: BTreeMap<usize, Cell>,
    sweep_at: usize,
}

impl Default for Shadow {
    fn default() -> Self {
        Self { cells: BTreeMap::new(), sweep_at: FIRST_SWEEP }
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
        for piece in bytes.pieces() {
            self.touch_piece(piece, access, clock, host, conflicts);
        }
        self.sweep(host);
    }

    fn touch_piece(
        &mut self,
        piece: &Range<usize>,
        access: Note,
        clock: &Clock,
        host: &Clock,
        conflicts: &mut Vec<Conflict>,
    ) {
        // The two usual cases: bytes touched together before, and bytes not touched before.
        match self.cells.range_mut(..piece.end).next_back() {
            Some((&start, cell)) if start == piece.start && cell.end == piece.end => {
                find_conflicts(&cell.accesses, access.writes(), clock, piece, conflicts);
                return succeed(&mut cell.accesses, access, clock, host);
            }
            Some((_, cell)) if cell.end > piece.start => {}
            _ => {
                let accesses = Accesses::from_elem(access, 1);
                self.cells.insert(piece.start, Cell { end: piece.end, accesses });
                return;
            }
        }
        self.cut(piece.start);
        self.cut(piece.end);
        let (mut at, mut gaps) = (piece.start, SmallVec::<[Range<usize>; 4]>::new());
        // A write takes the place of what is ordered before it, and then the cells are one.
        let mut one = true;
        for (&start, cell) in self.cells.range_mut(piece.clone()) {
            if at < start {
                gaps.push(at..start);
            }
            find_conflicts(&cell.accesses, access.writes(), clock, &(start..cell.end), conflicts);
            succeed(&mut cell.accesses, access, clock, host);
            one &= cell.accesses.len() == 1;
            at = cell.end;
        }
        if at < piece.end {
            gaps.push(at..piece.end);
        }
        let accesses = || Accesses::from_elem(access, 1);
        if one {
            while let Some((&start, _)) = self.cells.range(piece.start + 1..piece.end).next() {
                self.cells.remove(&start);
            }
            self.cells.insert(piece.start, Cell { end: piece.end, accesses: accesses() });
        } else {
            self.cells
                .extend(gaps.into_iter().map(|gap| (gap.start, Cell { end: gap.end, accesses: accesses() })));
        }
    }

    /// Makes a cell that lies on both sides of a byte two.
    fn cut(&mut self, at: usize) {
        if let Some((_, cell)) = self.cells.range_mut(..at).next_back()
            && cell.end > at
        {
            let behind = Cell { end: mem::replace(&mut cell.end, at), accesses: cell.accesses.clone() };
            self.cells.insert(at, behind);
        }
    }

    /// The accesses among `bytes` that an operation which knows `clock` races with; it is not taken note of.
    pub(crate) fn conflicts(
        &self,
        bytes: &Range<usize>,
        write: bool,
        clock: &Clock,
        conflicts: &mut Vec<Conflict>,
    ) {
        for (start, cell) in self.over(bytes) {
            let shared = start.max(bytes.start)..cell.end.min(bytes.end);
            find_conflicts(&cell.accesses, write, clock, &shared, conflicts);
        }
    }

    /// Forgets what was done to these bytes.
    pub(crate) fn forget(&mut self, bytes: &Range<usize>) {
        let starts: Vec<usize> = self.over(bytes).map(|(start, _)| start).collect();
        starts.iter().for_each(|start| drop(self.cells.remove(start)));
    }

    /// The cells that share a byte with a range.
    fn over(&self, bytes: &Range<usize>) -> impl Iterator<Item = (usize, &Cell)> {
        let before = self.cells.range(..bytes.start).next_back().filter(|(_, cell)| cell.end > bytes.start);
        before.into_iter().chain(self.cells.range(bytes.clone())).map(|(&start, cell)| (start, cell))
    }

    /// Now and then, forgets what the host has waited for also where nobody comes by.
    fn sweep(&mut self, host: &Clock) {
        if self.cells.len() < self.sweep_at {
            return;
        }
        self.cells.retain(|_, cell| {
            cell.accesses.retain(|access| !host.knows(access.position));
            !cell.accesses.is_empty()
        });
        self.sweep_at = FIRST_SWEEP.max(2 * self.cells.len());
    }
}

/// One conflict an operation, with the first bytes.
fn find_conflicts(
    before: &[Note],
    write: bool,
    clock: &Clock,
    shared: &Range<usize>,
    conflicts: &mut Vec<Conflict>,
) {
    for with in before {
        let races = (with.writes() || write) && !clock.knows(with.position);
        if races && conflicts.iter().all(|known| known.with.operation.number != with.operation.number) {
            conflicts.push(Conflict { with: *with, bytes: shared.clone() });
        }
    }
}

/// What is kept of the accesses to some bytes when another follows.
fn succeed(accesses: &mut Accesses, access: Note, clock: &Clock, host: &Clock) {
    accesses.retain(|earlier| {
        let position = earlier.position;
        // Under some profiles it is over when its call returns, and then others before it are not.
        if access.of_pageable && !earlier.of_pageable {
            return !host.knows(position);
        }
        if access.writes() || !earlier.writes() { !clock.knows(position) } else { !host.knows(position) }
    });
    accesses.push(access);
}
