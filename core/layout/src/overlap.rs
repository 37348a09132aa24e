//! Indices that share an element: within one layout, and between two.
//!
//! Both questions come down to integer equations with bounds, which in the worst case cost
//! exponential time. The search is exact and stops after 10,000 candidates. Layouts made from a
//! dense one by the transforms of this crate need far fewer. A caller that gets `Unknown` must
//! assume the worst.

use smallvec::SmallVec;

use super::{
    INLINE_RANK, Layout,
    subset_sum::{Answer, SubsetSum},
};

/// Whether different indices of a layout reach different elements, so that it may be written
/// through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "complete by nature")]
pub enum Injectivity {
    /// No two indices share an element.
    Injective,
    /// Some two indices share an element.
    Aliased,
    /// The answer would be too costly.
    Unknown,
}

/// Whether two layouts on the same memory share an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "complete by nature")]
pub enum Overlap {
    /// No element is reached by both layouts.
    Disjoint,
    /// Some element is reached by both layouts.
    Overlapping,
    /// The answer would be too costly.
    Unknown,
}

impl Layout {
    /// Whether different indices reach different elements. An empty layout is injective.
    ///
    /// The answer is never wrong; it is [`Injectivity::Unknown`] if deciding would take more than
    /// 10,000 steps.
    #[must_use]
    #[inline]
    pub fn injectivity(&self) -> Injectivity {
        if self.clears_backwards() {
            return Injectivity::Injective;
        }
        let mut loops: SmallVec<[(usize, usize); INLINE_RANK]> = self.loops().collect();
        // This decides all layouts except interleaved ones.
        loops.sort_unstable();
        if clears(&loops) {
            return Injectivity::Injective;
        }
        let equal_steps = loops.windows(2).any(|pair| pair[0].0 == pair[1].0);
        if loops[0].0 == 0 || equal_steps || self.len > self.end - self.start {
            return Injectivity::Aliased;
        }
        // Two indices share an element if their differences, each from −`last` to `last`, sum to 0.
        // Shifted by `last`, the question is whether numbers from 0 to twice `last`, not all of
        // them `last`, have the same sum as if all were `last`.
        match SubsetSum::new(loops.into_iter().map(|(step, last)| (step, 2 * last))).reach_middle_otherwise()
        {
            Answer::Yes => Injectivity::Aliased,
            Answer::No => Injectivity::Injective,
            Answer::TooCostly => Injectivity::Unknown,
        }
    }

    /// Whether each axis, from the last to the first, steps over the span of the axes after it, as
    /// in C order. This decides most layouts without sorting.
    fn clears_backwards(&self) -> bool {
        let mut reach = 0;
        let mut axes = self.shape.iter().zip(&self.strides).rev().filter(|&(&extent, _)| extent > 1);
        // All sums are inside the span, so nothing overflows.
        self.is_empty()
            || axes.all(|(&extent, stride)| {
                let (step, before) = (stride.unsigned_abs(), reach);
                reach += step * (extent - 1);
                step > before
            })
    }

    /// Whether both have one shape, and equal strides. Then each index leads to the same element in
    /// both, if the first index does. Strides that no step takes do not count: the strides of axes
    /// of extent 1, and all strides of an empty layout.
    ///
    /// ```
    /// use devarray::Layout;
    ///
    /// let column = Layout::new(&[3, 1], &[2, 1], 0)?;
    /// assert!(column.steps_like(&Layout::new(&[3, 1], &[2, 7], 5)?));
    /// assert!(!column.steps_like(&Layout::new(&[3, 1], &[1, 1], 0)?));
    /// # Ok::<(), devarray::LayoutError>(())
    /// ```
    #[must_use]
    pub fn steps_like(&self, other: &Self) -> bool {
        let mut axes = self.shape.iter().zip(self.strides.iter().zip(&other.strides));
        self.shape == other.shape
            && (self.is_empty() || axes.all(|(&extent, (own, others))| extent == 1 || own == others))
    }

    /// Whether both layouts, put on the same memory, reach a common element. An empty layout
    /// reaches none.
    ///
    /// The answer is never wrong; it is [`Overlap::Unknown`] if deciding would take more than
    /// 10,000 steps. Elements are compared, so both must count the same element size.
    #[doc(alias = "may_share_memory", alias = "shares_memory")]
    #[must_use]
    pub fn overlap(&self, other: &Self) -> Overlap {
        if self.start.max(other.start) >= self.end.min(other.end) {
            return Overlap::Disjoint;
        }
        if self.offset == other.offset {
            // Both reach the element at index (0, 0, …).
            return Overlap::Overlapping;
        }
        // Axes of `self` are counted upwards from its lowest element, axes of `other` downwards
        // from its highest: start + x0 * step0 + … = (end - 1) - y0 * step0 - …
        let sums = SubsetSum::new(self.loops().chain(other.loops()).filter(|&(step, _)| step != 0));
        match sums.reach(other.end - 1 - self.start) {
            Answer::Yes => Overlap::Overlapping,
            Answer::No => Overlap::Disjoint,
            Answer::TooCostly => Overlap::Unknown,
        }
    }

    /// For each axis with more than one position, the distance between neighbours and the last
    /// position. An empty layout has none.
    pub(super) fn loops(&self) -> impl Iterator<Item = (usize, usize)> {
        let axes = self.shape.iter().zip(&self.strides);
        axes.filter(|&(&extent, _)| extent > 1 && !self.is_empty())
            .map(|(&extent, &stride)| (stride.unsigned_abs(), extent - 1))
    }
}

/// Whether each step exceeds the sum that the smaller steps can reach; then no two indices lead to
/// one element. The loops are given as (step, last), the smallest first.
#[doc(hidden)]
#[must_use]
pub fn clears(steps: &[(usize, usize)]) -> bool {
    let mut reach = 0;
    steps.iter().all(|&(step, last)| {
        let clear = step > reach;
        reach += step * last;
        clear
    })
}
