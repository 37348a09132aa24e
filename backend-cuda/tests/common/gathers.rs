//! Random programs of gathers, which a device and the simulator run alike.

use devarray::{
    Array, ArrayView, Bool, Context, Element, Error, Order, Result, StreamHandle,
    backend::Compute,
    gather::{Index, IndexError, OutOfRange, Repeats},
};
use devarray_conformance::{Rng, patterns::elements};
use devarray_mock::{MockDevice, Schedule};

pub(crate) fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap()
}

/// Indices, mostly in range; a few are far from it.
fn indices<I: Index + TryFrom<i64>>(rng: &mut Rng, len: usize, bound: usize) -> Vec<I> {
    let mut one = || match rng.below(40) {
        0 => rng.bits().cast_signed() >> rng.below(60),
        1 => -1 - signed(rng.below(bound)),
        _ => signed(rng.below(bound)),
    };
    (0..len).map(|_| I::try_from(one()).unwrap_or_else(|_| I::zeroed())).collect()
}

/// The results of a program, in bytes, and the errors it was told.
type Outcome = (Vec<Vec<u8>>, Vec<IndexError>);

/// A program of gathers that both devices run: arrays of up to three axes, permuted, reversed and
/// sliced, indices of every type, some out of range.
fn program<T: Element, I: Index + TryFrom<i64>, D: Compute>(
    stream: &StreamHandle<D>,
    which: u64,
    longest: &[usize],
) -> Result<Outcome> {
    let (mut rng, mut found, mut told) = (Rng::new(which), Vec::new(), Vec::new());
    let longest = longest[rng.below(longest.len())];
    let base: Vec<usize> = (0..3).map(|_| 1 + rng.below(longest)).collect();
    let data: Vec<T> = elements(rng.bits(), base.iter().product());
    let array = Array::from_slice(stream, &base, &data)?;
    let order = [[0, 1, 2], [0, 2, 1], [2, 1, 0], [1, 2, 0]][rng.below(4)];
    let mut view: ArrayView<'_, T, D> = array.view().permute(&order)?;
    for axis in 0..3 {
        if rng.below(4) == 0 {
            view = view.flip(&[axis])?;
        }
        if rng.below(4) == 0 {
            view =
                view.slice_axis(axis, rng.below(2).cast_signed().min(view.shape()[0].cast_signed() - 1)..)?;
        }
    }
    if view.layout().is_empty() {
        return Ok((found, told));
    }
    let mode = [OutOfRange::Error, OutOfRange::Wrap, OutOfRange::Clamp][rng.below(3)];
    let axis = rng.below(3);
    let (shape, bound) = (view.shape().to_vec(), view.shape()[axis]);
    let named = axis.cast_signed();
    let tell = |told: &mut Vec<IndexError>| loop {
        match stream.synchronize() {
            Ok(()) => return Ok(()),
            Err(Error::Index { error, .. }) => told.push(error),
            Err(error) => return Err(error),
        }
    };
    let bytes = |array: Array<T, D>| array.view().as_erased().to_bytes(stream);

    let by = Array::from_slice(stream, &[3, 50], &indices::<I>(&mut rng, 150, bound))?;
    let taken = view.take(stream, &by.transpose(), named, mode)?;
    let flat = Array::from_slice(stream, &[900], &indices::<I>(&mut rng, 900, view.layout().len()))?;
    let picked = view.take_flat(stream, &flat, mode)?;
    let mut each = shape.clone();
    each[axis] = 1 + rng.below(30);
    let count = each.iter().product();
    let along = Array::from_slice(stream, &each, &indices::<I>(&mut rng, count, bound))?;
    let sorted = view.take_along_axis(stream, &along, named, mode)?;
    tell(&mut told)?;

    let mut target = Array::<T, D>::zeros(stream, &shape)?;
    target.view_mut().put(stream, &by, &taken_like(&taken, axis)?, named, mode, Repeats::Last)?;
    target.view_mut().put_along_axis(stream, &along, &sorted, named, mode, Repeats::Last)?;
    target.view_mut().permute(&[2, 0, 1])?.put_flat(stream, &flat, &picked, mode, Repeats::Last)?;
    tell(&mut told)?;
    let mask: Vec<Bool> =
        elements::<u8>(rng.bits(), bound).iter().map(|byte| Bool::from(byte % 3 == 0)).collect();
    let mask = Array::from_slice(stream, &[bound], &mask)?;
    found.push(bytes(view.compress(stream, &mask, named)?)?);
    let all: Vec<Bool> = elements::<u8>(rng.bits(), view.layout().len())
        .iter()
        .map(|byte| Bool::from(byte % 5 == 0))
        .collect();
    let all = Array::from_slice(stream, &shape, &all)?;
    found.push(bytes(view.extract(stream, &all)?)?);
    for array in [taken, picked, sorted, target] {
        found.push(bytes(array)?);
    }
    Ok((found, told))
}

