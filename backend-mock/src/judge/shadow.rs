//! The accesses to the bytes of a memory, kept as long as a later access can still race with them.

use std::ops::Range;

use smallvec::SmallVec;

use super::{
    access_lists::{AccessLists, HasLists, List, ListedAccess},
    bytes::Bytes,
    cells::{Cell, Cells, NewCells},
    clock::Clock,
    lanes::Lanes,
    strided::{Parts, Strided, first_range},
};

/// A race: bytes that two accesses share, and the earlier of the two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) with: ListedAccess,
    pub(crate) bytes: Range<usize>,
}

/// The accesses of one memory, for each byte.
///
/// An access is forgotten when every later operation that could race with it would also race with
/// one that is kept:
/// - a write replaces everything that is ordered before it;
/// - a read replaces reads that are ordered before it;
/// - everything that all hosts have waited for is ordered before everything that is issued from now
///   on. Work that one of several hosts has waited for may race with other hosts.
///
/// So each byte keeps at most two accesses for each stream, and a shadow does not grow with the
/// number of operations.
#[derive(Debug, Default)]
pub(crate) struct Shadow(Cells<List>);

impl Shadow {
    /// Notes an access, and returns the earlier accesses that it races with: both touch a common
    /// byte, one of the two writes, and the new one is not ordered after them.
    pub(super) fn touch(&mut self, bytes: &Bytes, mut visitor: Visitor<'_>) -> Vec<Conflict> {
        let over = self.0.over(&bytes.span());
        if let Some(set) = bytes.only_set() {
            if let Some(cell) = self.0.only(&over, set) {
                // These bytes were touched together before.
                cell.value = visitor.meet(cell.value, set.first_run());
                return visitor.into_conflicts();
            }
            if set.is_range() && self.0.are_ranges(&over) {
                self.touch_range(set.span(), over, &mut visitor);
                return visitor.into_conflicts();
            }
        }
        let mut new = NewCells::new();
        for set in bytes.sets() {
            self.touch_set(set, &mut visitor, &mut new);
        }
        self.0.left_by(over.clone(), bytes.cells(), &mut new);
        self.0.replace(over, new);
        visitor.into_conflicts()
    }

    /// Touches a range whose cells are all ranges.
    fn touch_range(&mut self, range: Range<usize>, over: Range<usize>, visitor: &mut Visitor<'_>) {
        let mut new = SmallVec::<[(Range<usize>, List); 8]>::new();
        let (mut at, mut is_one, mut behind) = (range.start, true, None);
        let mut from = 0;
        for cell in &self.0.all()[over.clone()] {
            let (span, accesses) = (cell.bytes.span(), cell.value);
            if span.start < range.start {
                new.push((span.start..range.start, accesses));
                from = 1;
            } else if at < span.start {
                new.push((at..span.start, visitor.alone));
            }
            let both = span.start.max(range.start)..span.end.min(range.end);
            at = both.end;
            let met = visitor.meet(accesses, both.clone());
            is_one &= met == visitor.alone;
            new.push((both, met));
            if range.end < span.end {
                behind = Some((range.end..span.end, accesses));
            }
        }
        // A write replaces the accesses that are ordered before it; then the cells are merged.
        if is_one {
            new.truncate(from);
            at = range.start;
        }
        if at < range.end {
            new.push((at..range.end, visitor.alone));
        }
        new.extend(behind);
        self.0.replace_with_ranges(over, &new);
    }

    /// Adds the new cells for the bytes of a set.
    fn touch_set(&self, set: &Strided, visitor: &mut Visitor<'_>, new: &mut NewCells<List>) {
        // A write replaces the accesses that are ordered before it; then the cells are merged.
        let (from, mut is_one) = (new.len(), true);
        let mut shared = Parts::new();
        for cell in self.0.meeting(&set.span()) {
            set.common(&cell.bytes, &mut shared);
            let Some(first) = first_range(&shared) else { continue };
            let accesses = visitor.meet(cell.value, first);
            is_one &= accesses == visitor.alone;
            new.extend(shared.drain(..).map(|bytes| Cell::new(bytes, accesses)));
        }
        if is_one {
            new.truncate(from);
            new.push(Cell::new(set.clone(), visitor.alone));
        } else {
            let untouched = self.0.missing(set).into_iter();
            new.extend(untouched.map(|bytes| Cell::new(bytes, visitor.alone)));
        }
    }

    /// The accesses to `bytes` that race with an operation whose clock is `clock`. The operation is
    /// not noted.
    pub(super) fn conflicts(
        &self,
        bytes: &Range<usize>,
        write: bool,
        clock: &Clock,
        access_lists: &AccessLists,
    ) -> Vec<Conflict> {
        let (mut conflicts, mut shared) = (Vec::new(), Parts::new());
        for cell in self.0.meeting(bytes) {
            cell.bytes.within(bytes, &mut shared);
            if let Some(first) = first_range(&shared) {
                find_conflicts(access_lists, cell.value, write, clock, first, &mut conflicts);
            }
            shared.clear();
        }
        in_order(conflicts)
    }

