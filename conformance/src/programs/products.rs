//! Matrix products in programs.

use devarray::{
    Array, Device, ErasedArray, ErasedView, ErasedViewMut, Result, StreamHandle,
    backend::{Capability, Compute},
    function::{ElementType, Function},
};

use super::{
    elements::Elements,
    held::Held,
    machine::{Done, Machine},
    op::{Formula, Part},
    part::Step,
};

pub(super) type Multiply<D> =
    fn(&StreamHandle<D>, ElementType, ErasedView<'_, D>, ErasedView<'_, D>) -> Result<ErasedArray<D>>;

pub(super) type MultiplyInto<D> =
    fn(&StreamHandle<D>, ElementType, [ErasedView<'_, D>; 2], &mut ErasedViewMut<'_, D>) -> Result<()>;

pub(super) fn multiply_into<D: Compute>(
    stream: &StreamHandle<D>,
    of: ElementType,
    [a, b]: [ErasedView<'_, D>; 2],
    to: &mut ErasedViewMut<'_, D>,
) -> Result<()> {
    a.matmul_into(stream, of, &b, to)
}

pub(super) fn multiply<D: Compute>(
    stream: &StreamHandle<D>,
    of: ElementType,
    a: ErasedView<'_, D>,
    b: ErasedView<'_, D>,
) -> Result<ErasedArray<D>> {
    a.matmul(stream, of, &b)
}

pub(super) type MultiplyMap<D> =
    fn(&StreamHandle<D>, ElementType, [ErasedView<'_, D>; 2], &Function, u64) -> Result<ErasedArray<D>>;

pub(super) fn multiply_map<D: Compute>(
    stream: &StreamHandle<D>,
    of: ElementType,
    [a, b]: [ErasedView<'_, D>; 2],
    function: &Function,
    scalar: u64,
) -> Result<ErasedArray<D>> {
    a.matmul_apply(stream, of, &b, function, &[], &[scalar])
}

impl<T: Elements, D: Device> Machine<'_, T, D> {
    /// Multiplies two parts as matrices; the longer of the two axes that are summed over is cut to the
    /// other's length. A formula with a value may follow in the same call.
    pub(super) fn matmul(
        &mut self,
        stream: usize,
        first: &Part,
        second: &Part,
        then: Option<(Formula, usize)>,
    ) -> Done {
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
        let mut due = product_of([&left, &right], [rows, depth, columns]);
        let then = then.map(|(formula, value)| (formula, T::values(value, 1)[0].bits()));
        if let Some((formula, scalar)) = then {
            due = due.iter().map(|y| T::of_bits(formula.of(y.bits(), scalar))).collect();
        }
        let product = a.view(self.arrays[at].array.view()).and_then(|a| {
            let b = b.view(self.arrays[other].array.view())?;
            let (a, b) = (a.into_erased(), b.into_erased());
            let Some((formula, scalar)) = then else { return (computing.multiply)(&stream, of, a, b) };
            let function = Function::parse(formula.text(), &[of], &[of])?;
            (computing.multiply_map)(&stream, of, [a, b], &function, scalar)
        });
        if let Some(array) = self.done(product.and_then(Array::from_erased), strict)? {
            self.hold(Held { array, shape: vec![rows, columns], due, fortran: false }, first.array);
        }
        Ok(())
    }

    /// Multiplies a part by its transpose into a part of another array, both cut to shapes that fit.
    pub(super) fn square(&mut self, stream: usize, to: &Part, from: &Part) -> Done {
        let (stream, strict) = self.stream(stream);
        let Some((computing, of)) = self.computes(Capability::Products) else { return Ok(()) };
        let Some((at, mut place)) = self.target(to) else { return Ok(()) };
        let Some((other, mut a)) = self.place_beside(from, at) else { return Ok(()) };
        if !place.make_two_axes() || !a.make_two_axes() {
            return Ok(());
        }
        let depth = a.shape()[1];
        let mut b = a.clone();
        b.push(Step::Permute(vec![1, 0]));
        let [rows, columns] = [0, 1].map(|axis| place.shape()[axis].min(a.shape()[0]));
        place.push(Step::Cut(0, 0, 1, rows));
        place.push(Step::Cut(1, 0, 1, columns));
        a.push(Step::Cut(0, 0, 1, rows));
        b.push(Step::Cut(1, 0, 1, columns));
        let due = product_of([&self.due(other, &a), &self.due(other, &b)], [rows, depth, columns]);
        let Ok([to, from]) = self.arrays.get_disjoint_mut([at, other]) else { return Ok(()) };
        let done = a.view(from.array.view()).and_then(|a| {
            let factors = [a.into_erased(), b.view(from.array.view())?.into_erased()];
            let mut to = place.view_mut(to.array.view_mut())?.into_erased();
            (computing.multiply_into)(&stream, of, factors, &mut to)
        });
        if self.done(done, strict)?.is_some() {
            self.write(at, &place, &due);
        }
        Ok(())
    }
}

/// The product of two matrices in C order, modulo the size of the type.
fn product_of<T: Elements>(factors: [&[T]; 2], [rows, depth, columns]: [usize; 3]) -> Vec<T> {
    let [left, right] = factors;
    let element = |k: usize| {
        let (row, column) = (k / columns, k % columns);
        let terms = (0..depth).map(|d| {
            let (x, y) = (&left[row * depth + d], &right[d * columns + column]);
            x.bits().wrapping_mul(y.bits())
        });
        T::of_bits(terms.fold(0, u64::wrapping_add))
    };
    (0..rows * columns).map(element).collect()
}
