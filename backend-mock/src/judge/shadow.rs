//! Who touched which bytes of a memory, as far as it can still matter.

use std::ops::Range;

use smallvec::SmallVec;

use super::{
    bytes::Bytes,
    clock::Clock,
    notes::{List, Note, Notes},
};

/// A race: bytes that two accesses share, and the earlier of the two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) with: Note,
    pub(crate) bytes: Range<usize>,
}

/// Neighbouring bytes that the same accesses touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell {
    start: usize,
    end: usize,
    accesses: List,
}

/// The accesses of one memory, by bytes.
///
/// An access is forgotten when no later operation can race with it without also racing with one that is kept:
/// - a write takes the place of whatever is ordered before it;
/// - a read takes the place of reads that are ordered before it;
/// - what the host has waited for is ordered before everything issued from now on.
///
/// So each byte keeps at most two accesses a stream, and a shadow does not grow with the number of operations.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    /// Disjoint, by first byte.
    cells: Vec<Cell>,
}

impl Shadow {
    /// Takes note of an access, and tells which earlier ones it races with: those that touch a common byte, one of the two writing, and
    /// that it does not know.
    pub(super) fn touch(&mut self, bytes: &Bytes, mut visitor: Visitor<'_>) -> Vec<Conflict> {
        let mut at = 0;
        for (index, piece) in bytes.pieces().iter().enumerate() {
            at = self.reaching(at, piece.start);
            match self.cells.get_mut(at) {
                // Bytes that were touched together before.
                Some(cell) if (cell.start, cell.end) == (piece.start, piece.end) => {
                    cell.accesses = visitor.meet(*cell);
                }
                _ => {
                    self.touch_anew(at, &bytes.pieces()[index..], &mut visitor);
                    break;
                }
            }
        }
        visitor.conflicts
    }

    /// Touches pieces that are no cells, of which the first begins before the end of the cell `first`. In one walk, as there may be many.
    fn touch_anew(&mut self, first: usize, pieces: &[Range<usize>], visitor: &mut Visitor<'_>) {
        let old = &self.cells[first..];
        let (mut new, mut taken) = (SmallVec::<[Cell; 8]>::new(), 0);
        let mut next = old.first().copied();
        // Takes the cell, or the part of it before a byte.
        let mut take = |cell: Cell, until: usize| {
            let (before, behind) = cell.cut(until);
            taken += usize::from(behind.is_none());
            (before, behind.or_else(|| old.get(taken).copied()))
        };
        for piece in pieces {
            while let Some(cell) = next.filter(|cell| cell.start < piece.start) {
                let (before, behind) = take(cell, piece.start);
                new.push(before);
                next = behind;
            }
            // A write takes the place of what is ordered before it, and then the cells are one.
            let (from, mut at, mut is_one) = (new.len(), piece.start, true);
            while let Some(cell) = next.filter(|cell| cell.start < piece.end) {
                let (cell, behind) = take(cell, piece.end);
                next = behind;
                if at < cell.start {
                    new.push(Cell { start: at, end: cell.start, accesses: visitor.alone });
                }
                let accesses = visitor.meet(cell);
                is_one &= accesses == visitor.alone;
                at = cell.end;
                new.push(Cell { accesses, ..cell });
            }
            if is_one {
                new.truncate(from);
                at = piece.start;
            }
            if at < piece.end {
                new.push(Cell { start: at, end: piece.end, accesses: visitor.alone });
            }
        }
        // The rest of a cell that was cut.
        if let Some(rest) = next.filter(|rest| old.get(taken) != Some(rest)) {
            new.push(rest);
            taken += 1;
        }
        self.put(first..first + taken, &new);
    }

    /// Puts cells in the place of others.
    fn put(&mut self, old: Range<usize>, new: &[Cell]) {
        let (there, more) = new.split_at(new.len().min(old.len()));
        let end = old.start + there.len();
        self.cells[old.start..end].copy_from_slice(there);
        if more.is_empty() {
            self.cells.drain(end..old.end);
        } else {
            self.cells.extend_from_slice(more);
            self.cells[end..].rotate_right(more.len());
        }
    }

    /// The accesses among `bytes` that an operation which knows `clock` races with; it is not taken note of.
    pub(super) fn conflicts(
        &self,
        bytes: &Range<usize>,
        write: bool,
        clock: &Clock,
        notes: &Notes,
    ) -> Vec<Conflict> {
        let mut conflicts = Vec::new();
        for cell in &self.cells[self.over(bytes)] {
            let shared = cell.start.max(bytes.start)..cell.end.min(bytes.end);
            find_conflicts(notes, cell.accesses, write, clock, shared, &mut conflicts);
        }
        conflicts
    }

    /// Forgets what was done to these bytes.
    pub(crate) fn forget(&mut self, bytes: &Range<usize>) {
        self.cells.drain(self.over(bytes));
    }

    /// Which cells share a byte with a range.
    fn over(&self, bytes: &Range<usize>) -> Range<usize> {
        let first = self.reaching(0, bytes.start);
        first..first + self.cells[first..].partition_point(|cell| cell.start < bytes.end)
    }

    /// The first cell from `from` on that ends behind the start of something.
    fn reaching(&self, from: usize, start: usize) -> usize {
        from + self.cells[from..].partition_point(|cell| cell.end <= start)
    }

