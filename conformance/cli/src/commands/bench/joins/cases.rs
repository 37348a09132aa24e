//! The cases to measure, and the expected value of each element of a result.

use devarray::{Axes, Pad};

/// The number of bytes in an element.
pub(super) const ITEM_BYTES: usize = 4;

/// An operation on parts of one shape.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) parts: usize,
    /// The shape of each part.
    pub(super) part: Vec<usize>,
    pub(super) result: Vec<usize>,
    pub(super) operation: Operation,
}

#[derive(Debug)]
pub(super) enum Operation {
    Concatenate { axis: isize },
    Stack { axis: isize },
    Pad { widths: Vec<(usize, usize)>, mode: Mode },
    Roll { shifts: Vec<isize>, axes: Vec<isize> },
    Tile { repeats: Vec<usize> },
    Repeat { count: usize, axis: isize },
}

/// A mode of padding, before the constant is known.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mode {
    Constant,
    Edge,
    Reflect,
    Wrap,
}

impl Mode {
    pub(super) fn with(self, constant: &[u8]) -> Pad<&[u8]> {
        match self {
            Self::Constant => Pad::Constant(constant),
            Self::Edge => Pad::Edge,
            Self::Reflect => Pad::Reflect,
            Self::Wrap => Pad::Wrap,
        }
    }

    /// The position from which a position of a padded axis is copied, by NumPy's definition; none
    /// if it is constant.
    fn source(self, at: usize, before: usize, extent: usize) -> Option<isize> {
        let (at, extent) = (at.cast_signed() - before.cast_signed(), extent.cast_signed());
        match self {
            Self::Constant => (0..extent).contains(&at).then_some(at),
            Self::Edge => Some(at.clamp(0, extent - 1)),
            Self::Wrap => Some(at.rem_euclid(extent)),
            Self::Reflect => {
                let at = at.rem_euclid(2 * (extent - 1));
                Some(at.min(2 * (extent - 1) - at))
            }
        }
    }
}

/// The list of cases, for results of about `len` elements.
pub(super) fn all(len: usize) -> Vec<Case> {
    let side = len.isqrt();
    let image = (len / (8 * 3)).isqrt();
    let case = |name, parts, part: &[usize], result: &[usize], operation| Case {
        name,
        parts,
        part: part.to_vec(),
        result: result.to_vec(),
        operation,
    };
    let pad = |name, part: &[usize], widths: &[(usize, usize)], mode| {
        let extents = part.iter().zip(widths).map(|(extent, (before, after))| before + extent + after);
        let result: Vec<usize> = extents.collect();
        case(name, 1, part, &result, Operation::Pad { widths: widths.to_vec(), mode })
    };
    let images = [8, 3, image, image];
    let image_widths = [(0, 0), (0, 0), (1, 1), (1, 1)];
    vec![
        case(
            "concatenate-rows",
            2,
            &[side / 2, side],
            &[side / 2 * 2, side],
            Operation::Concatenate { axis: 0 },
        ),
        case(
            "concatenate-columns",
            2,
            &[side, side / 2],
            &[side, side / 2 * 2],
            Operation::Concatenate { axis: 1 },
        ),
        case(
            "concatenate-16",
            16,
            &[side, side / 16],
            &[side, side / 16 * 16],
            Operation::Concatenate { axis: 1 },
        ),
        case("stack-first", 2, &[side / 2, side], &[2, side / 2, side], Operation::Stack { axis: 0 }),
        case("stack-last", 2, &[side / 2, side], &[side / 2, side, 2], Operation::Stack { axis: -1 }),
        pad("pad-constant", &[side, side], &[(1, 1); 2], Mode::Constant),
        pad("pad-constant-16", &[side, side], &[(16, 16); 2], Mode::Constant),
        pad("pad-constant-images", &images, &image_widths, Mode::Constant),
        pad("pad-edge", &[side, side], &[(1, 1); 2], Mode::Edge),
        pad("pad-reflect", &[side, side], &[(2, 2); 2], Mode::Reflect),
        pad("pad-wrap", &[side, side], &[(2, 2); 2], Mode::Wrap),
        pad("pad-reflect-images", &images, &image_widths, Mode::Reflect),
        case("roll", 1, &[side, side], &[side, side], Operation::Roll { shifts: vec![1], axes: vec![0] }),
        case(
            "roll-both",
            1,
            &[side, side],
            &[side, side],
            Operation::Roll { shifts: vec![1, 1], axes: vec![0, 1] },
        ),
        case(
            "tile",
            1,
            &[side / 4, side / 4],
            &[side / 4 * 4, side / 4 * 4],
            Operation::Tile { repeats: vec![4, 4] },
        ),
        case(
            "repeat-rows",
            1,
            &[side / 4, side],
            &[side / 4 * 4, side],
            Operation::Repeat { count: 4, axis: 0 },
        ),
        case(
            "repeat-columns",
            1,
            &[side, side / 4],
            &[side, side / 4 * 4],
            Operation::Repeat { count: 4, axis: 1 },
        ),
    ]
}

impl Case {
    pub(super) fn result_bytes(&self) -> usize {
        self.result.iter().product::<usize>() * ITEM_BYTES
    }

    /// Calls `each`, for the result's elements `start..end` in C order, with the number of the
    /// source element, counted through all parts, or with -1 for a constant.
    pub(super) fn numbers(&self, start: usize, end: usize, each: &mut dyn FnMut(isize)) {
        let mut index = vec![0; self.result.len()];
        let mut rest = start;
        for (at, &extent) in index.iter_mut().zip(&self.result).rev() {
            (*at, rest) = (rest % extent, rest / extent);
        }
        for _ in start..end {
            each(self.number(&index));
            for (at, &extent) in index.iter_mut().zip(&self.result).rev() {
                *at += 1;
                if *at < extent {
                    break;
                }
                *at = 0;
            }
        }
    }

    fn number(&self, index: &[usize]) -> isize {
        let positive = |axis: isize| axis.rem_euclid(index.len().cast_signed()).unsigned_abs();
        let (mut source, mut part) = (Axes::<usize>::from_slice(index), 0);
        match &self.operation {
            Operation::Concatenate { axis } => {
                let axis = positive(*axis);
                (part, source[axis]) = (index[axis] / self.part[axis], index[axis] % self.part[axis]);
            }
            Operation::Stack { axis } => part = source.remove(positive(*axis)),
            Operation::Pad { widths, mode } => {
                for (at, (&(before, _), &extent)) in source.iter_mut().zip(widths.iter().zip(&self.part)) {
                    match mode.source(*at, before, extent) {
                        Some(from) => *at = from.unsigned_abs(),
                        None => return -1,
                    }
                }
            }
            Operation::Roll { shifts, axes } => {
                for (&shift, &axis) in shifts.iter().zip(axes) {
                    let axis = positive(axis);
                    let moved = source[axis].cast_signed() - shift;
                    source[axis] = moved.rem_euclid(self.part[axis].cast_signed()).unsigned_abs();
                }
            }
            Operation::Tile { .. } => {
                source.iter_mut().zip(&self.part).for_each(|(at, extent)| *at %= extent);
            }
            Operation::Repeat { count, axis } => source[positive(*axis)] /= count,
        }
        source.iter().zip(&self.part).fold(part, |number, (at, extent)| number * extent + at).cast_signed()
    }
}
