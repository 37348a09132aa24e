//! Calls on arrays, each with the change that it makes to the model.

use std::thread;

use devarray::{
    Array, Device, Layout, Order,
    layout::{IndexItem, Slice},
};

use super::{
    elements::Elements,
    failure::{ORDER, SUCCEEDS},
    held::{Held, Memory},
    machine::{Done, MOST_ARRAYS, Machine},
    op::{Away, Part, Start},
    part::{Place, Step, sections_of},
};

/// The most elements of an array; extents are reduced until it has no more.
pub(super) const MOST_ELEMENTS: usize = 4096;

/// The fewest bytes of a large array: more than a transfer moves in one piece.
const LARGE_BYTES: usize = 300 << 10;

impl<T: Elements, D: Device> Machine<'_, T, D> {
    pub(super) fn create(&mut self, stream: usize, extents: &[usize], start: Start, value: usize) -> Done {
        let (stream, strict) = self.stream(stream);
        let mut shape = extents.to_vec();
        while shape
            .iter()
            .try_fold(1, |len: usize, &extent| len.checked_mul(extent.max(1)))
            .is_none_or(|len| len > MOST_ELEMENTS)
        {
            shape.iter_mut().for_each(|extent| *extent = (*extent).min(MOST_ELEMENTS) / 2);
        }
        let len = shape.iter().product();
        let values = T::values(value, len);
        let one = values.first().copied().unwrap_or_else(T::zeroed);
        let made = match start {
            Start::Zeros => Array::zeros(&stream, &shape),
            Start::Full => Array::full(&stream, &shape, one),
            Start::Uploaded => Array::from_slice(&stream, &shape, &values),
            Start::UploadedF => {
                Layout::contiguous(&shape, Order::F).map_err(devarray::Error::from).and_then(|host| {
                    Array::from_host(&stream, &in_fortran_order(&shape, &values), &host, Order::K)
                })
            }
            Start::Uninit => Array::uninit_in(&stream, &shape, Order::F).and_then(|mut array| {
                array.view_mut().fill(&stream, one)?;
                Ok(array)
            }),
        };
        let due = match start {
            Start::Zeros => vec![T::zeroed(); len],
            Start::Full | Start::Uninit => vec![one; len],
            Start::Uploaded | Start::UploadedF => values,
        };
        if let Some(array) = self.done(made, strict)? {
            let fortran = matches!(start, Start::UploadedF | Start::Uninit);
            self.hold(Held { array, shape, due, fortran }, value);
        }
        Ok(())
    }

    pub(super) fn fill(&mut self, stream: usize, to: &Part, value: usize) -> Done {
        let (stream, strict) = self.stream(stream);
        let Some((at, place)) = self.target(to) else { return Ok(()) };
        let one = T::values(value, 1)[0];
        let filled =
            place.view_mut(self.arrays[at].array.view_mut()).and_then(|mut view| view.fill(&stream, one));
        if self.done(filled, strict)?.is_some() {
            self.write(at, &place, &vec![one; place.len()]);
        }
        Ok(())
    }

    pub(super) fn upload(&mut self, stream: usize, to: &Part, value: usize, fortran: bool) -> Done {
        let (stream, strict) = self.stream(stream);
        let Some((at, place)) = self.place(to) else { return Ok(()) };
        let values = T::values(value, place.len());
        let uploaded = place.view_mut(self.arrays[at].array.view_mut()).and_then(|mut view| {
            if !fortran {
                return view.copy_from_slice(&stream, &values);
            }
            let host = Layout::contiguous(place.shape(), Order::F)?;
            view.copy_from_host(&stream, &in_fortran_order(place.shape(), &values), &host)
        });
        if self.done(uploaded, strict)?.is_some() {
            self.write(at, &place, &values);
        }
        Ok(())
    }

    pub(super) fn download(&mut self, stream: usize, from: &Part) -> Done {
        let (stream, strict) = self.stream(stream);
        let Some((at, place)) = self.place(from) else { return Ok(()) };
        let found = place.view(self.arrays[at].array.view()).and_then(|view| view.to_vec(&stream));
        let Some(found) = self.done(found, strict)? else { return Ok(()) };
        self.compare(&found, &self.due(at, &place), ORDER)
    }

    pub(super) fn copy(&mut self, stream: usize, to: &Part, from: &Part) -> Done {
        let (stream, strict) = self.stream(stream);
        let Some((at, mut place)) = self.target(to) else { return Ok(()) };
        let Some((other, mut source)) = self.place_beside(from, at) else { return Ok(()) };
        if !Place::meet(&mut source, &mut place) {
            return Ok(());
        }
        let values = self.due(other, &source);
        let Ok([to, from]) = self.arrays.get_disjoint_mut([at, other]) else { return Ok(()) };
        let copied = source.view(from.array.view()).and_then(|from| {
            place.view_mut(to.array.view_mut()).and_then(|mut to| to.copy_from(&stream, &from))
        });
        if self.done(copied, strict)?.is_some() {
            self.write(at, &place, &values);
        }
        Ok(())
    }

    pub(super) fn sections(
        &mut self,
        stream: usize,
        of: &Part,
        axis: usize,
        [to, from]: [usize; 2],
        value: usize,
    ) -> Done {
        let (stream, strict) = self.stream(stream);
        let Some((at, place)) = self.target(of) else { return Ok(()) };
        let Some(axis) = axis.checked_rem(place.shape().len()) else { return Ok(()) };
        let count = 2 + value % 3;
        let [to, from] = [to % count, from % count];
        let one = T::values(value, 1)[0];
        let part_of = |which: usize| {
            let (start, len) = sections_of(place.shape()[axis], count)[which];
            let mut part = place.clone();
            part.push(Step::Cut(axis, start, 1, len));
            part
        };
        let (target, source) = (part_of(to), part_of(from));
        let copies = to != from && target.shape() == source.shape();
        let values = if copies { self.due(at, &source) } else { vec![one; target.len()] };
        let outcome = place.view_mut(self.arrays[at].array.view_mut()).and_then(|view| {
            let mut parts: Vec<_> = view.array_split(axis.cast_signed(), count)?.collect();
            match parts.get_disjoint_mut([to, from]) {
                Ok([to, from]) if copies => to.copy_from(&stream, &from.as_view()),
                _ => parts[to].fill(&stream, one),
            }
        });
        if self.done(outcome, strict)?.is_some() {
            self.write(at, &target, &values);
        }
        Ok(())
    }

    pub(super) fn shift(&mut self, stream: usize, of: &Part, axis: usize, by: usize, down: bool) -> Done {
        let (stream, strict) = self.stream(stream);
        let Some((at, place)) = self.target(of) else { return Ok(()) };
        let Some(axis) = axis.checked_rem(place.shape().len()) else { return Ok(()) };
        let extent = place.shape()[axis];
        let Some(by) = by.checked_rem(extent) else { return Ok(()) };
        let (low, high) = (0..extent - by, by..extent);
        let (to, from) = if down { (low, high) } else { (high, low) };
        let part_of = |range: &std::ops::Range<usize>| {
            let mut part = place.clone();
            part.push(Step::Cut(axis, range.start, 1, range.len()));
            part
        };
        let (target, source) = (part_of(&to), part_of(&from));
        let values = self.due(at, &source);
        let items = |range: std::ops::Range<usize>| {
            let mut items = vec![IndexItem::from(Slice::FULL); axis];
            items.push(IndexItem::from(Slice::from(range)));
            items
        };
        let moved = place
            .view_mut(self.arrays[at].array.view_mut())
            .and_then(|mut view| view.copy_within(&stream, &items(to), &items(from)));
        if self.done(moved, strict)?.is_some() {
            self.write(at, &target, &values);
        }
        Ok(())
    }

    pub(super) fn contiguous(&mut self, stream: usize, from: &Part, fortran: bool) -> Done {
        let (stream, strict) = self.stream(stream);
        let Some((at, place)) = self.place(from) else { return Ok(()) };
        let order = if fortran { Order::F } else { Order::C };
        let made =
            place.view(self.arrays[at].array.view()).and_then(|view| view.to_contiguous(&stream, order));
        let (shape, due) = (place.shape().to_vec(), self.due(at, &place));
        if let Some(array) = self.done(made, strict)? {
            self.hold(Held { array, shape, due, fortran }, from.array);
        }
        Ok(())
    }

    /// Concatenates along a new outermost axis, so that only the shapes must agree.
    pub(super) fn concatenate(&mut self, stream: usize, first: &Part, second: &Part) -> Done {
        let (stream, strict) = self.stream(stream);
        let (Some((at, mut place)), Some((other, mut source))) = (self.place(first), self.place(second))
        else {
            return Ok(());
        };
        if place.len() + source.len() > MOST_ELEMENTS || !Place::meet(&mut source, &mut place) {
            return Ok(());
        }
        let due = [self.due(at, &place), self.due(other, &source)].concat();
        let shape = [&[2], place.shape()].concat();
        let views = place
            .view(self.arrays[at].array.view())
            .and_then(|one| Ok([one, source.view(self.arrays[other].array.view())?]));
        let made = views.and_then(|views| Array::stack(&stream, &views, 0));
        if let Some(array) = self.done(made, strict)? {
            self.hold(Held { array, shape, due, fortran: false }, second.array);
        }
        Ok(())
    }

    pub(super) fn large(&mut self, stream: usize, value: usize) -> Done {
        let ((writer, careful), (reader, strict)) = (self.stream(stream), self.stream(stream + 1));
        // Rows of any length; the last element is in the last row.
        let columns = 1 + value % 900;
        let rows = (LARGE_BYTES / size_of::<T>()).div_ceil(columns);
        let values: Vec<T> = crate::patterns::elements(value as u64, rows * columns);
        let made = Array::from_slice(&writer, &[rows, columns], &values);
        let Some(array) = self.done(made, careful)? else { return Ok(()) };
        let turned = value.is_multiple_of(2);
        let seen = if turned { Ok(array.view().transpose()) } else { array.view().flip(&[0]) };
        let Some(found) = self.done(seen.and_then(|view| view.to_vec(&reader)), strict)? else {
            return Ok(());
        };
        let mut due = Vec::new();
        if turned {
            (0..columns).for_each(|column| due.extend((0..rows).map(|row| values[row * columns + column])));
        } else {
            values.chunks(columns).rev().for_each(|row| due.extend(row));
        }
        self.compare(&found, &due, ORDER)
    }

    pub(super) fn across(&mut self, stream: usize, to: &Part, from: &Part) -> Done {
        let (stream, strict) = self.stream(stream);
        let Some((at, mut place)) = self.place(to) else { return Ok(()) };
        let Some((other, mut source)) = self.place(from) else { return Ok(()) };
        if !Place::meet(&mut source, &mut place) {
            return Ok(());
        }
        let Some(there) = self.there.clone() else { return Ok(()) };
        let values = self.due(other, &source);
        let crossed = source.view(self.arrays[other].array.view()).and_then(|from| {
            let mut beyond = Array::<T, D>::zeros(&there, place.shape())?;
            beyond.view_mut().copy_across(&there, &stream, &from)?;
            Ok(beyond)
        });
        let Some(beyond) = self.done(crossed, strict)? else { return Ok(()) };
        let back = place
            .view_mut(self.arrays[at].array.view_mut())
            .and_then(|mut to| to.copy_across(&stream, &there, &beyond.view()));
        if self.done(back, strict)?.is_some() {
            self.write(at, &place, &values);
        }
        Ok(())
    }

    pub(super) fn drop_array(&mut self, array: usize, away: Away) -> Done {
        let Some(at) = array.checked_rem(self.arrays.len()) else { return Ok(()) };
        let Held { array: Memory::Own(array), shape, .. } = self.arrays.swap_remove(at) else {
            return Ok(());
        };
        match away {
            Away::Here => drop(array),
            Away::Deferred => {
                let context = self.shared.context.clone();
                let stream = self.stream(at).0;
                let made = context.defer_cleanup(|| {
                    drop(array);
                    Array::<T, D>::zeros(&stream, &shape)
                });
                if let Some(array) = self.done(made, false)? {
                    let due = vec![T::zeroed(); shape.iter().product()];
                    self.hold(Held { array, shape, due, fortran: false }, MOST_ARRAYS);
                }
            }
            Away::Elsewhere => {
                let shared = array.into_shared();
                let kept = shared.clone();
                let dropped = thread::spawn(move || drop(shared)).join();
                drop(kept);
                if dropped.is_err() {
                    return Err(self.failure(SUCCEEDS, "a drop", "a panic in another thread"));
                }
            }
        }
        Ok(())
    }

    /// Writes the values of a call to the expected elements.
    pub(super) fn write(&mut self, at: usize, place: &Place, values: &[T]) {
        place.picture.write(&mut self.arrays[at].due, values);
    }
}

/// The elements of a shape, given in C order, with the first axis fastest.
pub(super) fn in_fortran_order<T: Copy>(shape: &[usize], values: &[T]) -> Vec<T> {
    let axes: Vec<usize> = (0..shape.len()).rev().collect();
    crate::Picture::of(shape).permute(&axes).read(values)
}
