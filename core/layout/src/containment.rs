//! Whether the elements of one layout are among those of another.

use std::cmp::Reverse;

use super::{Axes, Layout};

impl Layout {
    /// Whether this layout, with elements of `item_bytes`, reaches every byte of `other`, with
    /// elements of `other_bytes`.
    ///
    /// Exact for every layout made from this one by slices, permutations, flips, reshapes,
    /// diagonals and repetitions. `false` for layouts that reach its elements in another way, and
    /// if its own axes interleave. The work depends on the ranks alone.
    #[doc(hidden)]
    pub fn contains_elements(&self, item_bytes: usize, other: &Self, other_bytes: usize) -> bool {
        other.is_empty() || (!self.is_empty() && self.covers_some(item_bytes, other, other_bytes).is_some())
    }

    fn covers_some(&self, item_bytes: usize, other: &Self, other_bytes: usize) -> Option<()> {
        let mine = Steps::of(self, item_bytes)?.nested()?;
        let theirs = Steps::of(other, other_bytes)?;
        let origin = theirs.low.checked_sub(mine.low)?;
        let first = mine.digits(origin)?;
        let (mut low, mut high) = (first.clone(), first.clone());
        for &(step, extent) in theirs.axes.iter().filter(|&&(_, extent)| extent > 1) {
            // How one step changes the digits; each that follows must do the same.
            let second = mine.digits(origin.checked_add(step)?)?;
            for (digit, (&from, &to)) in first.iter().zip(&second).enumerate() {
                let reach = from.abs_diff(to).checked_mul(extent - 1)?;
                let end = if to < from { &mut low[digit] } else { &mut high[digit] };
                *end = if to < from { end.checked_sub(reach)? } else { end.checked_add(reach)? };
            }
        }
        high.iter().zip(&mine.axes).all(|(&high, &(_, extent))| high < extent).then_some(())
    }
}

/// The bytes of a layout: the lowest, then along each axis steps of a number of bytes. A step is 0
/// where elements repeat.
struct Steps {
    low: usize,
    axes: Axes<(usize, usize)>,
}

impl Steps {
    /// The steps of a layout that is not empty; `None` if they do not fit `usize`.
    fn of(layout: &Layout, item_bytes: usize) -> Option<Self> {
        let mut axes = Axes::new();
        for (&extent, &stride) in layout.shape.iter().zip(&layout.strides) {
            if extent > 1 {
                axes.push((stride.unsigned_abs().checked_mul(item_bytes)?, extent));
            }
        }
        axes.push((1, item_bytes));
        Some(Self { low: layout.start.checked_mul(item_bytes)?, axes })
    }

    /// Merges steps where possible and sorts them, widest first. `None` if a step is not wider than
    /// the span of the shorter ones.
    fn nested(mut self) -> Option<Self> {
        self.axes.sort_unstable_by_key(|&(step, _)| Reverse(step));
        self.axes.dedup_by(|inner, outer| {
            let continues = inner.0.checked_mul(inner.1) == Some(outer.0);
            if continues && let Some(extent) = inner.1.checked_mul(outer.1) {
                *outer = (inner.0, extent);
                return true;
            }
            false
        });
        let mut reach = 0_usize;
        for &(step, extent) in self.axes.iter().rev() {
            if step <= reach {
                return None;
            }
            reach = reach.checked_add(step.checked_mul(extent - 1)?)?;
        }
        Some(self)
    }

