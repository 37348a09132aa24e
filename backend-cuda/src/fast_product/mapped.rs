//! Turns a product into calls of the library. It is pure, and needs no driver and no library.
//!
//! The library's matrices are stored by columns, each column contiguous. A matrix with contiguous
//! rows is the transpose of such a matrix, and `y = a b` means `yᵀ = bᵀ aᵀ`.

use devarray::{
    Layout, Order,
    layout::{
        Axes,
        nest::{Nest, Strided},
    },
};

/// The most calls for one product. A batch that needs more is left to other kernels.
const MOST_CALLS: usize = 64;

/// The part of a product that is the same in all its calls. Strides are in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    /// Rows and columns of the result as the library sees it, and the number of products that an
    /// element sums.
    pub(super) extents: [u64; 3],
    /// Whether each operand is stored transposed.
    pub(super) transposed: [bool; 2],
    /// The distance between neighbouring columns of the operands, and of the result.
    pub(super) column_strides: [i64; 3],
    /// The number of matrices that a call multiplies, and the distance from one to the next.
    pub(super) batch: i32,
    pub(super) batch_strides: [i64; 3],
}

impl Shape {
    /// Rows and columns of a side in its stored form; operands are sides 0 and 1.
    pub(super) fn stored(&self, side: usize) -> [u64; 2] {
        let [m, n, k] = self.extents;
        match (side, self.transposed) {
            (0, [false, _]) => [m, k],
            (0, [true, _]) => [k, m],
            (1, [_, false]) => [k, n],
            (1, [_, true]) => [n, k],
            _ => [m, n],
        }
    }
}

/// A product as calls. Sides are the left operand, the right operand, and the result.
#[derive(Debug)]
pub(super) struct Mapped {
    pub(super) shape: Shape,
    /// Whether the library's left operand is the right one here.
    pub(super) is_swapped: bool,
    /// The positions of the first elements, from the start of a buffer, or of the copy.
    starts: [isize; 3],
    /// The calls: each combination of steps.
    pub(super) calls: Nest<Strided<[isize; 3]>>,
    /// Sides that the library cannot use as they are: their own layout, and the dense one.
    pub(super) copied: [Option<Copied>; 3],
}

/// Elements that are copied, in the order of `dense`, which begins at 0.
#[derive(Debug, PartialEq)]
pub(super) struct Copied {
    pub(super) layout: Layout,
    pub(super) dense: Layout,
}

/// The strides of a matrix, from row to row and from column to column.
#[derive(Debug, Clone, Copy)]
struct Steps {
    row: isize,
    column: isize,
}

impl Steps {
    fn transposed(self) -> Self {
        Self { row: self.column, column: self.row }
    }

    /// Whether the matrix of these extents is transposed, and its stride between columns. `None` if the
    /// library cannot use it without a copy.
    fn lies(self, [rows, columns]: [usize; 2]) -> Option<(bool, isize)> {
        let by_columns = |steps: Self, rows: usize, columns: usize| {
            let stride = if columns == 1 { rows.cast_signed() } else { steps.column };
            ((rows == 1 || steps.row == 1) && stride >= rows.cast_signed()).then_some(stride)
        };
        let transposed = by_columns(self.transposed(), columns, rows).map(|stride| (true, stride));
        transposed.or_else(|| by_columns(self, rows, columns).map(|stride| (false, stride)))
    }
}

