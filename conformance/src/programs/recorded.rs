//! Recorded work in programs. The calls are the same, on arguments that stand for arrays.

use devarray::{
    Array, ArrayView, ArrayViewMut, Device, Element, Layout, Order, Recording, Result, StreamHandle,
    backend::Capability,
    function::ElementType,
    recorded::{Number, Reads, Writes},
};

use super::{
    arrays::{MOST_ELEMENTS, in_fortran_order},
    elements::Elements,
    failure::Failure,
    held::{Held, Memory, Records},
    machine::{Borrowed, Done, MOST_ARRAYS, Machine},
    op::{Op, Part, Start},
    part::{Place, Step},
};

/// An argument: the number of the array, and the part of it.
type Side = (usize, Place);

type Kinds<T> = (Writes<T>, Writes<T>, Reads<T>, Number<u64>);

/// A recording, and the elements that a launch of it writes to the first two arguments.
type Taken<T, D> = (Recording<D, Kinds<T>>, [Vec<T>; 2]);

impl<T: Elements, D: Device> Machine<'_, T, D> {
    /// Elements from the host. While work is recorded, which does not allow uploads, they are a shared array.
    pub(super) fn given<E: Element>(
        &self,
        stream: &StreamHandle<D>,
        shape: &[usize],
        elements: &[E],
    ) -> Result<Memory<'static, E, D>> {
        Ok(match &self.recording {
            None => Memory::Own(Array::from_slice(stream, shape, elements)?),
            Some(Records { outside, .. }) => {
                Memory::Shared(Array::from_slice(outside, shape, elements)?.into_shared())
            }
        })
    }

    pub(super) fn recorded(
        &mut self,
        stream: usize,
        parts: [&Part; 3],
        launches: usize,
        value: usize,
        body: &[(usize, Op)],
    ) -> Done {
        for missing in self.arrays.len()..parts.len() {
            self.create(stream, &[2, 3], Start::Uploaded, value + missing)?;
        }
        let Some(recorded) = self.three(parts) else { return Ok(()) };
        let mut kept = None;
        for launch in 0..1 + launches % 3 {
            let (on, strict) = self.stream(stream + launch * (value % 4));
            let mut sides = recorded.clone();
            for (side, (part, bit)) in sides.iter_mut().zip(parts.iter().zip(0..)) {
                // The first launch uses the recorded arrays.
                if launch > 0 && value >> (3 * launch + bit) & 1 == 1 {
                    let Some(other) = self.alike(stream + launch, side, part, value + launch)? else {
                        return Ok(());
                    };
                    *side = other;
                }
            }
            let number = T::values(value + launch, 1)[0].bits();
            // Recorded again for each launch, to compute the expected elements. Only the first recording is
            // launched.
            let (recording, due) = self.taken(stream, &sides, number, body)?;
            let recording = kept.get_or_insert(recording);
            let launched =
                self.arguments(&sides, |to, beside, from| recording.launch(&on, (to, beside, from, number)));
            if self.done(launched, strict)?.is_some() {
                for ((at, place), due) in sides.iter().zip(due) {
                    self.write(*at, place, &due);
                }
            }
        }
        drop(kept);
        while self.arrays.len() > MOST_ARRAYS {
            self.arrays.swap_remove(value % MOST_ARRAYS);
        }
        Ok(())
    }

    /// Parts of three different arrays.
    fn three(&self, [to, beside, from]: [&Part; 3]) -> Option<[Side; 3]> {
        let count = self.arrays.len();
        let first = to.array.checked_rem(count)?;
        let second = (first + 1 + beside.array.checked_rem(count - 1)?) % count;
        let mut others = (0..count).filter(|at| ![first, second].contains(at));
        let third = others.nth(from.array.checked_rem(count.checked_sub(2)?)?)?;
        Some(
            [(first, to), (second, beside), (third, from)]
                .map(|(at, part)| (at, Place::of(&self.arrays[at].shape, &part.transforms))),
        )
    }

    /// An argument with the same layout as another one, in a new array; it has another address, and often
    /// another offset.
    fn alike(
        &mut self,
        stream: usize,
        (at, _): &Side,
        part: &Part,
        value: usize,
    ) -> std::result::Result<Option<Side>, Failure> {
        let Held { shape, fortran, due, .. } = &self.arrays[*at];
        let (fortran, count) = (*fortran, if due.len() > MOST_ELEMENTS / 4 { 1 } else { 1 + value % 3 });
        let (axis, mut shape) = (if fortran { shape.len() } else { 0 }, shape.clone());
        let place = Place::of(&shape, &part.transforms);
        shape.insert(axis, count);
        let due = T::values(value, shape.iter().product());
        let (on, strict) = self.stream(stream);
        let made = if fortran {
            Layout::contiguous(&shape, Order::F)
                .map_err(devarray::Error::from)
                .and_then(|host| Array::from_host(&on, &in_fortran_order(&shape, &due), &host, Order::K))
        } else {
            Array::from_slice(&on, &shape, &due)
        };
        let Some(array) = self.done(made, strict)? else { return Ok(None) };
        let mut inner = Place::whole(&shape);
        inner.push(Step::Index(axis, value % count));
        place.steps.into_iter().for_each(|step| inner.push(step));
        self.arrays.push(Held { array: Memory::Own(array), shape, due, fortran });
        Ok(Some((self.arrays.len() - 1, inner)))
    }

    /// Makes a call with views of three arrays.
    fn arguments<R>(
        &mut self,
        sides: &[Side; 3],
        call: impl FnOnce(
            &mut ArrayViewMut<'_, T, D>,
            &mut ArrayViewMut<'_, T, D>,
            &ArrayView<'_, T, D>,
        ) -> Result<R>,
    ) -> Result<R> {
        let [to, beside, from] = sides;
        let Ok([first, second, third]) = self.arrays.get_disjoint_mut([to.0, beside.0, from.0]) else {
            unreachable!("they are three arrays")
        };
        let mut first = to.1.view_mut(first.array.view_mut())?;
        let mut second = beside.1.view_mut(second.array.view_mut())?;
        call(&mut first, &mut second, &from.1.view(third.array.view())?)
    }

    /// Records the calls of a body, with these arguments in the model.
    fn taken(
        &mut self,
        stream: usize,
        sides: &[Side; 3],
        number: u64,
        body: &[(usize, Op)],
    ) -> std::result::Result<Taken<T, D>, Failure> {
        let (outside, _) = self.stream(stream);
        let shared = self.shared;
        let of = |(at, place): &Side| Held {
            array: (),
            shape: place.shape().to_vec(),
            due: self.due(*at, place),
            fortran: false,
        };
        let [first, second, third] = [of(&sides[0]), of(&sides[1]), of(&sides[2])];
        let mut outcome: std::result::Result<_, Failure> = Ok([Vec::new(), Vec::new()]);
        let taken = self.arguments(sides, |to, beside, from| {
            outside.record_work((to, beside, from, number), |on, (to, beside, from, by)| {
                let mut machine = Machine {
                    shared,
                    there: None,
                    arrays: vec![
                        first.with(|()| Memory::Written(to)),
                        second.with(|()| Memory::Written(beside)),
                        third.with(|()| Memory::Read(from)),
                    ],
                    transfers: Vec::new(),
                    borrowed: Borrowed(Vec::new()),
                    operation: 0,
                    recording: Some(Records { on: on.clone(), outside: outside.clone() }),
                };
                outcome = machine.body(&by, number, body);
                Ok(())
            })
        });
        match taken {
            Ok(recording) => Ok((recording, outcome?)),
            Err(error) => Err(self.failure(super::failure::SUCCEEDS, "a recording", error.to_string())),
        }
    }

    /// Makes the calls of a body. Returns the elements that its first two arrays then hold.
    fn body(
        &mut self,
        by: &ArrayView<'_, u64, D>,
        number: u64,
        body: &[(usize, Op)],
    ) -> std::result::Result<[Vec<T>; 2], Failure> {
        if let Some(computing) = self.computes(Capability::Functions) {
            let found = (ElementType::U64, by.clone().into_erased());
            self.hold_cast(&self.stream(0), computing, found, (Vec::new(), vec![T::of_bits(number)]))?;
        }
        for (operation, op) in body {
            self.operation = *operation;
            self.call(*op, &[])?;
        }
        let mut due = self.arrays.drain(..).map(|held| held.due);
        Ok([due.next().unwrap_or_default(), due.next().unwrap_or_default()])
    }
}
