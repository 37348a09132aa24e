//! Lists of the accesses that may still conflict. Each access is kept once for all bytes that it
//! touched.

use smallvec::SmallVec;

use super::{clock::Position, lanes::Lanes};
use crate::finding::{Access, Operation};

/// The number of links at which the first sweep removes those that no longer matter.
const FIRST_SWEEP: usize = 64;

/// An access that a later one may race with, or the allocation or free of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListedAccess {
    pub(crate) position: Position,
    pub(crate) operation: Operation,
    pub(crate) access: Access,
    /// Whether it reads the source of an upload of pageable memory.
    pub(crate) of_pageable: bool,
}

impl ListedAccess {
    pub(crate) fn new(position: Position, operation: Operation, access: Access) -> Self {
        Self { position, operation, access, of_pageable: false }
    }

    /// The name that findings give it.
    pub(crate) fn named(&self) -> (Operation, Access) {
        (self.operation, self.access)
    }

    pub(super) fn writes(&self) -> bool {
        self.access == Access::Write
    }
}

/// A list of accesses, identified by its newest. Lists share common parts, and never change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct List(usize);

/// A memory's accesses, as lists.
pub(super) trait HasLists {
    /// The number of lists, each counted as often as it occurs.
    fn len(&self) -> usize;

    /// Replaces every list, and forgets bytes that get no list.
    fn replace(&mut self, with: impl FnMut(List) -> Option<List>);
}

/// An access, and the list of the accesses before it.
#[derive(Debug, Clone, Copy)]
struct Link {
    note: ListedAccess,
    before: Option<List>,
}

/// All lists of accesses.
#[derive(Debug)]
pub(super) struct AccessLists {
    links: Vec<Link>,
    sweep_at: usize,
}

impl Default for AccessLists {
    fn default() -> Self {
        Self { links: Vec::with_capacity(FIRST_SWEEP / 4), sweep_at: FIRST_SWEEP }
    }
}

impl AccessLists {
    /// The list of one access and, before it, another list.
    pub(super) fn list(&mut self, note: ListedAccess, before: Option<List>) -> List {
        self.links.push(Link { note, before });
        List(self.links.len() - 1)
    }

    /// The accesses of a list, the newest first.
    pub(super) fn of(&self, list: List) -> impl Iterator<Item = &ListedAccess> {
        let mut next = Some(list);
        std::iter::from_fn(move || {
            let link = &self.links[next?.0];
            next = link.before;
            Some(&link.note)
        })
    }

    /// A list with only the accesses to keep.
    pub(super) fn kept(&mut self, list: List, keep: &impl Fn(&ListedAccess) -> bool) -> Option<List> {
        // All streams of a program may read the same bytes, so a list is not walked by recursion.
        let mut chain: SmallVec<[List; 16]> = SmallVec::new();
        let mut next = Some(list);
        while let Some(list) = next {
            chain.push(list);
            next = self.links[list.0].before;
        }
        let mut kept = None;
        for list in chain.into_iter().rev() {
            let Link { note, before } = self.links[list.0];
            kept = match keep(&note) {
                true if kept == before => Some(list),
                true => Some(self.list(note, kept)),
                false => kept,
            };
        }
        kept
    }

    /// Whether it is time for a [sweep](Self::sweep).
    pub(super) fn are_many(&self) -> bool {
        self.links.len() >= self.sweep_at
    }

    /// Forgets accesses that all hosts know, or that no shadow has any more. `shadows` must be all
    /// shadows.
    pub(super) fn sweep<'a, S: HasLists + 'a>(
        &mut self,
        lanes: &Lanes,
        shadows: impl Iterator<Item = &'a mut S>,
    ) {
        let mut swept = Self::default();
        let mut lists = vec![None; self.links.len()];
        let mut cells = 0;
        for shadow in shadows {
            shadow.replace(|list| self.moved(list, &mut swept, lanes, &mut lists));
            cells += shadow.len();
        }
        // A sweep visits all cells, so the next one comes only after a number of operations in
        // proportion to them.
        swept.sweep_at = FIRST_SWEEP.max(2 * swept.links.len()).max(cells / 8);
        *self = swept;
    }

    /// The corresponding list among the swept ones. It is added if it is not there.
    fn moved(
        &self,
        list: List,
        swept: &mut Self,
        lanes: &Lanes,
        lists: &mut [Option<Option<List>>],
    ) -> Option<List> {
        let mut chain: SmallVec<[List; 16]> = SmallVec::new();
        let (mut next, mut moved) = (Some(list), None);
        while let Some(list) = next {
            if let Some(known) = lists[list.0] {
                moved = known;
                break;
            }
            chain.push(list);
            next = self.links[list.0].before;
        }
        for list in chain.into_iter().rev() {
            let note = self.links[list.0].note;
            if !lanes.all_hosts_know(note.position) {
                moved = Some(swept.list(note, moved));
            }
            lists[list.0] = Some(moved);
        }
        moved
    }

    /// The number of links, and the number at which the next sweep is made.
    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.links.len(), self.sweep_at)
    }
}
