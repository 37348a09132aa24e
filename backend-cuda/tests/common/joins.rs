//! Joins and paddings of arrays of any element size and layout, beside a naive oracle.

use devarray::{Array, Context, Device, ErasedArray, ErasedView, Pad, StreamHandle};
use devarray_conformance::Rng;

/// Element sizes: those that kernels know, and others.
const ITEM_BYTES: [usize; 8] = [1, 2, 4, 8, 16, 3, 6, 12];

/// Elements by number, in C order.
#[derive(Debug, Clone)]
struct Model {
    shape: Vec<usize>,
    numbers: Vec<u64>,
}

/// The part of an array that a view shows.
#[derive(Debug, Clone, Copy)]
enum Shown {
    Whole,
    Transposed,
    Flipped(usize),
    Repeated(usize),
    Middle(usize),
}

fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    (0..shape.iter().product()).map(move |mut number: usize| {
        let mut index = vec![0; shape.len()];
        for (at, extent) in index.iter_mut().zip(shape).rev() {
            (*at, number) = (number % extent, number / extent);
        }
        index
    })
}

fn place(shape: &[usize], index: &[usize]) -> usize {
    shape.iter().zip(index).fold(0, |place, (extent, at)| place * extent + at)
}

impl Model {
    fn of(shape: &[usize], number: impl FnMut(Vec<usize>) -> u64) -> Self {
        Self { shape: shape.to_vec(), numbers: indices(shape).map(number).collect() }
    }

    fn at(&self, index: &[usize]) -> u64 {
        self.numbers[place(&self.shape, index)]
    }

    /// Bytes that tell which element it is, as far as so few can.
    fn bytes(&self, item_bytes: usize) -> Vec<u8> {
        let item = |&number: &u64| {
            let words = (0..2).map(move |word| Rng::new(number * 2 + word).bits().to_le_bytes());
            words.flatten().take(item_bytes)
        };
        self.numbers.iter().flat_map(item).collect()
    }
}

impl Shown {
    fn random(rng: &mut Rng, rank: usize) -> Self {
        let axis = if rank == 0 { 0 } else { rng.below(rank) };
        match rng.below(10) {
            _ if rank == 0 => Self::Whole,
            0 => Self::Transposed,
            1 => Self::Flipped(axis),
            2 => Self::Repeated(axis),
            3 => Self::Middle(axis),
            _ => Self::Whole,
        }
    }

    /// The shape of the array whose view is of that shape.
    fn base(self, shape: &[usize]) -> Vec<usize> {
        let mut base = shape.to_vec();
        match self {
            Self::Whole | Self::Flipped(_) => {}
            Self::Transposed => base.reverse(),
            Self::Repeated(axis) => base[axis] = 1,
            Self::Middle(axis) => base[axis] += 2,
        }
        base
    }

    /// The index in that array of an element of the view.
    fn index(self, shape: &[usize], mut index: Vec<usize>) -> Vec<usize> {
        match self {
            Self::Whole => {}
            Self::Transposed => index.reverse(),
            Self::Flipped(axis) => index[axis] = shape[axis] - 1 - index[axis],
            Self::Repeated(axis) => index[axis] = 0,
            Self::Middle(axis) => index[axis] += 1,
        }
        index
    }

    fn view<'a, D: Device>(self, array: &'a ErasedArray<D>, shape: &[usize]) -> ErasedView<'a, D> {
        let view = array.view();
        match self {
            Self::Whole => view,
            Self::Transposed => view.transpose(),
            Self::Flipped(axis) => view.flip(&[axis.cast_signed()]).unwrap(),
            Self::Repeated(_) => view.broadcast_to(shape).unwrap(),
            Self::Middle(axis) => view.slice_axis(axis.cast_signed(), 1..shape[axis] + 1).unwrap(),
        }
    }
}

#[derive(Debug)]
enum Operation {
    Concatenate(usize),
    Stack(usize),
    Pad(Vec<(usize, usize)>, usize),
}

/// One join or padding.
#[derive(Debug)]
pub(crate) struct Case {
    item_bytes: usize,
    parts: Vec<(Shown, Vec<usize>)>,
    result: Vec<usize>,
    into: Option<Shown>,
    operation: Operation,
}

