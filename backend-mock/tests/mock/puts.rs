//! Compares random puts with a model: their results, their findings, and the elements that have a value
//! afterwards.
#![allow(clippy::unwrap_used)] // small numbers

use devarray::{
    Array, ArrayViewMut, Context, Result,
    gather::{OutOfRange, Repeats},
};
use devarray_mock::{Code, MockDevice};

/// A source of random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

/// A put along an axis of a part of an array. The part may be transposed or flipped.
#[derive(Debug)]
struct Case {
    shape: [usize; 2],
    is_fresh: bool,
    is_transposed: bool,
    flipped: Option<usize>,
    /// The ranges of rows and columns of the part in the viewed array.
    part: [(usize, usize); 2],
    axis: usize,
    indices: Vec<i32>,
    out_of_range: OutOfRange,
    repeats: Repeats,
    /// If set, a mask that selects the indices to be put, in order.
    mask: Option<Vec<bool>>,
}

/// The result of a case.
#[derive(Debug, PartialEq)]
struct Outcome {
    /// The value of each element of the array, or none if the element has no value.
    elements: Vec<Option<u32>>,
    /// The first byte of an element that was put twice, if the program promised not to do that.
    repeated: Option<usize>,
    is_in_range: bool,
}

impl Case {
    fn random(seed: u64) -> Self {
        let mut random = Random(seed);
        let mut of = |bound: usize| random.below(bound);
        let shape = [1 + of(7), 1 + of(7)];
        let is_transposed = of(4) == 0;
        let seen = if is_transposed { [shape[1], shape[0]] } else { shape };
        let is_whole = of(2) == 0;
        let part = seen.map(|extent| {
            let start = if is_whole { 0 } else { of(extent) };
            (start, if is_whole { extent } else { start + 1 + of(extent - start) })
        });
        let axis = of(2);
        let bound = part[axis].1 - part[axis].0;
        let mut indices: Vec<i32> = (0..bound).map(|at| i32::try_from(at).unwrap()).collect();
        for at in (1..bound).rev() {
            indices.swap(at, of(at + 1));
        }
        match of(4) {
            // The put uses all indices, or some of them, or repeated ones, or some out of range.
            0 => {}
            1 => indices.truncate(1 + of(bound)),
            kind => {
                let wide = if kind == 2 { bound } else { 3 * bound };
                let shift = i32::try_from(if kind == 2 { 0 } else { bound }).unwrap();
                indices = (0..1 + of(8)).map(|_| i32::try_from(of(wide)).unwrap() - shift).collect();
            }
        }
        let modes = [OutOfRange::Error, OutOfRange::Wrap, OutOfRange::Clamp];
        let mask = (of(4) == 0).then(|| (0..bound).map(|_| of(3) > 0).collect());
        Self {
            shape,
            is_fresh: of(3) > 0,
            is_transposed,
            flipped: (of(3) == 0).then(|| of(2)),
            part,
            axis,
            indices,
            out_of_range: modes[of(3)],
            repeats: if of(2) == 0 { Repeats::None } else { Repeats::Last },
            mask,
        }
    }

