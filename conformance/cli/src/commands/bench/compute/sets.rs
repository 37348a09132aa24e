//! The inputs and results of one case, and their comparison with the simulator.

use std::{ops::Range, time::Instant};

use anyhow::Result;
use devarray::{ErasedArray, ErasedView, Order, StreamHandle, backend::Compute, function::ElementType};
use devarray_mock::MockDevice;

use crate::{
    bench::{ComputeCase, Numbers, SmallResult, Target, windows},
    functions::{Call, OfElements, with_views},
    steps::Step,
};

/// Every byte of a result before it is written: no `bool` has this value, and no element in the
/// check.
const POISON: u8 = 0xa5;

/// Calls the function once.
pub(super) type Timed<'c> = &'c mut dyn FnMut() -> Result<()>;

/// Inputs and results, in more sets than any cache holds.
pub(super) struct Sets<'s, D: Target> {
    stream: &'s StreamHandle<D>,
    case: &'s ComputeCase,
    steps: Vec<&'s [Step]>,
    sets: Vec<(Vec<ErasedArray<D>>, ErasedArray<D>)>,
}

impl<'s, D: Target> Sets<'s, D> {
    pub(super) fn new(stream: &'s StreamHandle<D>, case: &'s ComputeCase, count: usize) -> Result<Self> {
        let result_bytes = case.result_type.len_bytes();
        let result = || ErasedArray::uninit(stream, &case.result_shape, result_bytes);
        let input = |(number, input): (usize, &crate::bench::ComputeInput)| {
            let mut array = ErasedArray::uninit(stream, &input.shape, input.element_type.len_bytes())?;
            let numbers = Numbers { element_type: input.element_type, input: number, is_mixed: true };
            numbers.write(stream, &mut array)?;
            anyhow::Ok(array)
        };
        let inputs: Vec<_> = case.inputs.iter().enumerate().map(input).collect::<Result<_>>()?;
        let mut sets = vec![(inputs, result()?)];
        for _ in 1..count {
            let again = sets[0].0.iter().map(|array| array.view().to_contiguous(stream, Order::C));
            sets.push((again.collect::<devarray::Result<_>>()?, result()?));
        }
        sets[0].1.view_mut().fill_bytes(stream, &[POISON; 8][..result_bytes])?;
        stream.synchronize()?;
        Ok(Self { stream, case, steps: case.inputs.iter().map(|input| &input.steps[..]).collect(), sets })
    }

    /// Enqueues the function for one of the sets.
    pub(super) fn enqueue(&mut self, set: usize) -> Result<()> {
        let count = self.sets.len();
        let (bases, result) = &mut self.sets[set % count];
        let (stream, case) = (self.stream, self.case);
        with_views(stream, bases, &self.steps, &mut |inputs| {
            Ok(call(case, inputs).compute_into(stream, &mut result.view_mut())?)
        })
    }

    /// Passes on a function that makes the call once on the first set, with views made before.
    pub(super) fn with_call(
        &mut self,
        of: SmallResult,
        finish: &mut dyn FnMut(Timed<'_>) -> Result<()>,
    ) -> Result<()> {
        let (stream, case) = (self.stream, self.case);
        let (bases, result) = &mut self.sets[0];
        with_views(stream, bases, &self.steps, &mut |inputs| {
            let function = call(case, inputs);
            finish(&mut || match of {
                SmallResult::New => Ok(function.compute(stream).map(drop)?),
                SmallResult::Into => Ok(function.compute_into(stream, &mut result.view_mut())?),
                SmallResult::Item => Ok(function.item(stream).map(drop)?),
            })
        })
    }

    /// The seconds of the first call, on the host's clock. Blocks.
    pub(super) fn first(&mut self) -> Result<f64> {
        let begun = Instant::now();
        self.enqueue(0)?;
        self.stream.synchronize()?;
        Ok(begun.elapsed().as_secs_f64())
    }

    /// Compares parts of the first set with the simulator. Each part is computed by itself; and if
    /// a part contains everything that its results depend on, also as part of the whole. The inner
    /// error means a wrong result. Blocks.
    pub(super) fn check(&self, simulator: &StreamHandle<MockDevice>) -> Result<Result<(), String>> {
        let Self { stream, case, .. } = self;
        let (bases, whole) = &self.sets[0];
        // Positions count from the start of the computed array.
        let is_anywhere = case.function.needed_rank() == 0;
        with_views(stream, bases, &self.steps, &mut |inputs| {
            for window in windows(&case.shape, &case.joined) {
                let parts = inputs.iter().map(|input| part(input, &window));
                let parts = parts.collect::<devarray::Result<Vec<_>>>()?;
                let copies = parts.iter().map(|part| on_simulator(stream, part, simulator));
                let copies = copies.collect::<devarray::Result<Vec<_>>>()?;
                let views: Vec<_> = copies.iter().map(ErasedArray::view).collect();
                let expected = call(case, &views).compute(simulator)?.view().to_bytes(simulator)?;
                let found = call(case, &parts).compute(stream)?.view().to_bytes(stream)?;
                if let Err(cause) = same(&expected, &found, case.result_type) {
                    return Ok(Err(format!("computed of {window:?} alone: {cause}")));
                }
                let has_all = case.joined.iter().all(|&axis| window[axis] == (0..case.shape[axis]));
                if has_all && (is_anywhere || window.iter().all(|range| range.start == 0)) {
                    let found = result_part(case, &whole.view(), &window)?.to_bytes(stream)?;
                    if let Err(cause) = same(&expected, &found, case.result_type) {
                        return Ok(Err(format!("{window:?}: {cause}")));
                    }
                }
            }
            Ok(Ok(()))
        })
    }

    /// Gives all sets the contents that are timed. Blocks.
    pub(super) fn prepare(&mut self) -> Result<()> {
        for (bases, _) in &mut self.sets {
            for (number, (array, input)) in bases.iter_mut().zip(&self.case.inputs).enumerate() {
                if input.element_type == ElementType::Bool {
                    let numbers =
                        Numbers { element_type: input.element_type, input: number, is_mixed: false };
                    numbers.write(self.stream, array)?;
                }
            }
        }
        Ok(())
    }
}

fn call<'a, 'v, D: Compute>(case: &'a ComputeCase, inputs: &'a [ErasedView<'v, D>]) -> Call<'a, 'v, D> {
    Call { function: &case.function, inputs, scalars: &[], of_elements: case.of_elements.as_ref() }
}

/// The part of an input that is needed for a part of the shape that all inputs broadcast to.
fn part<'v, D: Compute>(
    input: &ErasedView<'v, D>,
    window: &[Range<usize>],
) -> devarray::Result<ErasedView<'v, D>> {
    let own = &window[window.len() - input.shape().len()..];
    let axes = own.iter().zip(input.shape()).enumerate();
    let axes = axes.filter(|&(_, (_, &extent))| extent != 1);
    axes.into_iter().try_fold(input.clone(), |view, (axis, (range, _))| {
        view.slice_axis(axis.cast_signed(), range.clone())
    })
}

