//! Disjoint sets of bytes, each with a value.

use std::ops::Range;

use smallvec::SmallVec;

use super::strided::{Left, Parts, Strided};

/// A set of bytes and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell<T> {
    pub(super) bytes: Strided,
    pub(super) value: T,
    /// The end of this cell and of all cells before it.
    reach: usize,
}

/// Cells that have no byte in common, ordered by first byte. Their spans may overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cells<T>(SmallVec<[Cell<T>; 1]>);

/// Cells that are to replace others.
pub(super) type NewCells<T> = SmallVec<[Cell<T>; 4]>;

impl<T> Cell<T> {
    pub(super) fn new(bytes: Strided, value: T) -> Self {
        Self { bytes, value, reach: 0 }
    }
}

impl<T> Default for Cells<T> {
    fn default() -> Self {
        Self(SmallVec::new())
    }
}

impl<T: Copy> Cells<T> {
    /// One cell.
    pub(super) fn of(bytes: Strided, value: T) -> Self {
        let reach = bytes.end();
        let mut cells = SmallVec::new();
        cells.push(Cell { bytes, value, reach });
        Self(cells)
    }

    pub(super) fn all(&self) -> &[Cell<T>] {
        &self.0
    }

    /// The cells that may have a byte of a span; no other cell has one.
    pub(super) fn over(&self, span: &Range<usize>) -> Range<usize> {
        let first = self.0.partition_point(|cell| cell.reach <= span.start);
        first..first + self.0[first..].partition_point(|cell| cell.bytes.start() < span.end)
    }

    /// The cells whose spans overlap a span.
    pub(super) fn meeting(&self, span: &Range<usize>) -> impl Iterator<Item = &Cell<T>> {
        let start = span.start;
        self.0[self.over(span)].iter().filter(move |cell| start < cell.bytes.end())
    }

    /// The cell with exactly these bytes, if it is the only one in the range [`over`](Self::over).
    pub(super) fn only(&mut self, over: &Range<usize>, bytes: &Strided) -> Option<&mut Cell<T>> {
        match &mut self.0[over.clone()] {
            [cell] if cell.bytes == *bytes => Some(cell),
            _ => None,
        }
    }

    /// The bytes of a set that no cell has.
    pub(super) fn missing(&self, set: &Strided) -> Parts {
        let span = set.span();
        let over = &self.0[self.over(&span)];
        let mut missing = Parts::new();
        if set.is_range() && over.iter().all(|cell| cell.bytes.is_range()) {
            let mut at = span.start;
            for cell in over {
                if at < cell.bytes.start() {
                    missing.push(Strided::of(at..cell.bytes.start()));
                }
                at = at.max(cell.bytes.end());
            }
            if at < span.end {
                missing.push(Strided::of(at..span.end));
            }
            return missing;
        }
        let mut left = Left::of(set.clone());
        over.iter().filter(|cell| span.start < cell.bytes.end()).for_each(|cell| left.take(&cell.bytes));
        missing.extend(left.parts());
        missing
    }

    /// Adds the remainders of some cells after the bytes of other cells are taken away.
    pub(super) fn left_by<U: Copy>(&self, over: Range<usize>, others: &Cells<U>, new: &mut NewCells<T>) {
        for cell in &self.0[over] {
            let left = others.missing(&cell.bytes);
            new.extend(left.into_iter().map(|bytes| Cell::new(bytes, cell.value)));
        }
    }

    /// Replaces old cells by new ones.
    pub(super) fn replace(&mut self, mut old: Range<usize>, mut new: NewCells<T>) {
        // The remainder of a cell may begin after the starts of following cells.
        if let Some(last) = new.iter().map(|cell| cell.bytes.start()).max() {
            let behind = self.0[old.end..].partition_point(|cell| cell.bytes.start() < last);
            new.extend(self.0[old.end..old.end + behind].iter().cloned());
            old.end += behind;
        }
        if new.len() > 1 {
            new.sort_unstable_by_key(|cell| cell.bytes.start());
        }
        let (first, count) = (old.start, new.len());
        let mut new = new.into_iter();
        for (cell, new) in self.0[old.clone()].iter_mut().zip(&mut new) {
            *cell = new;
        }
        if old.len() > count {
            self.0.drain(first + count..old.end);
        } else if old.len() < count {
            self.0.insert_many(old.end, new);
        }
        self.reach_again(first, count);
    }

    /// Whether all of these cells are ranges, as nearly all cells are.
    pub(super) fn are_ranges(&self, over: &Range<usize>) -> bool {
        self.0[over.clone()].iter().all(|cell| cell.bytes.is_range())
    }

    /// Like [`replace`](Self::replace), for new ranges that are in order and end before the cell
    /// after the old ones.
    pub(super) fn replace_with_ranges(&mut self, old: Range<usize>, new: &[(Range<usize>, T)]) {
        let mut cells = new.iter().map(|(range, value)| Cell::new(Strided::of(range.clone()), *value));
        for (cell, new) in self.0[old.clone()].iter_mut().zip(&mut cells) {
            *cell = new;
        }
        if old.len() > new.len() {
            self.0.drain(old.start + new.len()..old.end);
        } else if old.len() < new.len() {
            self.0.insert_many(old.end, cells);
        }
        self.reach_again(old.start, new.len());
    }

    /// Keeps only the cells for which the function returns true.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&mut Cell<T>) -> bool) {
        self.0.retain(|cell| keep(cell));
        self.reach_again(0, self.0.len());
    }

    /// Updates `reach` after `count` cells from `first` on have changed.
    fn reach_again(&mut self, first: usize, count: usize) {
        let mut reach = if first == 0 { 0 } else { self.0[first - 1].reach };
        for (index, cell) in self.0[first..].iter_mut().enumerate() {
            reach = reach.max(cell.bytes.end());
            if index >= count && cell.reach == reach {
                break;
            }
            cell.reach = reach;
        }
    }
}

impl Cells<()> {
    /// A set of cells from sets that share no byte, in any order.
    pub(super) fn of_parts(parts: Parts) -> Self {
        let mut cells = Self::default();
        cells.replace(0..0, parts.into_iter().map(|bytes| Cell::new(bytes, ())).collect());
        cells
    }
}