    /// How many steps along each axis lead from the lowest byte to the byte `distance` above it;
    /// `None` if no steps do. There is one way at most, because the axes are nested.
    fn digits(&self, distance: usize) -> Option<Axes<usize>> {
        let mut left = distance;
        let mut digits = Axes::new();
        for &(step, extent) in &self.axes {
            let digit = left / step;
            if digit >= extent {
                return None;
            }
            left -= digit * step;
            digits.push(digit);
        }
        (left == 0).then_some(digits)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{IndexItem, ix};

    /// The bytes of a layout, one by one.
    fn bytes(layout: &Layout, item_bytes: usize) -> BTreeSet<usize> {
        let mut places = vec![layout.offset().cast_signed()];
        for (&extent, &stride) in layout.shape().iter().zip(layout.strides()) {
            let steps = |at: &isize| (0..extent.cast_signed()).map(|k| at + k * stride).collect::<Vec<_>>();
            places = places.iter().flat_map(steps).collect();
        }
        places
            .iter()
            .flat_map(|at| (0..item_bytes).map(move |k| at.cast_unsigned() * item_bytes + k))
            .collect()
    }

    fn wholes() -> Vec<Layout> {
        let mut all = Vec::new();
        for (shape, strides) in [
            ([3, 4], [4, 1]),
            ([3, 4], [10, 2]),
            ([3, 4], [-10, 2]),
            ([3, 4], [1, 5]),
            ([4, 4], [6, 1]),
            ([1, 4], [3, -3]),
            ([4, 3], [3, 2]),
            ([2, 2], [1, 1]),
            ([0, 2], [1, 1]),
        ] {
            all.extend([30, 31].map(|offset| Layout::new(&shape, &strides, offset).unwrap()));
        }
        all
    }

    /// One byte has no axis along which anything is stepped.
    #[test]
    fn a_single_byte_covers_itself() {
        for shape in [&[][..], &[1], &[1, 1]] {
            let one = Layout::new(shape, &vec![1; shape.len()], 7).unwrap();
            assert!(one.contains_elements(1, &one, 1));
            let next = Layout::new(shape, &vec![1; shape.len()], 8).unwrap();
            assert!(!one.contains_elements(1, &next, 1) && !next.contains_elements(1, &one, 1));
        }
    }

    #[test]
    fn never_covers_a_byte_of_somebody_else() {
        let (mut covered, mut refused) = (0, 0);
        for whole in wholes() {
            let mine = bytes(&whole, 2);
            for shape in [[1, 3], [2, 2], [3, 2], [2, 4]] {
                for outer in -12..=12 {
                    for inner in [-5, -3, -2, -1, 0, 1, 2, 4] {
                        for offset in 18..48 {
                            let Ok(part) = Layout::new(&shape, &[outer, inner], offset) else { continue };
                            for (part_bytes, item) in [(bytes(&part, 2), 2), (bytes(&part, 1), 1)] {
                                let found = whole.contains_elements(2, &part, item);
                                assert!(!found || part_bytes.is_subset(&mine), "{part:?} in {whole:?}");
                                covered += usize::from(found);
                                refused += usize::from(!found && part_bytes.is_disjoint(&mine));
                            }
                        }
                    }
                }
            }
        }
        assert!(covered > 10_000 && refused > 10_000, "{covered} {refused}");
    }

    #[test]
    fn covers_what_transforms_make_of_it() {
        let indices: [[IndexItem; 2]; 6] =
            [ix![.., ..], ix![1, ..], ix![.., ..;2], ix![..;-1, 1..], ix![.., 2], ix![..;2, ..;-3]];
        // A layout whose own axes interleave covers nothing that it can tell.
        for whole in wholes().iter().filter(|whole| !matches!(whole.strides(), [3, 2] | [1, 1])) {
            let mut parts = vec![whole.clone(), whole.transpose(), whole.flip(&[0, 1]).unwrap()];
            parts.extend(indices.iter().filter_map(|index| whole.index(index).ok()));
            parts.extend(whole.ravel(crate::Order::C));
            let outer = whole.shape()[0];
            parts.extend(whole.reshape(&[outer, 2, 2], crate::Order::C));
            let [rows, columns] = [0, 1].map(|axis| whole.strides()[axis]);
            let extent = whole.shape()[0].min(whole.shape()[1]);
            parts.push(Layout::new(&[extent], &[rows + columns], whole.offset()).unwrap());
            parts.push(Layout::new(&[5], &[0], whole.offset()).unwrap());
            for part in parts.iter().filter(|part| bytes(part, 4).is_subset(&bytes(whole, 4))) {
                assert!(whole.contains_elements(4, part, 4), "{part:?} in {whole:?}");
            }
        }
    }
}