impl Case {
    /// A case of about `most` elements at most.
    pub(crate) fn random(rng: &mut Rng, most: usize) -> Self {
        let rank = *rng.pick(&[1, 1, 2, 2, 2, 3, 4]);
        let mut left = most;
        let mut shape = Vec::new();
        for _ in 0..rank {
            let most = *rng.pick(&[9, 90, left]);
            let extent = (1 + rng.below(most)).min(left).max(1);
            left /= extent;
            shape.push(extent);
        }
        let last = if rng.below(3) == 0 { rng.below(rank) } else { rank - 1 };
        let many = 2 + rng.below(39);
        let count = *rng.pick(&[1, 2, 2, 3, 4, 8, 16, many]);
        match rng.below(3) {
            0 => Self::concatenation(rng, shape, last, count),
            1 => Self::stack(rng, &shape, last, count),
            _ => Self::padding(rng, &shape),
        }
    }

    fn finish(rng: &mut Rng, parts: Vec<Vec<usize>>, result: Vec<usize>, operation: Operation) -> Self {
        let strange = rng.below(2) == 0;
        let parts = parts.into_iter().map(|shape| {
            let shown = if strange { Shown::random(rng, shape.len()) } else { Shown::Whole };
            // Nothing is repeated nothing times.
            (if shape.contains(&0) { Shown::Whole } else { shown }, shape)
        });
        let parts = parts.collect();
        let strange = Shown::random(rng, result.len());
        let into = *rng.pick(&[None, Some(Shown::Whole), Some(strange)]);
        let into = into.filter(|into| !matches!(into, Shown::Repeated(_)) && !result.contains(&0));
        Self { item_bytes: *rng.pick(&ITEM_BYTES), parts, result, into, operation }
    }

    fn concatenation(rng: &mut Rng, mut shape: Vec<usize>, axis: usize, count: usize) -> Self {
        let equal = rng.below(2) == 0;
        let most = shape[axis].div_ceil(count);
        let extents: Vec<usize> =
            (0..count).map(|_| if equal { most } else { rng.below(2 * most + 1) }).collect();
        let parts = extents.iter().map(|&extent| {
            let mut part = shape.clone();
            part[axis] = extent;
            part
        });
        let parts = parts.collect();
        shape[axis] = extents.iter().sum();
        Self::finish(rng, parts, shape, Operation::Concatenate(axis))
    }

    fn stack(rng: &mut Rng, shape: &[usize], axis: usize, count: usize) -> Self {
        let axis = axis + rng.below(2);
        let mut part = shape.to_vec();
        part[0] = part[0].div_ceil(count);
        let mut result = part.clone();
        result.insert(axis, count);
        Self::finish(rng, vec![part; count], result, Operation::Stack(axis))
    }

    fn padding(rng: &mut Rng, shape: &[usize]) -> Self {
        let mode = rng.below(4);
        let most = if shape.len() > 2 { 3 } else { *rng.pick(&[2, 3, 20]) };
        let widths: Vec<_> = shape.iter().map(|_| (rng.below(most), rng.below(most))).collect();
        let result =
            shape.iter().zip(&widths).map(|(extent, (before, after))| before + extent + after).collect();
        Self::finish(rng, vec![shape.to_vec()], result, Operation::Pad(widths, mode))
    }

    /// The number of a part and the index in it that an index of the result shows; none if it is a
    /// constant.
    fn source(&self, mut index: Vec<usize>) -> Option<(usize, Vec<usize>)> {
        match &self.operation {
            Operation::Concatenate(axis) => {
                let mut part = 0;
                while index[*axis] >= self.parts[part].1[*axis] {
                    index[*axis] -= self.parts[part].1[*axis];
                    part += 1;
                }
                Some((part, index))
            }
            Operation::Stack(axis) => {
                let part = index.remove(*axis);
                Some((part, index))
            }
            Operation::Pad(widths, mode) => {
                for ((at, &extent), (before, _)) in index.iter_mut().zip(&self.parts[0].1).zip(widths) {
                    let (from, extent) = (at.cast_signed() - before.cast_signed(), extent.cast_signed());
                    let round = (2 * (extent - 1)).max(1);
                    let from = match mode {
                        0 if !(0..extent).contains(&from) => return None,
                        0 => from,
                        1 => from.clamp(0, extent - 1),
                        2 => from.rem_euclid(extent),
                        _ => from.rem_euclid(round).min(round - from.rem_euclid(round)).min(extent - 1),
                    };
                    *at = from.unsigned_abs();
                }
                Some((0, index))
            }
        }
    }

