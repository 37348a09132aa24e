//! Splits a gather or scatter into parts for several threads.

use std::ops::Range;

use super::Gathering;

impl Gathering<'_> {
    /// The number of indices that are looked up: one per position. If neither the index nor the
    /// mask changes along the last axis, the positions along it count as one.
    #[must_use]
    pub fn picks(&self) -> usize {
        let (_, outer) = self.split();
        self.shape[..outer].iter().product()
    }

    /// The number of picks in a group of a scatter. Picks of one group may write to one element, so
    /// their order counts. Picks of different groups write to different elements, because the first
    /// axes, along which groups differ, are axes of the indexed array as well.
    #[must_use]
    pub fn picks_in_order(&self) -> usize {
        let (_, outer) = self.split();
        let strides = self.indexed.strides();
        let apart = |&axis: &usize| self.shape[axis] == 1 || strides[axis] != 0;
        let own = (0..outer).take_while(apart).count();
        self.shape[own..outer].iter().product()
    }

    /// The distances in bytes, from the element of index 0, that fall into one of `of` shares of the indexed
    /// array. Each distance is in one share.
    pub(super) fn distances_of_share(&self, share: usize, of: usize) -> Range<i64> {
        let (mut least, mut most) = (0_i128, 0_i128);
        for axis in self.indexed_axes {
            let reach = (axis.extent as i128 - 1) * axis.stride as i128 * self.width_bytes as i128;
            least += reach.min(0);
            most += reach.max(0);
        }
        let len = most + 1 - least;
        let start = |share: usize| least + len * share as i128 / of as i128;
        // Distances between elements in memory fit.
        let narrow = |distance: i128| i64::try_from(distance).unwrap_or(i64::MAX);
        narrow(start(share))..narrow(start(share + 1))
    }
}
