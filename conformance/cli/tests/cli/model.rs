//! The oracle: an array is a table from index to element number, and every step is an
//! index-by-index loop.

/// An array of element numbers, which stand for the elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) shape: Vec<usize>,
    /// The number of each element, in C order of the indices.
    pub(crate) ids: Vec<usize>,
}

impl Model {
    /// The array of this shape whose elements are numbered in C order.
    pub(crate) fn numbered(shape: &[usize]) -> Self {
        Self { shape: shape.to_vec(), ids: (0..shape.iter().product()).collect() }
    }

    /// The array of `shape` whose element at an index is this array's element at `from(index)`.
    pub(crate) fn pick(&self, shape: &[usize], from: impl Fn(&[usize]) -> Vec<usize>) -> Self {
        let ids = indices(shape, false).map(|index| self.at(&from(&index))).collect();
        Self { shape: shape.to_vec(), ids }
    }

    /// Axis `i` of the result is axis `axes[i]`.
    pub(crate) fn permute(&self, axes: &[usize]) -> Self {
        let shape: Vec<usize> = axes.iter().map(|&axis| self.shape[axis]).collect();
        self.pick(&shape, |index| {
            let mut from = vec![0; axes.len()];
            for (&axis, &i) in axes.iter().zip(index) {
                from[axis] = i;
            }
            from
        })
    }

    pub(crate) fn flip(&self, axis: usize) -> Self {
        self.pick(&self.shape, |index| {
            let mut from = index.to_vec();
            from[axis] = self.shape[axis] - 1 - index[axis];
            from
        })
    }

    /// Takes the positions `at` of `axis`, in their order.
    pub(crate) fn take(&self, axis: usize, at: &[usize]) -> Self {
        let mut shape = self.shape.clone();
        shape[axis] = at.len();
        self.pick(&shape, |index| {
            let mut from = index.to_vec();
            from[axis] = at[index[axis]];
            from
        })
    }

    /// Returns the same elements under another shape; both shapes are walked in C or F order.
    pub(crate) fn reshape(&self, shape: &[usize], fortran: bool) -> Self {
        let walked = indices(&self.shape, fortran).map(|index| self.at(&index));
        let mut result = Self { shape: shape.to_vec(), ids: vec![0; self.ids.len()] };
        for (index, id) in indices(shape, fortran).zip(walked) {
            let at = result.place(&index);
            result.ids[at] = id;
        }
        result
    }

    /// Repeats the array along a new first axis.
    pub(crate) fn broadcast(&self, times: usize) -> Self {
        let shape: Vec<usize> = std::iter::once(times).chain(self.shape.iter().copied()).collect();
        self.pick(&shape, |index| index[1..].to_vec())
    }

    /// The element numbers in the order of a file.
    pub(crate) fn in_order(&self, fortran: bool) -> Vec<usize> {
        indices(&self.shape, fortran).map(|index| self.at(&index)).collect()
    }

    /// Whether F order differs from C order: at least two axes are longer than 1, and none is 0.
    pub(crate) fn orders_differ(&self) -> bool {
        !self.ids.is_empty() && self.shape.iter().filter(|&&extent| extent > 1).count() > 1
    }

    fn at(&self, index: &[usize]) -> usize {
        self.ids[self.place(index)]
    }

    fn place(&self, index: &[usize]) -> usize {
        index.iter().zip(&self.shape).fold(0, |place, (&i, &extent)| place * extent + i)
    }
}

/// Lists every index of a shape, in C or F order.
fn indices(shape: &[usize], fortran: bool) -> impl Iterator<Item = Vec<usize>> {
    let shape = shape.to_vec();
    (0..shape.iter().product()).map(move |mut k| {
        let mut index = vec![0; shape.len()];
        let last_first: Vec<usize> = (0..shape.len()).rev().collect();
        let first_first: Vec<usize> = (0..shape.len()).collect();
        for &axis in if fortran { &first_first } else { &last_first } {
            index[axis] = k % shape[axis];
            k /= shape[axis];
        }
        index
    })
}
