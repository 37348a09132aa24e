//! Loops under which several operands move at once, for authors of loops over strided memory. They are
//! reduced to as few loops as possible.
//!
//! An operand of a copy, a function, a reduction or a gather has a start and, in each loop, a
//! stride. A change of the loops changes all operands, so that each step still brings the
//! same elements together:
//!
//! | operation | keeps |
//! |---|---|
//! | [`drop_units`](Nest::drop_units) | the order of steps: a loop of one step moves nothing |
//! | [`merge`](Nest::merge) | the order of steps |
//! | [`take_run`](Nest::take_run), [`halves`](Nest::halves) | the order of steps, over both parts |
//! | [`forward`](Nest::forward), [`sort`](Nest::sort) | which elements come together, not when |
//!
//! Numbers of steps, and distances between positions that exist, must fit `isize`; the caller
//! vouches for that, in the unit of its strides. Up to [`INLINE_RANK`](super::INLINE_RANK) loops,
//! and four operands of [`Strided`] loops, need no heap.

use std::{
    cmp::Reverse,
    ops::{Deref, DerefMut},
};

use smallvec::SmallVec;

use super::Axes;

/// One loop: its number of steps, and how far each operand moves per step.
pub trait Loop: Clone {
    /// Number of steps.
    fn extent(&self) -> usize;

    /// The distance that each operand moves per step. All loops of a nest list their operands in
    /// one order.
    fn strides(&self) -> impl AsRef<[isize]>;

    /// A loop of `extent` steps, with each stride changed.
    #[must_use]
    fn changed(&self, extent: usize, stride: impl FnMut(isize) -> isize) -> Self;

    /// A loop with the same number of steps, in which each step is as long as `steps` steps of this
    /// one. Strides may wrap if no two positions are that far apart.
    #[must_use]
    fn every(&self, steps: usize) -> Self {
        self.changed(self.extent(), |stride| stride.wrapping_mul(steps.cast_signed()))
    }

    /// The distances from the first step to the last, as strides.
    #[must_use]
    fn reach(&self) -> Self {
        self.every(self.extent().wrapping_sub(1))
    }

    /// Merges the next inner loop into this one, if this one continues it for every operand.
    fn merge(&mut self, inner: &Self) -> bool {
        let steps = inner.extent().cast_signed();
        let goes_on = |(&outer, &inner): (&isize, &isize)| inner.checked_mul(steps) == Some(outer);
        let continues = self.strides().as_ref().iter().zip(inner.strides().as_ref()).all(goes_on);
        if continues {
            *self = inner.changed(self.extent() * inner.extent(), |stride| stride);
        }
        continues
    }
}

/// One stride for each operand.
pub type Strides = SmallVec<[isize; 4]>;

/// A loop with known steps and strides, and nothing else. With a fixed number of operands, `S` is
/// an array.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "complete by nature")]
pub struct Strided<S = Strides> {
    /// Number of steps.
    pub extent: usize,
    /// The distance that each operand moves per step.
    pub strides: S,
}

impl<S: AsRef<[isize]> + AsMut<[isize]> + Clone> Loop for Strided<S> {
    fn extent(&self) -> usize {
        self.extent
    }

    fn strides(&self) -> impl AsRef<[isize]> {
        self.strides.as_ref()
    }

    fn changed(&self, extent: usize, mut stride: impl FnMut(isize) -> isize) -> Self {
        let mut strides = self.strides.clone();
        strides.as_mut().iter_mut().for_each(|each| *each = stride(*each));
        Self { extent, strides }
    }
}

/// Loops, the outermost first. Without loops there is a single step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nest<L>(Axes<L>);

impl<L: Loop> Nest<L> {
    /// The number of all steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.iter().map(L::extent).product()
    }

    /// Drops all loops of one step.
    pub fn drop_units(&mut self) {
        self.retain(|each| each.extent() != 1);
    }

    /// Walks each loop along which `operand` goes backwards from its other end. Its strides then
    /// have the other sign. `moved` gets, as the strides of a loop, the distances by which the
    /// starts of the operands move.
    pub fn forward(&mut self, operand: usize, mut moved: impl FnMut(&L)) {
        for each in self.iter_mut() {
            if each.strides().as_ref()[operand] < 0 {
                moved(&each.reach());
                *each = each.changed(each.extent(), isize::wrapping_neg);
            }
        }
    }

    /// Sorts by a key, the largest outermost. Loops with equal keys stay in order.
    pub fn sort<K: Ord>(&mut self, mut key: impl FnMut(&L) -> K) {
        self.sort_by_key(|each| Reverse(key(each)));
    }

    /// Merges neighbours that continue each other for every operand.
    pub fn merge(&mut self) {
        self.dedup_by(|inner, outer| outer.merge(inner));
    }

    /// Takes the innermost loop out if each operand moves by the given stride, and returns its
    /// number of steps.
    #[inline]
    pub fn take_run<const N: usize>(&mut self, strides: [isize; N]) -> Option<usize> {
        let last = self.last()?;
        let extent = last.extent();
        // They are compared one by one: just after they were written, this is faster than comparing
        // all at once.
        if !last.strides().as_ref().iter().eq(&strides) {
            return None;
        }
        self.pop();
        Some(extent)
    }

    /// The loop with the most steps; the innermost if there are several.
    #[must_use]
    pub fn longest(&self) -> Option<usize> {
        (0..self.len()).max_by_key(|&at| self[at].extent())
    }

    /// Cuts a loop of two steps or more in the middle, or at the next multiple of `multiple`, but
    /// before the last step. Returns both parts, and, as the strides of a loop, the distances from
    /// the start of the first to the start of the second.
    #[must_use]
    pub fn halves(&self, at: usize, multiple: usize) -> ([Self; 2], L) {
        let whole = &self[at];
        let half = (whole.extent() / 2).next_multiple_of(multiple).min(whole.extent() - 1);
        let mut parts = [self.clone(), self.clone()];
        for (part, extent) in parts.iter_mut().zip([half, whole.extent() - half]) {
            part[at] = whole.changed(extent, |stride| stride);
        }
        (parts, whole.every(half))
    }
}

impl<L> Default for Nest<L> {
    fn default() -> Self {
        Self(Axes::new())
    }
}

impl<L> Deref for Nest<L> {
    type Target = Axes<L>;

    fn deref(&self) -> &Axes<L> {
        &self.0
    }
}

impl<L> DerefMut for Nest<L> {
    fn deref_mut(&mut self) -> &mut Axes<L> {
        &mut self.0
    }
}

impl<L> FromIterator<L> for Nest<L> {
    fn from_iter<I: IntoIterator<Item = L>>(loops: I) -> Self {
        Self(loops.into_iter().collect())
    }
}
