//! For authors of loops over strided memory: loops under which several operands move at once, brought to
//! as few as possible.
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
//! Numbers of steps and distances of positions that exist fit `isize`; a caller vouches for that,
//! in the unit of its strides. Up to [`INLINE_RANK`](super::INLINE_RANK) loops, and four
//! operands of [`Strided`] ones, live without the heap.

use std::{
    cmp::Reverse,
    ops::{Deref, DerefMut},
};

use smallvec::SmallVec;

use super::Axes;

/// One loop: how often, and how far each operand moves a step.
pub trait Loop: Clone {
    /// Number of steps.
    fn extent(&self) -> usize;

    /// The distance that each operand moves a step, in one order of operands in all loops of a
    /// nest.
    fn strides(&self) -> impl AsRef<[isize]>;

    /// A loop of `extent` steps, with each stride changed.
    #[must_use]
    fn changed(&self, extent: usize, stride: impl FnMut(isize) -> isize) -> Self;

    /// A loop of as many steps, each as long as `steps` of this one. Strides that no position is
    /// apart may wrap.
    #[must_use]
    fn every(&self, steps: usize) -> Self {
        self.changed(self.extent(), |stride| stride.wrapping_mul(steps.cast_signed()))
    }

    /// The distances from the first step to the last, as strides.
    #[must_use]
    fn reach(&self) -> Self {
        self.every(self.extent().wrapping_sub(1))
    }

    /// Extends this loop over the next inner one, if it continues that for every operand.
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

/// One stride for each of any number of operands.
pub type Strides = SmallVec<[isize; 4]>;

/// A loop about which nothing else is known; with a fixed number of operands, `S` is an array.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "complete by nature")]
pub struct Strided<S = Strides> {
    /// Number of steps.
    pub extent: usize,
    /// The distance that each operand moves a step.
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

/// Loops, the outermost first; without any, there is a single step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nest<L>(Axes<L>);

impl<L: Loop> Nest<L> {
    /// Steps in all.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.iter().map(L::extent).product()
    }

    /// Drops all loops of one step.
    pub fn drop_units(&mut self) {
        self.retain(|each| each.extent() != 1);
    }

    /// Walks each loop along which an operand goes backwards from its other end. Strides then have
    /// the other sign; `moved` gets the distances by which the starts of the operands move, as the
    /// strides of a loop.
    pub fn forward(&mut self, operand: usize, mut moved: impl FnMut(&L)) {
        for each in self.iter_mut() {
            if each.strides().as_ref()[operand] < 0 {
                moved(&each.reach());
                *each = each.changed(each.extent(), isize::wrapping_neg);
            }
        }
    }

    /// Sorts by a key, the largest outermost; loops of one key stay in order.
    pub fn sort<K: Ord>(&mut self, mut key: impl FnMut(&L) -> K) {
        self.sort_by_key(|each| Reverse(key(each)));
    }

    /// Merges neighbours that continue each other for every operand.
    pub fn merge(&mut self) {
        self.dedup_by(|inner, outer| outer.merge(inner));
    }

    /// Takes the innermost loop out if each operand moves by its number of these, and returns its
    /// steps.
    #[inline]
    pub fn take_run<const N: usize>(&mut self, strides: [isize; N]) -> Option<usize> {
        let last = self.last()?;
        let extent = last.extent();
        // One by one: numbers that were just written are compared faster so than all at once.
        if !last.strides().as_ref().iter().eq(&strides) {
            return None;
        }
        self.pop();
        Some(extent)
    }

    /// The loop of most steps; the innermost if there are several.
    #[must_use]
    pub fn longest(&self) -> Option<usize> {
        (0..self.len()).max_by_key(|&at| self[at].extent())
    }

    /// Both parts of a loop of two steps or more, cut in the middle or at the next multiple of
    /// `multiple`, but before the last step; and the distances from the start of the first to that
    /// of the second, as the strides of a loop.
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