    fn part_of<'a>(
        &self,
        array: &'a mut Array<u32, MockDevice>,
    ) -> Result<ArrayViewMut<'a, u32, MockDevice>> {
        let mut view = array.view_mut();
        if self.is_transposed {
            view = view.transpose();
        }
        for (axis, (start, end)) in self.part.into_iter().enumerate() {
            view = view.slice_axis(axis, start..end)?;
        }
        match self.flipped {
            Some(axis) => view.flip(&[axis]),
            None => Ok(view),
        }
    }

    /// The shape of the values, with one value for each index.
    fn values_shape(&self) -> [usize; 2] {
        let mut shape = self.part.map(|(start, end)| end - start);
        shape[self.axis] = self.mask.as_ref().map_or(self.indices.len(), Vec::len);
        shape
    }

    fn on_simulator(&self) -> Result<Outcome> {
        let device = MockDevice::new();
        let stream = Context::new(device.clone())?.stream()?;
        let len = self.shape[0] * self.shape[1];
        let mut array = if self.is_fresh {
            Array::uninit(&stream, &self.shape)?
        } else {
            Array::full(&stream, &self.shape, 7)?
        };
        let shape = self.values_shape();
        let values: Vec<u32> = (100..).take(shape[0] * shape[1]).collect();
        let values = Array::from_slice(&stream, &shape, &values)?;
        if let Some(mask) = &self.mask {
            let ones: Vec<u8> = mask.iter().map(|&is_put| is_put.into()).collect();
            let mask = Array::from_slice(&stream, &[ones.len()], &ones)?.map(&stream, |x| x.equal(1))?;
            let mut count = Array::uninit(&stream, &[])?;
            values.view().compress_into(
                &stream,
                &mask,
                self.axis,
                &mut self.part_of(&mut array)?,
                &mut count.view_mut(),
            )?;
        } else {
            let by = Array::from_slice(&stream, &[self.indices.len()], &self.indices)?;
            let (out_of_range, repeats) = (self.out_of_range, self.repeats);
            self.part_of(&mut array)?.put(&stream, &by, &values, self.axis, out_of_range, repeats)?;
        }
        let is_in_range = stream.synchronize().is_ok();
        let findings = device.report().findings;
        let repeated = findings.iter().find(|finding| finding.code == Code::RepeatedIndex);
        assert_eq!(findings.len(), usize::from(repeated.is_some()), "{findings:?}");
        let repeated = repeated.map(|finding| finding.bytes.start);
        // One element at a time, because a read reports only its first byte without a value.
        let mut elements = Vec::new();
        for at in 0..len {
            let before = device.report().findings.len();
            let [row, column] = [at / self.shape[1], at % self.shape[1]];
            let element = array.view().slice_axis(0, row..row + 1)?.slice_axis(1, column..column + 1)?;
            let found = element.to_vec(&stream)?;
            let findings = device.report().findings;
            assert!(findings[before..].iter().all(|finding| finding.code == Code::Uninitialized));
            elements.push((findings.len() == before).then_some(found[0]));
        }
        Ok(Outcome { elements, repeated, is_in_range })
    }

    /// The position in the array of an element of the part, given by its index.
    fn place(&self, mut at: [usize; 2]) -> usize {
        if let Some(axis) = self.flipped {
            at[axis] = self.part[axis].1 - self.part[axis].0 - 1 - at[axis];
        }
        let mut at = [at[0] + self.part[0].0, at[1] + self.part[1].0];
        if self.is_transposed {
            at.swap(0, 1);
        }
        at[0] * self.shape[1] + at[1]
    }

    fn by_model(&self) -> Outcome {
        let len = self.shape[0] * self.shape[1];
        let mut elements = vec![(!self.is_fresh).then_some(7); len];
        let (mut times, mut is_in_range) = (vec![0; len], true);
        let bound = i32::try_from(self.part[self.axis].1 - self.part[self.axis].0).unwrap();
        let mut selected = -1;
        let [rows, columns] = self.values_shape();
        let places: Vec<Option<usize>> = (0..[rows, columns][self.axis])
            .map(|at| {
                let index = match &self.mask {
                    Some(mask) => {
                        selected += i32::from(mask[at]);
                        return mask[at].then(|| usize::try_from(selected).unwrap());
                    }
                    None => self.indices[at],
                };
                let index = match self.out_of_range {
                    OutOfRange::Wrap => index.rem_euclid(bound),
                    OutOfRange::Clamp => index.clamp(0, bound - 1),
                    _ if index < 0 => index + bound,
                    _ => index,
                };
                is_in_range &= (0..bound).contains(&index);
                usize::try_from(index).ok().filter(|_| index < bound)
            })
            .collect();
        for at in 0..rows * columns {
            let mut place = [at / columns, at % columns];
            let Some(index) = places[place[self.axis]] else { continue };
            place[self.axis] = index;
            let place = self.place(place);
            elements[place] = Some(100 + u32::try_from(at).unwrap());
            // If a row is put twice, the finding names its first element.
            times[place] += usize::from(self.axis == 1 || at % columns == 0);
        }
        let is_promised = self.mask.is_some() || self.repeats == Repeats::None;
        let repeated = times.iter().position(|&times| times > 1).filter(|_| is_promised);
        Outcome { elements, repeated: repeated.map(|at| at * 4), is_in_range }
    }
}

#[test]
fn random_puts_leave_and_tell_what_a_model_says() -> Result<()> {
    let (mut fresh, mut repeated, mut outside, mut masked) = (0, 0, 0, 0);
    for seed in 0..1500 {
        let case = Case::random(seed);
        let due = case.by_model();
        assert_eq!(case.on_simulator()?, due, "{seed}: {case:?}");
        fresh += usize::from(due.elements.contains(&None));
        repeated += usize::from(due.repeated.is_some());
        outside += usize::from(!due.is_in_range);
        masked += usize::from(case.mask.is_some());
    }
    let counts = [fresh, repeated, outside, masked];
    assert!(counts.iter().all(|&count| count > 40), "{counts:?}");
    Ok(())
}

/// The twin: if the model leaves out one index, other elements have a value.
#[test]
fn a_model_that_leaves_an_index_out_is_told_from_the_simulator() -> Result<()> {
    let mut differ = 0;
    for seed in 0..200 {
        let mut case = Case::random(seed);
        let found = case.on_simulator()?;
        case.indices.pop();
        differ += usize::from(case.mask.is_none() && case.by_model() != found);
    }
    assert!(differ > 50, "{differ}");
    Ok(())
}