    /// Like [`conflicts`](Self::conflicts), for exactly these bytes.
    pub(super) fn conflicts_with(
        &self,
        bytes: &Bytes,
        write: bool,
        clock: &Clock,
        access_lists: &AccessLists,
    ) -> Vec<Conflict> {
        let (mut conflicts, mut shared) = (Vec::new(), Parts::new());
        for set in bytes.sets() {
            for cell in self.0.meeting(&set.span()) {
                set.common(&cell.bytes, &mut shared);
                if let Some(first) = first_range(&shared) {
                    find_conflicts(access_lists, cell.value, write, clock, first, &mut conflicts);
                }
                shared.clear();
            }
        }
        in_order(conflicts)
    }

    /// Forgets the accesses to these bytes, and to bytes that were touched together with them.
    pub(crate) fn forget(&mut self, bytes: &Range<usize>) {
        let over = self.0.over(bytes);
        self.0.replace(over, NewCells::new());
    }
}

impl HasLists for Shadow {
    fn len(&self) -> usize {
        self.0.all().len()
    }

    fn replace(&mut self, mut with: impl FnMut(List) -> Option<List>) {
        self.0.retain(|cell| {
            let list = with(cell.value);
            cell.value = list.unwrap_or(cell.value);
            list.is_some()
        });
    }
}

/// An access that visits the cells of a memory.
#[derive(Debug)]
pub(super) struct Visitor<'a> {
    access_lists: &'a mut AccessLists,
    note: ListedAccess,
    /// The list that has only this access.
    alone: List,
    /// The clock of the operation.
    clock: &'a Clock,
    lanes: &'a Lanes,
    /// The conflicts found so far.
    conflicts: Vec<Conflict>,
}

impl<'a> Visitor<'a> {
    pub(super) fn new(note: ListedAccess, access_lists: &'a mut AccessLists, lanes: &'a Lanes) -> Self {
        let alone = access_lists.list(note, None);
        let clock = lanes.clock(note.position.lane);
        Self { access_lists, note, alone, clock, lanes, conflicts: Vec::new() }
    }

    /// Visits bytes of a cell, beginning with `first`: adds the accesses it races with. Returns the
    /// accesses to keep for these bytes.
    fn meet(&mut self, accesses: List, first: Range<usize>) -> List {
        let (clock, lanes, writes, of_pageable) =
            (self.clock, self.lanes, self.note.writes(), self.note.of_pageable);
        // Pageable memory may be read before earlier operations of the stream, if the host has not
        // waited for them.
        let known = if of_pageable { lanes.host() } else { clock };
        find_conflicts(self.access_lists, accesses, writes, known, first, &mut self.conflicts);
        let matters = |earlier: &ListedAccess| {
            // Under some profiles such a read is over when its call returns, while earlier accesses
            // are not.
            let takes_place = (writes || !earlier.writes()) && (!of_pageable || earlier.of_pageable);
            let position = earlier.position;
            let is_past = takes_place && clock.knows(position) || lanes.all_hosts_know(position);
            !is_past
        };
        match self.access_lists.kept(accesses, &matters) {
            None => self.alone,
            before => self.access_lists.list(self.note, before),
        }
    }

    fn into_conflicts(self) -> Vec<Conflict> {
        in_order(self.conflicts)
    }
}

/// Sorts by the first bytes, then by the order of issue.
fn in_order(mut conflicts: Vec<Conflict>) -> Vec<Conflict> {
    conflicts.sort_by_key(|conflict| (conflict.bytes.start, conflict.with.operation.number));
    conflicts
}

/// Adds a conflict for each operation, with its first bytes.
fn find_conflicts(
    access_lists: &AccessLists,
    earlier: List,
    write: bool,
    clock: &Clock,
    shared: Range<usize>,
    conflicts: &mut Vec<Conflict>,
) {
    let races = |note: &&ListedAccess| (note.writes() || write) && !clock.knows(note.position);
    if access_lists.of(earlier).find(races).is_none() {
        return;
    }
    let found: SmallVec<[&ListedAccess; 4]> = access_lists.of(earlier).filter(races).collect();
    // The oldest first.
    for with in found.into_iter().rev() {
        let conflict = Conflict { with: *with, bytes: shared.clone() };
        let same = |known: &&mut Conflict| known.with.operation.number == with.operation.number;
        match conflicts.iter_mut().find(same) {
            None => conflicts.push(conflict),
            Some(known) if shared.start < known.bytes.start => *known = conflict,
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