    fn make<D: Device>(
        &self,
        stream: &StreamHandle<D>,
        parts: &[ErasedView<'_, D>],
        constant: &[u8],
        into: Option<&mut devarray::ErasedViewMut<'_, D>>,
    ) -> devarray::Result<Option<ErasedArray<D>>> {
        let modes = [Pad::Constant(constant), Pad::Edge, Pad::Wrap, Pad::Reflect];
        match (&self.operation, into) {
            (Operation::Concatenate(axis), None) => {
                ErasedArray::concatenate(stream, parts, axis.cast_signed()).map(Some)
            }
            (Operation::Concatenate(axis), Some(into)) => {
                into.concatenate_from(stream, parts, axis.cast_signed()).map(|()| None)
            }
            (Operation::Stack(axis), None) => ErasedArray::stack(stream, parts, axis.cast_signed()).map(Some),
            (Operation::Stack(axis), Some(into)) => {
                into.stack_from(stream, parts, axis.cast_signed()).map(|()| None)
            }
            (Operation::Pad(widths, mode), None) => parts[0].pad(stream, widths, modes[*mode]).map(Some),
            (Operation::Pad(widths, mode), Some(into)) => {
                parts[0].pad_into(stream, widths, modes[*mode], into).map(|()| None)
            }
        }
    }

    /// Does it, and compares every byte.
    pub(crate) fn check<D: Device>(&self, stream: &StreamHandle<D>, which: u64) {
        let Self { item_bytes, parts, result, into, .. } = self;
        let mut next = 0;
        let models = parts.iter().map(|(shown, shape)| {
            Model::of(&shown.base(shape), |_| {
                next += 1;
                next
            })
        });
        let models: Vec<Model> = models.collect();
        let constant = Model { shape: vec![], numbers: vec![0] };
        let due = Model::of(result, |index| {
            self.source(index).map_or(0, |(part, index)| {
                let (shown, shape) = &parts[part];
                models[part].at(&shown.index(shape, index))
            })
        });
        let arrays = models.iter().map(|model| {
            ErasedArray::from_bytes(stream, &model.shape, *item_bytes, &model.bytes(*item_bytes)).unwrap()
        });
        let arrays: Vec<_> = arrays.collect();
        let views: Vec<_> =
            parts.iter().zip(&arrays).map(|((shown, shape), array)| shown.view(array, shape)).collect();
        let constant = constant.bytes(*item_bytes);
        let Some(into) = into else {
            let made = self.make(stream, &views, &constant, None).unwrap().unwrap();
            let found = made.view().to_bytes(stream).unwrap();
            assert!(found == due.bytes(*item_bytes), "case {which}: {self:?}");
            return;
        };
        // Numbers that no part has.
        let mut whole = Model::of(&into.base(result), |_| u64::from(u32::MAX));
        let before = whole.bytes(*item_bytes);
        let mut target = ErasedArray::from_bytes(stream, &whole.shape, *item_bytes, &before).unwrap();
        let view = target.view_mut();
        let mut view = match into {
            Shown::Transposed => view.transpose(),
            Shown::Flipped(axis) => view.flip(&[axis.cast_signed()]).unwrap(),
            Shown::Middle(axis) => view.slice_axis(axis.cast_signed(), 1..result[*axis] + 1).unwrap(),
            Shown::Whole | Shown::Repeated(_) => view,
        };
        self.make(stream, &views, &constant, Some(&mut view)).unwrap();
        for (index, &number) in indices(result).zip(&due.numbers) {
            let at = place(&whole.shape, &into.index(result, index));
            whole.numbers[at] = number;
        }
        let found = target.view().to_bytes(stream).unwrap();
        assert!(found == whole.bytes(*item_bytes), "case {which}: {self:?}");
    }
}

/// The parts of a join, one after the other: 2 to 40 arrays of one shape, and their join
/// along the last axis.
pub(crate) fn stacks<D: Device>(context: &Context<D>) {
    let stream = context.stream().unwrap();
    for count in 2..=40_usize {
        let parts: Vec<Array<u16, D>> = (0..count)
            .map(|part| {
                let values: Vec<u16> =
                    (0..300_u16).map(|at| at * 40 + u16::try_from(part).unwrap()).collect();
                Array::from_slice(&stream, &[300], &values).unwrap()
            })
            .collect();
        let views: Vec<_> = parts.iter().map(Array::view).collect();
        let due: Vec<u16> = (0..300_u16)
            .flat_map(|at| (0..count).map(move |part| at * 40 + u16::try_from(part).unwrap()))
            .collect();
        let stacked = Array::stack(&stream, &views, -1).unwrap();
        assert_eq!(stacked.to_vec(&stream).unwrap(), due, "{count} parts");
    }
}
