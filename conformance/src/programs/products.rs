//! Matrix products in programs.

use devarray::{
    Array, Device, ErasedArray, ErasedView, Result, StreamHandle,
    backend::{Capability, Compute},
    function::ElementType,
};

use super::{
    elements::Elements,
    machine::{Done, Held, Machine},
    op::Part,
    part::Step,
};

pub(super) type Multiply<D> =
    fn(&StreamHandle<D>, ElementType, ErasedView<'_, D>, ErasedView<'_, D>) -> Result<ErasedArray<D>>;

pub(super) fn multiply<D: Compute>(
    stream: &StreamHandle<D>,
    of: ElementType,
    a: ErasedView<'_, D>,
    b: ErasedView<'_, D>,
) -> Result<ErasedArray<D>> {
    a.matmul(stream, of, &b)
}

impl<T: Elements, D: Device> Machine<'_, T, D> {
    /// Multiplies two parts as matrices, the longer of the axes that are summed over cut to the other's
    /// length.
    pub(super) fn matmul(&mut self, stream: usize, first: &Part, second: &Part) -> Done {
        let (stream, strict) = self.stream(stream);
        let Some((computing, of)) = self.computes(Capability::Products) else { return Ok(()) };
        let (Some((at, mut a)), Some((other, mut b))) = (self.place(first), self.place(second)) else {
            return Ok(());
        };
        if !a.make_two_axes() || !b.make_two_axes() {
            return Ok(());
        }
        let depth = a.shape()[1].min(b.shape()[0]);
        a.push(Step::Cut(1, 0, 1, depth));
        b.push(Step::Cut(0, 0, 1, depth));
        let (rows, columns) = (a.shape()[0], b.shape()[1]);
        let (left, right) = (self.due(at, &a), self.due(other, &b));
        let due = (0..rows * columns)
            .map(|k| {
                let (row, column) = (k / columns, k % columns);
                let terms = (0..depth).map(|d| {
                    let (x, y) = (&left[row * depth + d], &right[d * columns + column]);
                    x.bits().wrapping_mul(y.bits())
                });
                T::of_bits(terms.fold(0, u64::wrapping_add))
            })
            .collect();
        let product = a.view(self.arrays[at].array.view()).and_then(|a| {
            let b = b.view(self.arrays[other].array.view())?;
            (computing.multiply)(&stream, of, a.into_erased(), b.into_erased())
        });
        if let Some(array) = self.done(product.and_then(Array::from_erased), strict)? {
            self.hold(Held { array, shape: vec![rows, columns], due, fortran: false }, first.array);
        }
        Ok(())
    }
}
