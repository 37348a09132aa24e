//! Order, search, counts and sums by index in programs. Another stream uses the result of a call at once, and
//! the result is dropped while it is in use.

use devarray::{
    Array, ArrayView, ArrayViewMut, Device, ErasedArray, ErasedView, ErasedViewMut, Result, StreamHandle,
    backend::{Capability, Compute},
    function::{Computable, ElementType, Function, Number},
    gather::OutOfRange,
    order::{Call, DeviceCall, Side},
};

use super::{
    elements::Elements,
    functions::Computing,
    gathers::{drawn, picked},
    held::Held,
    machine::{Done, Machine},
    op::{Combined, Ordered, Part},
    part::{Place, Step},
};

type Input<'a, D> = (ElementType, ErasedView<'a, D>);
pub(super) type Order<D> = fn(&StreamHandle<D>, Call, &[Input<'_, D>]) -> Result<Vec<ErasedArray<D>>>;
pub(super) type Along<D> =
    fn(&StreamHandle<D>, Input<'_, D>, &Array<i64, D>, axis: isize) -> Result<ErasedArray<D>>;
pub(super) type Combine<D> = fn(
    &StreamHandle<D>,
    (ElementType, ErasedViewMut<'_, D>),
    (Combined, isize),
    &ArrayView<'_, i64, D>,
    ErasedView<'_, D>,
) -> Result<()>;

/// Makes the call with the element type of a program that functions take.
macro_rules! by_type {
    ($element_type:expr, $call:ident($($argument:expr),*)) => {
        match $element_type {
            ElementType::U8 => $call::<u8, D>($($argument),*),
            ElementType::U16 => $call::<u16, D>($($argument),*),
            ElementType::U32 => $call::<u32, D>($($argument),*),
            _ => $call::<u64, D>($($argument),*),
        }
    };
}

pub(super) fn order<D: Compute>(
    stream: &StreamHandle<D>,
    call: Call,
    inputs: &[Input<'_, D>],
) -> Result<Vec<ErasedArray<D>>> {
    call.apply(stream, inputs)
}

pub(super) fn along<D: Compute>(
    stream: &StreamHandle<D>,
    (of, from): Input<'_, D>,
    positions: &Array<i64, D>,
    axis: isize,
) -> Result<ErasedArray<D>> {
    fn typed<T: Computable, D: Compute>(
        stream: &StreamHandle<D>,
        from: ErasedView<'_, D>,
        positions: &Array<i64, D>,
        axis: isize,
    ) -> Result<ErasedArray<D>> {
        let from = ArrayView::<T, D>::from_erased(from)?;
        Ok(from.take_along_axis(stream, positions, axis, OutOfRange::Error)?.into_erased())
    }
    by_type!(of, typed(stream, from, positions, axis))
}

pub(super) fn combine<D: Compute>(
    stream: &StreamHandle<D>,
    (of, to): (ElementType, ErasedViewMut<'_, D>),
    how: (Combined, isize),
    indices: &ArrayView<'_, i64, D>,
    values: ErasedView<'_, D>,
) -> Result<()> {
    fn typed<T: Number, D: Compute>(
        stream: &StreamHandle<D>,
        to: ErasedViewMut<'_, D>,
        (by, axis): (Combined, isize),
        indices: &ArrayView<'_, i64, D>,
        values: ErasedView<'_, D>,
    ) -> Result<()> {
        let values = ArrayView::<T, D>::from_erased(values)?;
        let mut to = ArrayViewMut::<T, D>::from_erased(to)?;
        match by {
            Combined::Added => to.put_add(stream, axis, indices, &values),
            Combined::Least => to.put_minimum(stream, axis, indices, &values),
            Combined::Most => to.put_maximum(stream, axis, indices, &values),
        }
    }
    by_type!(of, typed(stream, to, how, indices, values))
}

impl Combined {
    /// The caller reduces the result modulo the size of the type.
    fn of(self, a: u64, b: u64) -> u64 {
        match self {
            Self::Added => a.wrapping_add(b),
            Self::Least => a.min(b),
            Self::Most => a.max(b),
        }
    }

    fn segments(self) -> Call {
        use devarray::order::Combining;
        let operation = match self {
            Self::Added => Combining::Sum,
            Self::Least => Combining::Minimum,
            Self::Most => Combining::Maximum,
        };
        Call::Segments { operation }
    }
}

/// Elements in C order, divided into lines along an axis: each line is sorted, and its first `k` elements
/// remain.
fn in_order<T: Elements>(shape: &[usize], axis: usize, due: &[T], (k, down): (usize, bool)) -> Vec<T> {
    let inner: usize = shape[axis + 1..].iter().product();
    let outer: usize = shape[..axis].iter().product();
    let mut result = vec![T::zeroed(); outer * k * inner];
    for (o, i) in (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))) {
        let mut line: Vec<T> = (0..shape[axis]).map(|at| due[(o * shape[axis] + at) * inner + i]).collect();
        line.sort_by_key(|x| if down { !x.bits() } else { x.bits() });
        line.truncate(k);
        line.into_iter().enumerate().for_each(|(at, x)| result[(o * k + at) * inner + i] = x);
    }
    result
}

impl<T: Elements, D: Device> Machine<'_, T, D> {
    fn orders(&self) -> Option<(Computing<D>, ElementType)> {
        let all = [Capability::Functions, Capability::Gathers].map(|what| self.declares(what));
        self.computes(Capability::Orders).filter(|_| all == [true; 2])
    }

    /// A part, and the type of its elements.
    fn typed(&self, of: ElementType, at: usize, place: &Place) -> Result<Input<'_, D>> {
        Ok((of, place.view(self.arrays[at].array.view())?.into_erased()))
    }

    /// Converts 64-bit results to elements of the program, on one stream, and keeps them.
    pub(super) fn hold_cast(
        &mut self,
        (stream, strict): &(StreamHandle<D>, bool),
        (computing, of): (Computing<D>, ElementType),
        (from, found): (ElementType, ErasedView<'_, D>),
        (shape, due): (Vec<usize>, Vec<T>),
    ) -> Done {
        let cast = Function::parse(&format!("cast(x0, {of})"), &[from], &[]).map_err(Into::into);
        let cast = cast.and_then(|cast| (computing.compute)(stream, &cast, found, &[]));
        if let Some(array) = self.done(cast.and_then(Array::from_erased), *strict)? {
            self.hold(Held { array, shape, due, fortran: false }, from.len_bytes());
        }
        Ok(())
    }

    pub(super) fn sort(
        &mut self,
        stream: usize,
        from: &Part,
        axis: usize,
        by: Ordered,
        value: usize,
    ) -> Done {
        let ((second, careful), (stream, strict)) = (self.stream(stream + 1), self.stream(stream));
        let (Some((computing, of)), Some((at, place))) = (self.orders(), self.place(from)) else {
            return Ok(());
        };
        let Some(axis) = axis.checked_rem(place.shape().len()) else { return Ok(()) };
        let extent = place.shape()[axis];
        let signed = axis.cast_signed();
        let (call, down, k) = match by {
            Ordered::Ascending => (Call::Sort { axis: signed, descending: false }, false, extent),
            Ordered::Descending => (Call::Sort { axis: signed, descending: true }, true, extent),
            Ordered::Positions => (Call::ArgSort { axis: signed, descending: false }, false, extent),
            Ordered::Top | Ordered::Bottom => {
                let (k, largest) = (value % (extent + 1), by == Ordered::Top);
                (Call::TopK { k, axis: signed, largest }, largest, k)
            }
        };
        let found = self.typed(of, at, &place).and_then(|x| (computing.order)(&stream, call, &[x]));
        let Some(mut found) = self.done(found, strict)? else { return Ok(()) };
        let positions = match by {
            Ordered::Ascending | Ordered::Descending => None,
            Ordered::Positions => found.pop(),
            // The elements that were found, or those at the positions that were found.
            Ordered::Top | Ordered::Bottom => found.pop().filter(|_| value % 2 == 1),
        };
        let (found, strict) = match positions {
            None => (found.pop().map_or_else(|| unreachable!("elements are a result"), Ok), strict),
            Some(positions) => {
                let taken = Array::from_erased(positions).and_then(|positions| {
                    (computing.along)(&second, self.typed(of, at, &place)?, &positions, signed)
                });
                (taken, careful)
            }
        };
        let due = in_order(place.shape(), axis, &self.due(at, &place), (k, down));
        let mut shape = place.shape().to_vec();
        shape[axis] = k;
        if let Some(array) = self.done(found.and_then(Array::from_erased), strict)? {
            self.hold(Held { array, shape, due, fortran: false }, value);
        }
        Ok(())
    }

    pub(super) fn count(&mut self, stream: usize, from: &Part, value: usize) -> Done {
        let (second, (stream, strict)) = (self.stream(stream + 1), self.stream(stream));
        let (Some((computing, of)), Some((at, place))) = (self.orders(), self.place(from)) else {
            return Ok(());
        };
        let n = 1 + value % 40;
        let rests = self.typed(of, at, &place).and_then(|(_, x)| {
            let rest = Function::parse("x0 % k0", &[of], &[of])?;
            (computing.compute)(&stream, &rest, x, &[n as u64])
        });
        let Some(rests) = self.done(rests, strict)? else { return Ok(()) };
        let counts = (computing.order)(&second.0, Call::BinCount { n }, &[(of, rests.view())]);
        let Some(counts) = self.done(counts, second.1)? else { return Ok(()) };
        let due_rests: Vec<u64> = self.due(at, &place).iter().map(|x| x.bits() % n as u64).collect();
        let count_of = |rest: u64| due_rests.iter().filter(|&&due| due == rest).count() as u64;
        let due = (0..n as u64).map(|rest| T::of_bits(count_of(rest))).collect();
        self.hold_cast(
            &(stream, strict),
            (computing, of),
            (ElementType::I64, counts[0].view()),
            (vec![n], due),
        )
    }

    pub(super) fn combine(
        &mut self,
        stream: usize,
        to: &Part,
        axis: usize,
        by: Combined,
        value: usize,
    ) -> Done {
        let ((writer, careful), (stream, strict)) = (self.stream(stream + 1), self.stream(stream));
        let (Some((computing, of)), Some((at, place))) = (self.orders(), self.target(to)) else {
            return Ok(());
        };
        let Some(axis) = axis.checked_rem(place.shape().len()) else { return Ok(()) };
        if place.shape()[axis] == 0 {
            return Ok(());
        }
        // With every third seed, all indices are in range, some of them counted from the end.
        let (indices, positions, _) = drawn(place.shape()[axis], 3 * value);
        let picture = picked(&place, axis, &positions);
        let values = T::values(value, picture.places.len());
        let given = self
            .given(&writer, &[indices.len()], &indices)
            .and_then(|indices| Ok((indices, self.given(&writer, &picture.shape, &values)?)));
        let Some((indices, given)) = self.done(given, careful)? else { return Ok(()) };
        let done = place.view_mut(self.arrays[at].array.view_mut()).and_then(|view| {
            let (to, how) = ((of, view.into_erased()), (by, axis.cast_signed()));
            (computing.combine)(&stream, to, how, &indices.view(), given.view().into_erased())
        });
        if self.done(done, strict)?.is_some() {
            let due = &mut self.arrays[at].due;
            for (&place, value) in picture.places.iter().zip(values) {
                due[place] = T::of_bits(by.of(due[place].bits(), value.bits()));
            }
        }
        Ok(())
    }

    pub(super) fn segments(&mut self, stream: usize, from: &Part, by: Combined, value: usize) -> Done {
        let ((writer, careful), (stream, strict)) = (self.stream(stream + 1), self.stream(stream));
        let (Some((computing, of)), Some((at, place))) = (self.orders(), self.place(from)) else {
            return Ok(());
        };
        let Some((&extent, rest)) = place.shape().split_first() else { return Ok(()) };
        let mut rng = crate::Rng::new(value as u64);
        let mut offsets: Vec<usize> = (0..2 + value % 4).map(|_| rng.below(extent + 1)).collect();
        offsets.sort_unstable();
        if by != Combined::Added {
            offsets.dedup(); // an empty segment has no least element
        }
        let count = offsets.len() - 1;
        let len: usize = rest.iter().product();
        let elements = self.due(at, &place);
        let mut due = vec![None; count * len];
        for (segment, ends) in offsets.windows(2).enumerate() {
            for (row, k) in (ends[0]..ends[1]).flat_map(|row| (0..len).map(move |k| (row, k))) {
                let (x, so_far) = (elements[row * len + k].bits(), &mut due[segment * len + k]);
                *so_far = Some(so_far.map_or(x, |so_far| by.of(so_far, x)));
            }
        }
        let due: Vec<T> = due.into_iter().map(|sum| T::of_bits(sum.unwrap_or(0))).collect();
        let shape = [&[count], rest].concat();
        let offsets: Vec<i64> = offsets.iter().map(|&offset| i64::try_from(offset).unwrap_or(0)).collect();
        let offsets = self.given(&writer, &[offsets.len()], &offsets);
        let Some(offsets) = self.done(offsets, careful)? else { return Ok(()) };
        let found = self.typed(of, at, &place).and_then(|x| {
            let offsets = (ElementType::I64, offsets.view().into_erased());
            (computing.order)(&stream, by.segments(), &[x, offsets])
        });
        let Some(found) = self.done(found, strict)? else { return Ok(()) };
        // Sums are 64-bit.
        let sums = if by == Combined::Added { ElementType::U64 } else { of };
        self.hold_cast(&(stream, strict), (computing, of), (sums, found[0].view()), (shape, due))
    }

    pub(super) fn search_sorted(&mut self, stream: usize, from: &Part, of_each: &Part, value: usize) -> Done {
        let (second, (stream, strict)) = (self.stream(stream + 1), self.stream(stream));
        let (Some((computing, of)), Some((at, mut place))) = (self.orders(), self.place(from)) else {
            return Ok(());
        };
        let Some((other, each)) = self.place(of_each) else { return Ok(()) };
        if !make_one_axis(&mut place) {
            return Ok(());
        }
        let ascending = Call::Sort { axis: 0, descending: false };
        let bins = self.typed(of, at, &place).and_then(|x| (computing.order)(&stream, ascending, &[x]));
        let Some(bins) = self.done(bins, strict)? else { return Ok(()) };
        let side = if value.is_multiple_of(2) { Side::Left } else { Side::Right };
        let call = Call::SearchSorted { right: side == Side::Right };
        let found = self
            .typed(of, other, &each)
            .and_then(|x| (computing.order)(&second.0, call, &[(of, bins[0].view()), x]));
        let Some(found) = self.done(found, second.1)? else { return Ok(()) };
        let sorted = self.due(at, &place);
        let below = |x: T| {
            let is_below = |bin: &&T| bin.bits() < x.bits() || side == Side::Right && bin.bits() == x.bits();
            T::of_bits(sorted.iter().filter(is_below).count() as u64)
        };
        let due = self.due(other, &each).into_iter().map(below).collect();
        let shape = each.shape().to_vec();
        self.hold_cast(&(stream, strict), (computing, of), (ElementType::I64, found[0].view()), (shape, due))
    }
}

/// Gives a part one axis: outer axes are removed, or one is added. Returns whether it now has one axis.
fn make_one_axis(place: &mut Place) -> bool {
    while place.shape().len() > 1 {
        if place.shape()[0] == 0 {
            return false;
        }
        place.push(Step::Index(0, 0));
    }
    if place.shape().is_empty() {
        place.push(Step::NewAxis(0));
    }
    true
}