impl Mapped {
    /// The calls for layouts `[…, m, k]`, `[…, k, n]` and `[…, m, n]` without extents of 0. `None`
    /// if it takes too many calls, or numbers that no call takes.
    pub(super) fn new(a: &Layout, b: &Layout, y: &Layout) -> Option<Self> {
        let sides = [a, b, y];
        let rank = y.rank();
        let (row, column) = (rank - 2, rank - 1);
        let [mut m, mut n, k] = [y.shape()[row], y.shape()[column], a.shape()[column]];
        let mut starts = sides.map(|side| side.offset().cast_signed());
        let mut steps = sides.map(|side| Steps { row: side.strides()[row], column: side.strides()[column] });
        let of_axis = |axis: usize| Strided {
            extent: y.shape()[axis],
            strides: sides.map(|side| side.strides()[axis]),
        };
        let mut batch: Nest<_> = (0..row).map(of_axis).collect();
        batch.drop_units();
        batch.forward(2, |moved: &Strided<[isize; 3]>| {
            starts.iter_mut().zip(moved.strides).for_each(|(start, by)| *start += by);
        });
        batch.sort(|each| each.strides[2]);
        batch.merge();
        // If the matrices of a batch continue each other, they are one matrix, provided the other
        // operand is a single one.
        for at in (0..batch.len()).rev() {
            let Strided { extent, strides: [by_a, by_b, by_y] } = batch[at];
            let after = |by: isize, extent: usize, step: isize| {
                extent == 1 || extent.cast_signed().checked_mul(step) == Some(by)
            };
            if by_b == 0 && after(by_a, m, steps[0].row) && after(by_y, m, steps[2].row) {
                let row = |alone: bool, by: isize, steps: Steps| Steps {
                    row: if alone { by } else { steps.row },
                    ..steps
                };
                let [a, y] = [row(m == 1, by_a, steps[0]), row(m == 1, by_y, steps[2])];
                let rows = m.checked_mul(extent)?;
                if a.lies([rows, k]).is_some() && y.lies([rows, n]).is_some() {
                    (m, steps[0], steps[2]) = (rows, a, y);
                    batch.remove(at);
                }
            } else if by_a == 0 && after(by_b, n, steps[1].column) && after(by_y, n, steps[2].column) {
                let column = |alone: bool, by: isize, steps: Steps| Steps {
                    column: if alone { by } else { steps.column },
                    ..steps
                };
                let [b, y] = [column(n == 1, by_b, steps[1]), column(n == 1, by_y, steps[2])];
                let columns = n.checked_mul(extent)?;
                if b.lies([k, columns]).is_some() && y.lies([m, columns]).is_some() {
                    (n, steps[1], steps[2]) = (columns, b, y);
                    batch.remove(at);
                }
            }
        }
        let extents = [[m, k], [k, n], [m, n]];
        let mut copied = [None, None, None];
        for side in 0..3 {
            if steps[side].lies(extents[side]).is_none() {
                let copy = Copied::of(side, starts[side], steps[side], extents[side], &batch)?;
                let matrix = &copy.dense.strides()[batch.len()..];
                (starts[side], steps[side]) = (0, Steps { row: matrix[0], column: matrix[1] });
                for (each, &stride) in batch.iter_mut().zip(copy.dense.strides()) {
                    each.strides[side] = if each.strides[side] == 0 { 0 } else { stride };
                }
                copied[side] = Some(copy);
            }
        }
        batch.merge();
        let (along, shape) = Self::shape(&batch, [m, n, k], steps)?;
        let is_swapped = steps[2].lies([m, n])?.0;
        if let Some(along) = along {
            batch.remove(along);
        }
        (batch.steps() <= MOST_CALLS).then_some(Self { shape, is_swapped, starts, calls: batch, copied })
    }

    /// The axis of the batch that one call of the library covers, and the shape that all calls share.
    fn shape(
        batch: &Nest<Strided<[isize; 3]>>,
        [m, n, k]: [usize; 3],
        steps: [Steps; 3],
    ) -> Option<(Option<usize>, Shape)> {
        let (is_swapped, of_result) = steps[2].lies([m, n])?;
        let along = (0..batch.len())
            .filter(|&at| batch[at].strides.iter().all(|&stride| stride >= 0))
            .filter(|&at| i32::try_from(batch[at].extent).is_ok())
            .max_by_key(|&at| batch[at].extent);
        let (count, mut strides) = along.map_or((1, [0; 3]), |at| (batch[at].extent, batch[at].strides));
        let (left, right, [rows, columns]) = if is_swapped {
            strides.swap(0, 1);
            (steps[1].transposed().lies([n, k])?, steps[0].transposed().lies([k, m])?, [n, m])
        } else {
            (steps[0].lies([m, k])?, steps[1].lies([k, n])?, [m, n])
        };
        let shape = Shape {
            extents: [rows, columns, k].map(|extent| extent as u64),
            transposed: [left.0, right.0],
            column_strides: [left.1, right.1, of_result].map(|stride| stride as i64),
            batch: i32::try_from(count).ok()?,
            batch_strides: strides.map(|stride| stride as i64),
        };
        Some((along, shape))
    }

    /// For each call, the first element of each side, in elements from the start of its memory.
    pub(super) fn starts(&self) -> impl Iterator<Item = [isize; 3]> {
        (0..self.calls.steps()).map(|mut call: usize| {
            let mut starts = self.starts;
            for each in self.calls.iter().rev() {
                let step = (call % each.extent).cast_signed();
                call /= each.extent;
                starts.iter_mut().zip(each.strides).for_each(|(start, stride)| *start += step * stride);
            }
            starts
        })
    }
}

impl Copied {
    /// Makes a side without the axes along which it is repeated.
    fn of(
        side: usize,
        start: isize,
        steps: Steps,
        [rows, columns]: [usize; 2],
        batch: &Nest<Strided<[isize; 3]>>,
    ) -> Option<Self> {
        let once = batch.iter().map(|each| if each.strides[side] == 0 { 1 } else { each.extent });
        let shape: Axes<usize> = once.chain([rows, columns]).collect();
        let along = batch.iter().map(|each| each.strides[side]);
        let strides: Axes<isize> = along.chain([steps.row, steps.column]).collect();
        let layout = Layout::new(&shape, &strides, start.cast_unsigned()).ok()?;
        let dense = Layout::contiguous(&shape, Order::C).ok()?;
        Some(Self { layout, dense })
    }
}