fn on_simulator<D: Compute>(
    stream: &StreamHandle<D>,
    view: &ErasedView<'_, D>,
    simulator: &StreamHandle<MockDevice>,
) -> devarray::Result<ErasedArray<MockDevice>> {
    ErasedArray::from_bytes(simulator, view.shape(), view.item_bytes(), &view.to_bytes(stream)?)
}

/// The part of the result that is computed from a part of the shape.
fn result_part<'v, D: Compute>(
    case: &ComputeCase,
    whole: &ErasedView<'v, D>,
    window: &[Range<usize>],
) -> devarray::Result<ErasedView<'v, D>> {
    let is_reduced = matches!(case.of_elements, Some(OfElements::Reduced(..)));
    let kept = (0..window.len()).filter(|axis| !(is_reduced && case.joined.contains(axis)));
    kept.enumerate().try_fold(whole.clone(), |view, (axis, from)| {
        view.slice_axis(axis.cast_signed(), window[from].clone())
    })
}

/// Checks that all elements have the same bits.
fn same(expected: &[u8], found: &[u8], element_type: ElementType) -> Result<(), String> {
    let item_bytes = element_type.len_bytes();
    let (expected, found) = (expected.chunks(item_bytes), found.chunks(item_bytes));
    let count = (expected.len(), found.len());
    if count.0 != count.1 {
        return Err(format!("{} elements, the simulator has {}", count.1, count.0));
    }
    let mut wrong = expected.zip(found).enumerate().filter(|(_, (expected, found))| expected != found);
    let Some((at, (expected, found))) = wrong.next() else { return Ok(()) };
    let more = wrong.count();
    Err(format!(
        "element {at} has the bytes {found:02x?}, the simulator {expected:02x?} ({more} more differ)"
    ))
}

#[cfg(test)]
mod tests {
    use devarray::Context;

    use super::*;

    #[test]
    fn a_wrong_element_of_a_part_is_found() {
        let simulator = Context::new(MockDevice::new()).unwrap().stream().unwrap();
        for (text, at) in [
            ("small;x0 + x1;f32@4x5/permute(1,0),f32@5x4", 0),
            ("large;x0 * 2;f32@300x300", 89_999),
            ("rows;x0;f32@300x300;sum@1", 299),
            ("total;x0;i32@3x3;sum", 0),
            ("run;x0;i16@50;cumsum@0", 49),
            ("all;x0;bool@3;all", 0),
        ] {
            let case = ComputeCase::parse(text).unwrap();
            let stream = Context::new(MockDevice::new()).unwrap().stream().unwrap();
            let mut sets = Sets::new(&stream, &case, 1).unwrap();
            assert!(sets.check(&simulator).unwrap().is_err(), "{text}: nothing was computed yet");
            sets.first().unwrap();
            assert_eq!(sets.check(&simulator).unwrap(), Ok(()), "{text}");
            let result = sets.sets[0].1.view_mut();
            let mut one =
                result.reshape(&[-1_isize][..], Order::C).unwrap().slice_axis(0, at..at + 1).unwrap();
            let bytes: Vec<u8> =
                one.as_view().to_bytes(&stream).unwrap().iter().map(|byte| byte ^ 1).collect();
            one.copy_from_bytes(&stream, &bytes).unwrap();
            assert!(sets.check(&simulator).unwrap().is_err(), "{text}: element {at} is wrong");
        }
    }
}
