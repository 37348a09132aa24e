//! A naive model of an array: the value at every index, in C order. It knows nothing of strides.
#![allow(clippy::unwrap_used, dead_code)] // helpers of tests; each test file uses some of them

use devarray::NdLayout;

/// A shape, and one value for each index, with the last axis fastest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<usize>,
}

impl Model {
    /// Calls the function once for the value at each index.
    pub(crate) fn from_fn(shape: &[usize], value: impl Fn(&[usize]) -> usize) -> Self {
        Self { shape: shape.to_vec(), values: indices(shape).iter().map(|index| value(index)).collect() }
    }

    /// The position of each element of a layout, by the definition in [`NdLayout`].
    pub(crate) fn of(layout: &impl NdLayout) -> Self {
        let offset = i128::try_from(layout.offset()).unwrap();
        Self::from_fn(layout.shape(), |index| {
            let steps = index.iter().zip(layout.strides());
            let sum: i128 =
                steps.map(|(&i, &s)| i128::try_from(i).unwrap() * i128::try_from(s).unwrap()).sum();
            usize::try_from(offset + sum).unwrap()
        })
    }

    pub(crate) fn at(&self, index: &[usize]) -> usize {
        let place = index.iter().zip(&self.shape).fold(0, |place, (&i, &extent)| place * extent + i);
        self.values[place]
    }

    pub(crate) fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The values with the first axis fastest.
    pub(crate) fn column_major(&self) -> Vec<usize> {
        self.permute(&(0..self.rank()).rev().collect::<Vec<_>>()).values
    }

    /// Axis `i` of the result is axis `axes[i]`.
    pub(crate) fn permute(&self, axes: &[usize]) -> Self {
        let shape: Vec<usize> = axes.iter().map(|&axis| self.shape[axis]).collect();
        Self::from_fn(&shape, |index| {
            let mut source = vec![0; self.rank()];
            axes.iter().zip(index).for_each(|(&axis, &i)| source[axis] = i);
            self.at(&source)
        })
    }

    /// Keeps only the listed positions of an axis, in that order.
    pub(crate) fn select(&self, axis: usize, positions: &[usize]) -> Self {
        let mut shape = self.shape.clone();
        shape[axis] = positions.len();
        Self::from_fn(&shape, |index| {
            let mut source = index.to_vec();
            source[axis] = positions[index[axis]];
            self.at(&source)
        })
    }

    /// The values read in C order, in another shape.
    pub(crate) fn reshape(&self, shape: &[usize]) -> Self {
        Self { shape: shape.to_vec(), values: self.values.clone() }
    }

    /// The values read in F order, in another shape.
    pub(crate) fn reshape_column_major(&self, shape: &[usize]) -> Self {
        let reversed: Vec<usize> = shape.iter().rev().copied().collect();
        let values = Self { shape: reversed, values: self.column_major() };
        values.permute(&(0..shape.len()).rev().collect::<Vec<_>>())
    }

    /// The difference of the first two values along each axis longer than 1, if those differences
    /// explain every value.
    pub(crate) fn strides(&self) -> Option<Vec<Option<isize>>> {
        let first = vec![0; self.rank()];
        let strides: Vec<Option<isize>> = (0..self.rank())
            .map(|axis| {
                let mut second = first.clone();
                second[axis] = 1;
                (self.shape[axis] > 1).then(|| signed(self.at(&second)) - signed(self.at(&first)))
            })
            .collect();
        let explained = indices(&self.shape).iter().all(|index| {
            let steps = index.iter().zip(&strides).map(|(&i, stride)| signed(i) * stride.unwrap_or(0));
            signed(self.at(index)) == signed(self.at(&first)) + steps.sum::<isize>()
        });
        explained.then_some(strides)
    }
}

pub(crate) fn signed(n: usize) -> isize {
    isize::try_from(n).unwrap()
}

/// All indices of a shape, last axis fastest.
pub(crate) fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![vec![]], |prefixes, &extent| {
        let grow = |prefix: Vec<usize>| (0..extent).map(move |i| [prefix.as_slice(), &[i]].concat());
        prefixes.into_iter().flat_map(grow).collect()
    })
}
