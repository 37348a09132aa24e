//! Operands as batches of matrices.

use devarray_function::interpreter::{InputElements, ResultElements};
use devarray_layout::{Axes, Layout};

use crate::shape::{Side, matrix, product_shape};

/// The strides of the two operands and of the result along one axis.
pub(crate) type Strides = [isize; 3];

/// Products of matrices [m, k] @ [k, n], one for each index of a batch. Strides are in elements.
#[derive(Debug, Clone)]
pub(crate) struct Products {
    /// The addresses of the first matrices.
    pub(crate) starts: [*mut u8; 3],
    pub(crate) extents: [usize; 3],
    /// For each operand and the result, the strides along rows and along columns.
    pub(crate) strides: [[isize; 2]; 3],
    /// Axes of the batch, the outermost first.
    pub(crate) batch: Axes<(usize, Strides)>,
}

impl Products {
    /// # Panics
    ///
    /// The shapes do not fit.
    pub(crate) fn new(
        a: InputElements<'_>,
        b: InputElements<'_>,
        result: ResultElements<'_>,
        len_bytes: usize,
    ) -> Self {
        let shape = match product_shape(a.layout.shape(), b.layout.shape()) {
            Ok(shape) => shape,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(shape[..], *result.layout.shape(), "the result has the shape of the product");
        let start = |start: *mut u8, layout: &Layout| start.wrapping_add(layout.offset() * len_bytes);
        let (_, [m, k]) = matrix(a.layout.shape(), Side::Left);
        let (_, [_, n]) = matrix(b.layout.shape(), Side::Right);
        let (a_batch, a_strides) = matrix(a.layout.strides(), Side::Left);
        let (b_batch, b_strides) = matrix(b.layout.strides(), Side::Right);
        // Axes that the operands lack are not in the result either.
        let matrix_axes = usize::from(a.layout.rank() > 1) + usize::from(b.layout.rank() > 1);
        let (batch_shape, _) = shape.split_at(shape.len() - matrix_axes);
        let (r_batch, r_strides) = result.layout.strides().split_at(batch_shape.len());
        let r_strides = match (r_strides, a.layout.rank() > 1) {
            (&[rows, columns], _) => [rows, columns],
            (&[rows], true) => [rows, 1],
            (&[columns], false) => [1, columns],
            _ => [1, 1],
        };
        let along = |axis: usize, extents: &[usize], strides: &[isize]| {
            let at = (axis + strides.len()).checked_sub(batch_shape.len());
            at.map_or(0, |at| if extents[at] == 1 { 0 } else { strides[at] })
        };
        let batch = batch_shape.iter().enumerate().map(|(axis, &extent)| {
            let a = along(axis, a.layout.shape(), a_batch);
            let b = along(axis, b.layout.shape(), b_batch);
            (extent, [a, b, r_batch[axis]])
        });
        Self {
            starts: [
                start(a.start.cast_mut(), a.layout),
                start(b.start.cast_mut(), b.layout),
                start(result.start, result.layout),
            ],
            extents: [m, k, n],
            strides: [a_strides, b_strides, r_strides],
            batch: batch.filter(|&(extent, _)| extent != 1).collect(),
        }
    }

    /// Exchanges rows and columns: b' @ a' is the transposed product. Chains give the same value whichever
    /// factor comes first.
    pub(crate) fn turn(&mut self) {
        self.starts.swap(0, 1);
        self.strides.swap(0, 1);
        self.extents.swap(0, 2);
        self.strides.iter_mut().for_each(|strides| strides.swap(0, 1));
        self.batch.iter_mut().for_each(|(_, strides)| strides.swap(0, 1));
    }

    /// Treats batch axes as more rows of the left operand, if all of them use one right operand.
    pub(crate) fn join_rows(&mut self) {
        while let Some(&(extent, [a, 0, result])) = self.batch.last() {
            let rows = self.extents[0];
            let joins = |along: isize, stride: isize| along == stride * rows.cast_signed();
            if rows == 1 {
                (self.strides[0][0], self.strides[2][0]) = (a, result);
            } else if !joins(a, self.strides[0][0]) || !joins(result, self.strides[2][0]) {
                break;
            }
            self.extents[0] = rows * extent;
            self.batch.pop();
        }
    }

    /// The number of products.
    pub(crate) fn count(&self) -> usize {
        self.batch.iter().map(|&(extent, _)| extent).product()
    }

    /// The positions of the matrices of a product, in elements from the first matrices.
    pub(crate) fn places(&self, mut number: usize) -> Strides {
        let mut places = [0; 3];
        for &(extent, strides) in self.batch.iter().rev() {
            let index = (number % extent).cast_signed();
            number /= extent;
            for (place, stride) in places.iter_mut().zip(strides) {
                *place += index * stride;
            }
        }
        places
    }
}