/// The axes of indices that were transposed, the other way round again.
fn taken_like<'a, T: Element, D: Compute>(
    taken: &'a Array<T, D>,
    axis: usize,
) -> Result<ArrayView<'a, T, D>> {
    let mut order: Vec<isize> = (0..4).collect();
    order.swap(axis, axis + 1);
    taken.permute(&order)
}

/// Checks that a device does with a program what the simulator does. `longest` says how long axes
/// may be.
fn both<T: Element, I: Index + TryFrom<i64>, D: Compute>(
    device: &StreamHandle<D>,
    which: u64,
    longest: &[usize],
) {
    let simulated = MockDevice::builder().schedule(Schedule::Eager).build();
    let simulated = Context::new(simulated).unwrap().stream().unwrap();
    let (found, due) = (
        program::<T, I, _>(device, which, longest).unwrap(),
        program::<T, I, _>(&simulated, which, longest).unwrap(),
    );
    assert_eq!(found.1, due.1, "what is told of program {which}");
    for (nth, (found, due)) in found.0.iter().zip(&due.0).enumerate() {
        let first = found.iter().zip(due).position(|(a, b)| a != b);
        assert!(
            found.len() == due.len() && first.is_none(),
            "result {nth} of program {which}: byte {first:?}"
        );
    }
}

/// Compares types that depend on the program.
pub(crate) fn compare<D: Compute>(device: &StreamHandle<D>, which: u64, longest: &[usize]) {
    match which % 6 {
        0 => both::<u8, i32, D>(device, which, longest),
        1 => both::<u16, i64, D>(device, which, longest),
        2 => both::<f32, u32, D>(device, which, longest),
        3 => both::<u64, i32, D>(device, which, longest),
        4 => both::<[u64; 2], i64, D>(device, which, longest),
        _ => both::<[u8; 12], u32, D>(device, which, longest),
    }
}

/// Each of many operations before a wait is told of, in order, if it has an index out of range.
pub(crate) fn tells_of_many<D: Compute>(stream: &StreamHandle<D>, operations: i64) {
    let x = Array::<u8, D>::zeros(stream, &[5]).unwrap();
    // Two of three operations are wrong.
    let indices: Vec<i64> = (0..operations).map(|at| if at % 3 == 0 { 4 } else { 5 + at }).collect();
    let by = Array::from_slice(stream, &[indices.len()], &indices).unwrap();
    for _ in 0..2 {
        for at in 0..indices.len().cast_signed() {
            drop(x.take(stream, &by.slice_axis(0, at..at + 1).unwrap(), 0, OutOfRange::Error).unwrap());
        }
        for value in indices.iter().copied().filter(|&value| value != 4) {
            let told = stream.synchronize();
            assert!(matches!(&told, Err(Error::Index { error, .. }) if error.value == value), "{told:?}");
        }
        stream.synchronize().unwrap();
    }
}

/// Picks elements by flat index from a view of 26 axes that cannot be joined, and checks them.
pub(crate) fn picks_from_very_many_axes<D: Compute>(stream: &StreamHandle<D>) {
    let x = Array::<u32, D>::arange(stream, 0, 1 << 13, 1).unwrap();
    let halves = x.reshape(&[2; 13], Order::C).unwrap();
    let order: Vec<isize> = (0..13).rev().collect();
    let turned = halves.permute(&order).unwrap();
    // Between any two of them an axis along which elements repeat.
    let mut apart = turned;
    for axis in (0..13).rev() {
        apart = apart.expand_dims(axis).unwrap();
    }
    let all = apart.broadcast_to(&[2; 26]).unwrap();
    let indices: Vec<i32> = (0..1 << 26).step_by(65_521).collect();
    let by = Array::from_slice(stream, &[indices.len()], &indices).unwrap();
    let found = all.take_flat(stream, &by, OutOfRange::Error).unwrap().to_vec(stream).unwrap();
    // Every second bit counts, the last axis of the view first in memory.
    let due = indices
        .iter()
        .map(|at| (0..13).fold(0, |sum, axis| sum | (at >> (24 - 2 * axis) & 1).cast_unsigned() << axis));
    assert!(found.iter().copied().eq(due), "{found:?}");
}
