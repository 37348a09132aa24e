//! Whether one layout contains all elements of another.

use super::{Axes, Layout, clears};

impl Layout {
    /// Whether this layout, with elements of `item_bytes`, reaches every byte of `other`, with
    /// elements of `other_bytes`.
    ///
    /// It is exact for every layout made from this one by slices, permutations, flips, reshapes,
    /// diagonals, windows and repetitions. It is `false` for layouts that reach this layout's
    /// elements in another way, and if this layout's own axes interleave. The work depends on the
    /// ranks alone.
    #[doc(hidden)]
    #[must_use]
    pub fn contains_elements(&self, item_bytes: usize, other: &Self, other_bytes: usize) -> bool {
        let holds = |grid: Grid| grid.holds(other, other_bytes) == Some(true);
        other.is_empty() || Grid::of(self, item_bytes).is_some_and(holds)
    }
}

/// The bytes of a layout as a box with the fewest axes, in any order. Steps are positive, and each
/// exceeds the span of the smaller ones, so a byte has at most one index.
///
/// It is not a [`Nest`](super::nest::Nest): a set of positions has no order of steps to keep, so
/// axes also merge where they overlap.
struct Grid {
    start: usize,
    /// Step and last index, the smallest step first.
    axes: Axes<(usize, usize)>,
}

/// One number for each axis of a grid.
type Index = Axes<isize>;

impl Grid {
    /// Makes the grid of a layout. `None` if axes are interleaved, there is no element, or bytes
    /// cannot be counted.
    fn of(layout: &Layout, item_bytes: usize) -> Option<Self> {
        if layout.is_empty() {
            return None;
        }
        isize::try_from(layout.end.checked_mul(item_bytes)?).ok()?;
        let loops = layout.loops().filter(|&(step, _)| step != 0);
        let mut loops: Axes<_> = loops.map(|(step, last)| (step * item_bytes, last)).collect();
        loops.extend((item_bytes > 1).then_some((1, item_bytes - 1)));
        loops.sort_unstable();
        let mut axes: Axes<(usize, usize)> = Axes::new();
        for (step, last) in loops {
            match axes.last_mut() {
                // This axis continues the axis before, or overlaps with it, as windows do. The two
                // make one longer axis.
                Some((below, reached)) if step % *below == 0 && step / *below <= *reached + 1 => {
                    *reached += step / *below * last;
                }
                _ => axes.push((step, last)),
            }
        }
        clears(&axes).then(|| Self { start: layout.start * item_bytes, axes })
    }

    /// The index of a byte, if the grid has it.
    fn index(&self, byte: usize) -> Option<Index> {
        let mut rest = byte.checked_sub(self.start)?;
        let mut index: Index = Axes::from_elem(0, self.axes.len());
        for (at, &(step, last)) in index.iter_mut().zip(&self.axes).rev() {
            let steps = rest / step;
            if steps > last {
                return None;
            }
            *at = steps.cast_signed();
            rest -= steps * step;
        }
        (rest == 0).then_some(index)
    }

    /// Whether the grid has all bytes of a layout, which is not empty. It recognizes only layouts
    /// in which each step is the same change of index everywhere.
    fn holds(&self, layout: &Layout, item_bytes: usize) -> Option<bool> {
        isize::try_from(layout.end.checked_mul(item_bytes)?).ok()?;
        let origin = layout.offset * item_bytes;
        let first = self.index(origin)?;
        let (mut low, mut high) = (first.clone(), first.clone());
        let axes = layout.shape.iter().copied().zip(layout.strides.iter().copied());
        let axes = axes.filter(|&(extent, _)| extent > 1);
        // No stride is longer than the span, which was checked, so the product fits.
        let axes = axes.map(|(extent, stride)| (extent, stride * item_bytes.cast_signed()));
        for (extent, stride) in axes.chain((item_bytes > 1).then_some((item_bytes, 1))) {
            let next = self.index(origin.checked_add_signed(stride)?)?;
            for (axis, (next, first)) in next.iter().zip(&first).enumerate() {
                let reach = (next - first).checked_mul((extent - 1).cast_signed())?;
                let end = if reach < 0 { &mut low[axis] } else { &mut high[axis] };
                *end = end.checked_add(reach)?;
            }
        }
        let ends = low.iter().zip(&high).zip(&self.axes);
        Some(ends.into_iter().all(|((&low, &high), &(_, last))| low >= 0 && high <= last.cast_signed()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{IndexItem, ix};

    /// Lists the bytes of a layout one by one.
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

    /// One byte has no axes, so nothing steps along it.
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
        // If the axes of `whole` interleave, it cannot tell what it contains.
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
