//! Calls that a program may make.

use std::{fmt::Debug, mem};

use devarray::{Array, Element, Error, Layout, Order, Result, Transfer, TransferError, layout::Slice};
use devarray_mock::MockDevice as Mock;

use super::{
    program::{Held, Program, apply},
    views::{Step, narrowed, positions, read, value, write},
};

impl<T: Element + Debug + PartialEq> Program<T> {
    pub(super) fn allocate(&mut self) {
        let stream = self.stream();
        let most = if self.rank > 3 { 3 } else { 6 };
        let shape: Vec<usize> =
            (0..self.rank).map(|_| (1 + self.rng.below(most)).min(self.rng.below(40))).collect();
        let len = shape.iter().product();
        let values: Vec<T> = (0..len).map(|_| value(&mut self.rng)).collect();
        let known: Vec<_> = values.iter().copied().map(Some).collect();
        let made = match self.rng.below(5) {
            0 => Array::zeros(&stream, &shape).map(|array| (array, vec![Some(T::zeroed()); len])),
            1 => Array::full(&stream, &shape, value(&mut self.rng)).and_then(|array| {
                let found = array.to_vec(&stream)?;
                Ok((array, found.into_iter().map(Some).collect()))
            }),
            2 => Array::uninit_in(&stream, &shape, Order::F).map(|array| (array, vec![None; len])),
            3 => Array::from_slice(&stream, &shape, &values).map(|array| (array, known)),
            _ => {
                let host = Layout::contiguous(&shape, Order::F).unwrap();
                Array::from_host(&stream, &values, &host, Order::K).map(|array| (array, known))
            }
        };
        if let Some((array, model)) = self.checked(made) {
            self.arrays.push(Held { array, model });
        }
    }

    pub(super) fn fill(&mut self) {
        let (stream, value) = (self.stream(), value(&mut self.rng));
        let Some((at, steps, layout)) = self.part() else { return };
        let filled = write(self.arrays[at].array.view_mut(), &steps).fill(&stream, value);
        apply(&mut self.arrays[at].model, &layout, &vec![Some(value); layout.len()], &filled);
        self.checked(filled);
    }

    /// Copies between parts of two arrays, cut to one shape; sometimes the source is one row,
    /// repeated.
    pub(super) fn copy(&mut self) {
        let stream = self.stream();
        let (Some((to, mut into, dst)), Some((from, mut out_of, mut src))) = (self.part(), self.part())
        else {
            return;
        };
        let repeat = self.rng.below(4) == 0 && src.shape()[0] > 0;
        for axis in 0..self.rank {
            let extent = dst.shape()[axis].min(src.shape()[axis]);
            into.push(Step::Cut(axis.cast_signed(), Slice::from(..extent)));
            let kept = if repeat && axis == 0 { 1 } else { extent };
            out_of.push(Step::Cut(axis.cast_signed(), Slice::from(..kept)));
            src = narrowed(&src, &out_of[out_of.len() - 1]);
        }
        let Ok([dst, source]) = self.arrays.get_disjoint_mut([to, from]) else { return };
        let mut view = write(dst.array.view_mut(), &into);
        let source_view = read(source.array.view(), &out_of).broadcast_to(view.layout().shape()).unwrap();
        let values = source.expected(source_view.layout());
        let copied = view.copy_from(&stream, &source_view);
        apply(&mut dst.model, &view.layout().clone(), &values, &copied);
        self.checked(copied);
    }

    /// Fills disjoint parts of one array and copies them to each other, on several streams.
    pub(super) fn parts(&mut self) {
        let Some((at, steps, layout)) = self.part() else { return };
        let (axis, sections) = (self.rng.below(self.rank).cast_signed(), 1 + self.rng.below(11));
        let streams = [(); 3].map(|()| self.stream());
        let Held { array, model } = &mut self.arrays[at];
        let parts = write(array.view_mut(), &steps).array_split(axis, sections).unwrap();
        let mut parts: Vec<_> = parts.zip(layout.array_split(axis, sections).unwrap()).collect();
        let mut outcomes = Vec::new();
        for _ in 0..self.rng.below(16) {
            let stream = self.rng.pick(&streams);
            let [to, from] = [(); 2].map(|()| self.rng.below(sections));
            let outcome = match parts.get_disjoint_mut([to, from]) {
                Ok([(dst, into), (src, out_of)]) if into.shape() == out_of.shape() => {
                    let values: Vec<_> = positions(out_of).into_iter().map(|at| model[at]).collect();
                    let copied = dst.copy_from(stream, &src.as_view());
                    apply(model, into, &values, &copied);
                    copied
                }
                _ => {
                    let ((dst, into), value) = (&mut parts[to], value(&mut self.rng));
                    let filled = dst.reborrow().fill(stream, value);
                    apply(model, into, &vec![Some(value); into.len()], &filled);
                    filled
                }
            };
            outcomes.push(outcome);
        }
        for outcome in outcomes {
            self.checked(outcome);
        }
    }

    pub(super) fn upload(&mut self) {
        let stream = self.stream();
        let Some((at, steps, layout)) = self.part() else { return };
        let values: Vec<T> = (0..layout.len()).map(|_| value(&mut self.rng)).collect();
        let uploaded = write(self.arrays[at].array.view_mut(), &steps).copy_from_slice(&stream, &values);
        apply(
            &mut self.arrays[at].model,
            &layout,
            &values.into_iter().map(Some).collect::<Vec<_>>(),
            &uploaded,
        );
        self.checked(uploaded);
    }

