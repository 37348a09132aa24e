//! Functions in programs, and their values by Rust's own operators.

use devarray::{
    Array, Device, ErasedArray, ErasedView, ErasedViewMut, Result, StreamHandle,
    backend::{Capability, Compute},
    function::{DeviceFunction, ElementType, Function, ReduceOperation, Reduction},
};

use super::{
    elements::Elements,
    gathers::{self, Put, Take},
    held::Held,
    machine::{Done, Machine},
    op::{Formula, Part},
    orders::{self, Along, Combine, Order},
    part::Place,
    products::{self, Multiply, MultiplyInto, MultiplyMap},
};

type Apply<D> =
    fn(&StreamHandle<D>, &Function, ErasedView<'_, D>, u64, &mut ErasedViewMut<'_, D>) -> Result<()>;
type New<D> = fn(&StreamHandle<D>, &Function, ErasedView<'_, D>, &[u64]) -> Result<ErasedArray<D>>;
type Reduce<D> = fn(&StreamHandle<D>, &Function, ErasedView<'_, D>, &Reduction) -> Result<ErasedArray<D>>;

/// Computes on a device that can, so that programs also run on devices that cannot.
pub(super) struct Computing<D: Device> {
    apply: Apply<D>,
    reduce: Reduce<D>,
    pub(super) compute: New<D>,
    pub(super) take: Take<D>,
    pub(super) put: Put<D>,
    pub(super) order: Order<D>,
    pub(super) along: Along<D>,
    pub(super) combine: Combine<D>,
    pub(super) multiply: Multiply<D>,
    pub(super) multiply_into: MultiplyInto<D>,
    pub(super) multiply_map: MultiplyMap<D>,
}

impl<D: Device> Clone for Computing<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Computing<D> {}

impl<D: Compute> Computing<D> {
    pub(super) fn new() -> Self {
        Self {
            apply: |stream, function, from, scalar, to| function.apply_into(stream, &[from], &[scalar], to),
            reduce: |stream, function, from, reduction| function.reduce(stream, &[from], &[], reduction),
            compute: |stream, function, from, scalars| function.apply(stream, &[from], scalars),
            take: gathers::take,
            put: gathers::put,
            order: orders::order,
            along: orders::along,
            combine: orders::combine,
            multiply: products::multiply,
            multiply_into: products::multiply_into,
            multiply_map: products::multiply_map,
        }
    }
}

impl Formula {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Sum => "x0 + k0",
            Self::Product => "x0 * k0",
            Self::Maximum => "maximum(x0, k0)",
            Self::Fold => "where(x0 < k0, x0, k0 - x0)",
        }
    }

    /// The caller reduces the result modulo the size of the type.
    pub(super) fn of(self, x: u64, k: u64) -> u64 {
        match self {
            Self::Sum => x.wrapping_add(k),
            Self::Product => x.wrapping_mul(k),
            Self::Maximum => x.max(k),
            Self::Fold if x < k => x,
            Self::Fold => k.wrapping_sub(x),
        }
    }
}

impl<T: Elements, D: Device> Machine<'_, T, D> {
    pub(super) fn computes(&self, what: Capability) -> Option<(Computing<D>, ElementType)> {
        Some((self.shared.extras.computing.filter(|_| self.declares(what))?, T::TYPE?))
    }

    pub(super) fn map(
        &mut self,
        stream: usize,
        to: &Part,
        from: &Part,
        formula: Formula,
        value: usize,
    ) -> Done {
        let (stream, strict) = self.stream(stream);
        let Some((computing, of)) = self.computes(Capability::Functions) else { return Ok(()) };
        let Some((at, mut place)) = self.target(to) else { return Ok(()) };
        let Some((other, mut source)) = self.place_beside(from, at) else { return Ok(()) };
        if !Place::meet(&mut source, &mut place) {
            return Ok(());
        }
        let scalar = T::values(value, 1)[0].bits();
        let values: Vec<T> =
            self.due(other, &source).iter().map(|x| T::of_bits(formula.of(x.bits(), scalar))).collect();
        let Ok([to, from]) = self.arrays.get_disjoint_mut([at, other]) else { return Ok(()) };
        let computed = source.view(from.array.view()).and_then(|from| {
            let function = Function::parse(formula.text(), &[of], &[of])?;
            let mut to = place.view_mut(to.array.view_mut())?.into_erased();
            (computing.apply)(&stream, &function, from.into_erased(), scalar, &mut to)
        });
        if self.done(computed, strict)?.is_some() {
            self.write(at, &place, &values);
        }
        Ok(())
    }

    pub(super) fn greatest(&mut self, stream: usize, from: &Part, axis: usize) -> Done {
        let (stream, strict) = self.stream(stream);
        let Some((computing, of)) = self.computes(Capability::Reductions) else { return Ok(()) };
        let Some((at, place)) = self.place(from) else { return Ok(()) };
        let Some(axis) = axis.checked_rem(place.shape().len()) else { return Ok(()) };
        let extent = place.shape()[axis];
        if extent == 0 {
            return Ok(()); // an empty reduction has no greatest element
        }
        let slices: Vec<Vec<T>> = (0..extent)
            .map(|position| {
                let mut slice = place.clone();
                slice.push(super::part::Step::Index(axis, position));
                self.due(at, &slice)
            })
            .collect();
        let due: Vec<T> = (0..slices[0].len())
            .map(|k| T::of_bits(slices.iter().map(|slice| slice[k].bits()).fold(0, u64::max)))
            .collect();
        let mut shape = place.shape().to_vec();
        shape.remove(axis);
        let reduced = place.view(self.arrays[at].array.view()).and_then(|view| {
            let function = Function::parse("x0", &[of], &[])?;
            let greatest = Reduction::new(ReduceOperation::Maximum).axes(&[axis.cast_signed()]);
            (computing.reduce)(&stream, &function, view.into_erased(), &greatest)
        });
        if let Some(array) = self.done(reduced.and_then(Array::from_erased), strict)? {
            self.hold(Held { array, shape, due, fortran: false }, from.array);
        }
        Ok(())
    }
}
