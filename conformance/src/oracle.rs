//! The right answers: plain lists and index maps that share no arithmetic with the library.
//!
//! There are no strides here. A view is a list of its elements' positions in its base, in C order;
//! every transform maps each new index to an old one.

use std::fmt;

/// The positions that a view shows in a base: `places[k]` is the position of its k-th element, in C
/// order, in the base.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    /// Extents, outermost axis first.
    pub shape: Vec<usize>,
    /// One place for each element, in C order.
    pub places: Vec<usize>,
}

impl Picture {
    /// All elements of a C-contiguous base.
    #[must_use]
    pub fn of(shape: &[usize]) -> Self {
        Self { shape: shape.to_vec(), places: (0..shape.iter().product()).collect() }
    }

    /// A picture of `shape` whose element at an index is this one's element at `source(index)`.
    #[must_use]
    pub fn remap(&self, shape: &[usize], source: impl Fn(&[usize]) -> Vec<usize>) -> Self {
        let places = indices(shape).iter().map(|index| self.place(&source(index))).collect();
        Self { shape: shape.to_vec(), places }
    }

    /// The position of the element at `index`.
    fn place(&self, index: &[usize]) -> usize {
        let mut rank_in_c_order = 0;
        for (axis, &at) in index.iter().enumerate() {
            rank_in_c_order = rank_in_c_order * self.shape[axis] + at;
        }
        self.places[rank_in_c_order]
    }

    /// The axes in another order: new axis k is old axis `axes[k]`.
    #[must_use]
    pub fn permute(&self, axes: &[usize]) -> Self {
        let shape: Vec<usize> = axes.iter().map(|&axis| self.shape[axis]).collect();
        self.remap(&shape, |index| {
            let mut old = vec![0; index.len()];
            for (&axis, &at) in axes.iter().zip(index) {
                old[axis] = at;
            }
            old
        })
    }

    /// Every `step`-th index of one axis from `start` on, `count` of them; a negative step walks
    /// back.
    #[must_use]
    pub fn slice(&self, axis: usize, start: usize, step: isize, count: usize) -> Self {
        let mut shape = self.shape.clone();
        shape[axis] = count;
        // A position before the first one is not valid either.
        let walk = std::iter::successors(Some(start), |at| Some(at.wrapping_add_signed(step)));
        let walked: Vec<usize> = walk.take(count).collect();
        self.remap(&shape, |index| {
            let mut old = index.to_vec();
            old[axis] = walked[index[axis]];
            old
        })
    }

    /// One axis reversed.
    #[must_use]
    pub fn flip(&self, axis: usize) -> Self {
        self.slice(axis, self.shape[axis].saturating_sub(1), -1, self.shape[axis])
    }

    /// A new outermost axis along which the elements repeat.
    #[must_use]
    pub fn repeat(&self, extent: usize) -> Self {
        let shape: Vec<usize> = [extent].into_iter().chain(self.shape.iter().copied()).collect();
        self.remap(&shape, |index| index[1..].to_vec())
    }

    /// The elements of `base` that this shows, in C order.
    #[must_use]
    pub fn read<T: Copy>(&self, base: &[T]) -> Vec<T> {
        self.places.iter().map(|&place| base[place]).collect()
    }

    /// Writes `values`, in C order, to the positions of `base` that this shows; no other elements
    /// change.
    pub fn write<T: Copy>(&self, base: &mut [T], values: &[T]) {
        for (&place, &value) in self.places.iter().zip(values) {
            base[place] = value;
        }
    }
}

/// Every index of a shape, the last axis fastest.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for &extent in shape {
        all = all.iter().flat_map(|head| (0..extent).map(|at| [head.as_slice(), &[at]].concat())).collect();
    }
    all
}

impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Picture({:?} of {} places)", self.shape, self.places.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_worked_out_by_hand() {
        let base = Picture::of(&[2, 3]); // 0 1 2 / 3 4 5
        assert_eq!(base.places, [0, 1, 2, 3, 4, 5]);
        assert_eq!(base.permute(&[1, 0]).places, [0, 3, 1, 4, 2, 5]);
        assert_eq!(base.flip(1).places, [2, 1, 0, 5, 4, 3]);
        assert_eq!(base.slice(1, 0, 2, 2).places, [0, 2, 3, 5]);
        assert_eq!(base.repeat(2).places, [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
        assert_eq!(base.repeat(0).places, [0_usize; 0]);
        assert_eq!(Picture::of(&[]).places, [0]);
        assert_eq!(Picture::of(&[0, 3]).flip(0).places, [0_usize; 0]);
        assert_eq!(base.permute(&[1, 0]).shape, [3, 2]);
    }

    #[test]
    fn reading_undoes_writing_and_leaves_the_rest() {
        let view = Picture::of(&[2, 3]).slice(1, 0, 2, 2).flip(0);
        let mut base = [9; 6];
        view.write(&mut base, &[1, 2, 3, 4]);
        assert_eq!(base, [3, 9, 4, 1, 9, 2]);
        assert_eq!(view.read(&base), [1, 2, 3, 4]);
    }
}