    pub(super) fn download(&mut self) {
        let stream = self.stream();
        let Some((at, steps, layout)) = self.part() else { return };
        let found = read(self.arrays[at].array.view(), &steps).to_vec(&stream);
        let expected = self.arrays[at].expected(&layout);
        if let Some(found) = self.checked(found) {
            self.compare(&found, &expected);
        }
    }

    pub(super) fn started(
        &mut self,
        started: Result<Transfer<T, Mock>, TransferError<T, Mock>>,
        expected: Vec<Option<T>>,
    ) {
        match started {
            Ok(transfer) => match self.rng.below(6) {
                0 => drop(transfer),
                1 => {
                    mem::forget(transfer);
                    self.forgot = true;
                }
                _ => self.in_flight.push((transfer, expected)),
            },
            Err(error) => {
                self.checked::<()>(Err(error.into()));
            }
        }
    }

    pub(super) fn start_upload(&mut self) {
        let stream = self.stream();
        let Some((at, steps, layout)) = self.part() else { return };
        let pinned = self.context.pinned(layout.len());
        let Some(mut host) = self.checked(pinned) else { return };
        host.iter_mut().for_each(|item| *item = value(&mut self.rng));
        let values: Vec<_> = host.iter().copied().map(Some).collect();
        let started = write(self.arrays[at].array.view_mut(), &steps).upload(&stream, host);
        let outcome = started.as_ref().map(|_| ()).map_err(|error| error.error().clone());
        apply(&mut self.arrays[at].model, &layout, &values, &outcome);
        self.started(started, values);
    }

    pub(super) fn start_download(&mut self) {
        let stream = self.stream();
        let Some((at, steps, layout)) = self.part() else { return };
        let pinned = self.context.pinned(layout.len());
        let Some(host) = self.checked(pinned) else { return };
        let expected = self.arrays[at].expected(&layout);
        let started = read(self.arrays[at].array.view(), &steps).download(&stream, host);
        self.started(started, expected);
    }

    pub(super) fn end_transfer(&mut self) {
        if self.in_flight.is_empty() {
            return;
        }
        let (transfer, expected) = self.in_flight.swap_remove(self.rng.below(self.in_flight.len()));
        if self.rng.below(3) > 0 {
            let ended = transfer.wait().map_err(Error::from);
            if let Some(host) = self.checked(ended) {
                self.compare(&host, &expected);
            }
        }
    }

    /// Uploads and downloads a part, and a part of another array, in borrowed memory.
    pub(super) fn scope(&mut self) {
        let stream = self.stream();
        let (Some((at, steps, layout)), Some((other, look, seen))) = (self.part(), self.part()) else {
            return;
        };
        while stream.synchronize().is_err() {} // a scope whose wait fails would end the process
        let values: Vec<T> = (0..layout.len()).map(|_| value(&mut self.rng)).collect();
        let known: Vec<_> = values.iter().copied().map(Some).collect();
        let [mut back, mut found] = [layout.len(), seen.len()].map(|len| vec![T::zeroed(); len]);
        let arrays = &mut self.arrays;
        let [up, down, rest] = stream
            .scope(|scope| {
                let up = scope.upload(&values, &mut write(arrays[at].array.view_mut(), &steps));
                apply(&mut arrays[at].model, &layout, &known, &up);
                let down = scope.download(&read(arrays[at].array.view(), &steps), &mut back);
                [up, down, scope.download(&read(arrays[other].array.view(), &look), &mut found)]
            })
            .unwrap();
        let (expected, other) = (self.arrays[at].expected(&layout), self.arrays[other].expected(&seen));
        self.checked(up);
        for (outcome, found, expected) in [(down, back, expected), (rest, found, other)] {
            if self.checked(outcome).is_some() {
                self.compare(&found, &expected);
            }
        }
    }

    pub(super) fn drop_array(&mut self) {
        if self.arrays.len() > 2 {
            let at = self.rng.below(self.arrays.len());
            self.arrays.swap_remove(at);
        }
    }

    pub(super) fn replace_stream(&mut self) {
        self.streams.swap_remove(self.rng.below(self.streams.len()));
        self.open();
    }

    pub(super) fn event(&mut self) {
        let stream = self.stream();
        let outcome = match (self.events.is_empty(), self.rng.below(5)) {
            (true, _) | (_, 0) => stream.record().map(|event| self.events.push(event)),
            (_, 1) => stream.wait(self.rng.pick(&self.events)),
            (_, 2) => self.rng.pick(&self.events).query().map(drop),
            (_, 3) => self.events.swap_remove(self.rng.below(self.events.len())).synchronize(),
            _ => stream.synchronize(),
        };
        self.checked(outcome);
    }

    /// Turns an array into a shared one, or reads a shared one.
    pub(super) fn share(&mut self) {
        let stream = self.stream();
        if self.arrays.len() > 2 && self.rng.below(2) == 0 {
            let Held { array, model } = self.arrays.swap_remove(self.rng.below(self.arrays.len()));
            let shared = array.into_shared();
            self.shared.push((shared.clone(), model));
        } else if let Some((array, model)) = self.shared.pop() {
            let expected: Vec<_> = positions(array.view().layout()).into_iter().map(|at| model[at]).collect();
            let found = array.view().to_vec(&stream);
            if let Some(found) = self.checked(found) {
                self.compare(&found, &expected);
            }
        }
    }
}
