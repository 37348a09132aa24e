//! Gathers and scatters in programs.

use devarray::{
    Array, ArrayView, ArrayViewMut, Device, Element, ErasedArray, ErasedView, ErasedViewMut, Result,
    StreamHandle,
    backend::{Capability, Compute},
    gather::{OutOfRange, Repeats},
};

use super::{
    elements::Elements,
    functions::Computing,
    held::Held,
    machine::{Done, Machine},
    op::Part,
    part::Place,
};

/// The positions to gather or scatter: indices on the device, an axis, and the mode for indices out of range.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<'a, D: Device> {
    indices: &'a ArrayView<'a, i64, D>,
    axis: isize,
    out_of_range: OutOfRange,
}

pub(super) type Take<D> = fn(&StreamHandle<D>, ErasedView<'_, D>, At<'_, D>) -> Result<ErasedArray<D>>;
pub(super) type Put<D> =
    fn(&StreamHandle<D>, ErasedViewMut<'_, D>, At<'_, D>, ErasedView<'_, D>) -> Result<()>;

/// Makes the call with elements of the same size as the program's.
macro_rules! by_size {
    ($item_bytes:expr, $call:ident($($argument:expr),*)) => {
        match $item_bytes {
            1 => $call::<u8, D>($($argument),*),
            2 => $call::<u16, D>($($argument),*),
            3 => $call::<[u8; 3], D>($($argument),*),
            4 => $call::<u32, D>($($argument),*),
            _ => $call::<u64, D>($($argument),*),
        }
    };
}

pub(super) fn take<D: Compute>(
    stream: &StreamHandle<D>,
    from: ErasedView<'_, D>,
    at: At<'_, D>,
) -> Result<ErasedArray<D>> {
    fn typed<T: Element, D: Compute>(
        stream: &StreamHandle<D>,
        from: ErasedView<'_, D>,
        At { indices, axis, out_of_range }: At<'_, D>,
    ) -> Result<ErasedArray<D>> {
        let from = ArrayView::<T, D>::from_erased(from)?;
        Ok(from.take(stream, indices, axis, out_of_range)?.into_erased())
    }
    by_size!(from.item_bytes(), typed(stream, from, at))
}

pub(super) fn put<D: Compute>(
    stream: &StreamHandle<D>,
    to: ErasedViewMut<'_, D>,
    at: At<'_, D>,
    values: ErasedView<'_, D>,
) -> Result<()> {
    fn typed<T: Element, D: Compute>(
        stream: &StreamHandle<D>,
        to: ErasedViewMut<'_, D>,
        At { indices, axis, out_of_range }: At<'_, D>,
        values: ErasedView<'_, D>,
    ) -> Result<()> {
        let values = ArrayView::<T, D>::from_erased(values)?;
        let mut to = ArrayViewMut::<T, D>::from_erased(to)?;
        to.put(stream, indices, &values, axis, out_of_range, Repeats::Last)
    }
    by_size!(to.item_bytes(), typed(stream, to, at, values))
}

/// Indices along an axis, the positions that they name, and the mode for indices out of range.
pub(super) fn drawn(extent: usize, value: usize) -> (Vec<i64>, Vec<usize>, OutOfRange) {
    let modes = [OutOfRange::Error, OutOfRange::Wrap, OutOfRange::Clamp];
    let out_of_range = modes[value % modes.len()];
    let mut rng = crate::Rng::new(value as u64);
    let whole = i64::try_from(extent).unwrap_or(i64::MAX);
    let reach = if out_of_range == OutOfRange::Error { whole } else { 3 * whole };
    let mut indices = Vec::new();
    for _ in 0..1 + value % extent.min(6) {
        let ahead = i64::try_from(rng.below(2 * usize::try_from(reach).unwrap_or(0))).unwrap_or(0);
        indices.push(ahead - reach);
    }
    let named = |&index: &i64| match out_of_range {
        OutOfRange::Clamp => index.clamp(0, whole - 1),
        // Counted from the end, wrapping around if needed.
        _ => (index + 3 * whole) % whole,
    };
    let positions = indices.iter().map(|index| usize::try_from(named(index)).unwrap_or(0)).collect();
    (indices, positions, out_of_range)
}

/// The elements at some positions of an axis.
pub(super) fn picked(place: &Place, axis: usize, positions: &[usize]) -> crate::Picture {
    let mut shape = place.shape().to_vec();
    shape[axis] = positions.len();
    place.picture.remap(&shape, |index| {
        let mut at = index.to_vec();
        at[axis] = positions[index[axis]];
        at
    })
}

impl<T: Elements, D: Device> Machine<'_, T, D> {
    fn gathers(&self) -> Option<Computing<D>> {
        self.shared.extras.computing.filter(|_| self.declares(Capability::Gathers))
    }

    pub(super) fn take(&mut self, stream: usize, from: &Part, axis: usize, value: usize) -> Done {
        // The indices come from another stream, and are dropped while they are in use.
        let ((writer, careful), (stream, strict)) = (self.stream(stream + 1), self.stream(stream));
        let (Some(computing), Some((at, place))) = (self.gathers(), self.place(from)) else { return Ok(()) };
        let Some(axis) = axis.checked_rem(place.shape().len()) else { return Ok(()) };
        if place.shape()[axis] == 0 {
            return Ok(());
        }
        let (indices, positions, out_of_range) = drawn(place.shape()[axis], value);
        let indices = self.given(&writer, &[indices.len()], &indices);
        let Some(indices) = self.done(indices, careful)? else { return Ok(()) };
        let at_indices = At { indices: &indices.view(), axis: axis.cast_signed(), out_of_range };
        let taken = place
            .view(self.arrays[at].array.view())
            .and_then(|view| (computing.take)(&stream, view.into_erased(), at_indices));
        let picture = picked(&place, axis, &positions);
        let due = picture.read(&self.arrays[at].due);
        if let Some(array) = self.done(taken.and_then(Array::from_erased), strict)? {
            self.hold(Held { array, shape: picture.shape, due, fortran: false }, value);
        }
        Ok(())
    }

    pub(super) fn put(&mut self, stream: usize, to: &Part, axis: usize, value: usize) -> Done {
        let ((writer, careful), (stream, strict)) = (self.stream(stream + 1), self.stream(stream));
        let (Some(computing), Some((at, place))) = (self.gathers(), self.target(to)) else { return Ok(()) };
        let Some(axis) = axis.checked_rem(place.shape().len()) else { return Ok(()) };
        if place.shape()[axis] == 0 {
            return Ok(());
        }
        let (indices, positions, out_of_range) = drawn(place.shape()[axis], value);
        let picture = picked(&place, axis, &positions);
        let values = T::values(value, picture.places.len());
        let given = self
            .given(&writer, &[indices.len()], &indices)
            .and_then(|indices| Ok((indices, self.given(&writer, &picture.shape, &values)?)));
        let Some((indices, given)) = self.done(given, careful)? else { return Ok(()) };
        let at_indices = At { indices: &indices.view(), axis: axis.cast_signed(), out_of_range };
        let done = place.view_mut(self.arrays[at].array.view_mut()).and_then(|view| {
            (computing.put)(&stream, view.into_erased(), at_indices, given.view().into_erased())
        });
        if self.done(done, strict)?.is_some() {
            // Written one after another, so that the last of several for one position remains.
            picture.write(&mut self.arrays[at].due, &values);
        }
        Ok(())
    }
}