    /// How many cells there are.
    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Puts other lists in the place of all, and forgets bytes for which there is none.
    pub(super) fn replace(&mut self, mut with: impl FnMut(List) -> Option<List>) {
        self.cells.retain_mut(|cell| {
            let list = with(cell.accesses);
            cell.accesses = list.unwrap_or(cell.accesses);
            list.is_some()
        });
    }
}

impl Cell {
    /// The part before a byte, which is not all behind it, and the part from there on if there is any.
    fn cut(self, at: usize) -> (Self, Option<Self>) {
        if self.end <= at {
            (self, None)
        } else {
            (Self { end: at, ..self }, Some(Self { start: at, ..self }))
        }
    }
}

/// An access on its way over a memory.
#[derive(Debug)]
pub(super) struct Visitor<'a> {
    notes: &'a mut Notes,
    note: Note,
    /// The list of this access and no other.
    alone: List,
    /// What is before the operation.
    clock: &'a Clock,
    /// What the host knows.
    host: &'a Clock,
    /// What it races with so far.
    conflicts: Vec<Conflict>,
}

impl<'a> Visitor<'a> {
    pub(super) fn new(note: Note, notes: &'a mut Notes, clock: &'a Clock, host: &'a Clock) -> Self {
        let alone = notes.list(note, None);
        Self { notes, note, alone, clock, host, conflicts: Vec::new() }
    }

    /// Touches all bytes of a cell: finds what the access races with. The accesses to the cell from now on that can still matter.
    fn meet(&mut self, cell: Cell) -> List {
        let (clock, host, writes, of_pageable) =
            (self.clock, self.host, self.note.writes(), self.note.of_pageable);
        // Pageable memory may be read before what is before the upload, if the host has not waited for that.
        let known = if of_pageable { host } else { clock };
        let bytes = cell.start..cell.end;
        find_conflicts(self.notes, cell.accesses, writes, known, bytes, &mut self.conflicts);
        let matters = |earlier: &Note| {
            // Under some profiles such a read is over when its call returns, and then others before it are not.
            let takes_place = (writes || !earlier.writes()) && (!of_pageable || earlier.of_pageable);
            !(if takes_place { clock } else { host }).knows(earlier.position)
        };
        match self.notes.kept(cell.accesses, &matters) {
            None => self.alone,
            before => self.notes.list(self.note, before),
        }
    }
}

/// One conflict an operation, with the first bytes.
fn find_conflicts(
    notes: &Notes,
    earlier: List,
    write: bool,
    clock: &Clock,
    shared: Range<usize>,
    conflicts: &mut Vec<Conflict>,
) {
    let races = |note: &&Note| (note.writes() || write) && !clock.knows(note.position);
    if notes.of(earlier).find(races).is_none() {
        return;
    }
    let found: SmallVec<[&Note; 4]> = notes.of(earlier).filter(races).collect();
    // The oldest first.
    for with in found.into_iter().rev() {
        if conflicts.iter().all(|known| known.with.operation.number != with.operation.number) {
            conflicts.push(Conflict { with: *with, bytes: shared.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;
    use crate::{
        finding::{Access, Operation},
        judge::lanes::Lanes,
        rng::SplitMix64,
    };

    /// Random accesses on three lanes, with waits and sweeps, against a list of all accesses to each byte. What is forgotten makes no
    /// byte look free of races that is not.
    #[test]
    fn finds_races_where_a_list_for_each_byte_has_some() {
        let (mut rng, mut races, mut sweeps) = (SplitMix64::new(3), 0, 0);
        for _ in 0..100 {
            let (mut lanes, mut notes, mut shadow) = (Lanes::default(), Notes::default(), Shadow::default());
            let mut all: Vec<(Bytes, Note)> = Vec::new();
            for number in 0..200 {
                let lane = rng.below(3);
                let position = lanes.issue(lane);
                let location = Location::caller();
                let operation = Operation { number, kind: "copy", stream: Some(lane), location };
                match rng.below(12) {
                    0 => lanes.host_waited_for_lane(lane),
                    1..5 => {
                        let event = lanes.record(position, operation, None);
                        lanes.wait(rng.below(3).min(lane), &event, operation);
                    }
                    _ => {
                        let access = if rng.below(2) == 0 { Access::Read } else { Access::Write };
                        let (start, stride) = (rng.below(20), 6 + rng.below(6));
                        let bytes: Bytes = (0..1 + rng.below(4))
                            .map(|k| start + k * stride..start + k * stride + 5)
                            .collect();
                        let note = Note::new(position, operation, access);
                        let (clock, host) = (lanes.clock(lane), lanes.host());
                        let found = shadow.touch(&bytes, Visitor::new(note, &mut notes, clock, host));
                        let races_with = |(other, earlier): &&(Bytes, Note)| {
                            (note.writes() || earlier.writes())
                                && !clock.knows(earlier.position)
                                && !bytes.common(other).pieces().is_empty()
                        };
                        let expected: Vec<&Note> =
                            all.iter().filter(races_with).map(|(_, note)| note).collect();
                        assert_eq!(found.is_empty(), expected.is_empty(), "{number}: {found:?}");
                        assert!(found.iter().all(|conflict| expected.contains(&&conflict.with)));
                        races += found.len();
                        all.push((bytes, note));
                        if rng.below(10) == 0 {
                            notes.sweep(host, std::iter::once(&mut shadow));
                            sweeps += 1;
                        }
                    }
                }
                assert!(shadow.cells.windows(2).all(|pair| pair[0].end <= pair[1].start), "{shadow:?}");
            }
        }
        assert!(races > 1000 && sweeps > 500, "{races} {sweeps}");
    }
}
