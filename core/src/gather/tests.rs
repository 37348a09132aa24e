//! Compares the loops of gathers with the walk that defines them, on random layouts.
#![allow(unsafe_code)] // lends memory of its own
#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "small numbers")]

use std::ops::Range;

use super::*;

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    fn shuffled(&mut self, len: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..len).collect();
        (1..len).rev().for_each(|at| order.swap(at, self.below(at + 1)));
        order
    }

    /// Makes a layout in which each axis either has steps of its own or repeats, in any order and
    /// direction, with the steps of further axes.
    fn layout(&mut self, shape: &[usize], is_own: &[bool], more: &[usize]) -> (Layout, Vec<isize>) {
        let extents: Vec<usize> = shape.iter().chain(more).copied().collect();
        let mut strides = vec![0_isize; extents.len()];
        let (mut step, mut offset) = (1 + self.below(2), self.below(3));
        let order: Vec<usize> = match self.one_in(2) {
            true => (0..extents.len()).rev().collect(),
            false => self.shuffled(extents.len()),
        };
        if self.one_in(2) {
            step = 1;
        }
        for axis in order {
            if axis < shape.len() && !is_own[axis] {
                continue;
            }
            strides[axis] = step.cast_signed();
            if axis < shape.len() && self.one_in(4) {
                strides[axis] = -strides[axis];
                offset += step * (extents[axis] - 1);
            }
            step *= extents[axis] + self.below(5) / 4;
        }
        let of_more = strides.split_off(shape.len());
        (Layout::new(shape, &strides, offset).unwrap(), of_more)
    }
}

/// A gather of random layouts, with its memories.
struct Case {
    axes: Vec<IndexedAxis>,
    shape: Vec<usize>,
    positions: Vec<usize>,
    indexed: Layout,
    indices: Layout,
    mask: Option<Layout>,
    elements: Layout,
    direction: Direction,
    out_of_range: OutOfRange,
    index_type: IndexType,
    width: usize,
    memories: [Vec<u8>; 4],
}

impl Case {
    fn random(seed: u64) -> Self {
        let mut random = Random(seed);
        random.below(2);
        let mut shape: Vec<usize> = (0..random.below(5)).map(|_| 1 + random.below(6)).collect();
        if !shape.is_empty() && random.one_in(6) {
            let axis = random.below(shape.len());
            shape[axis] = 1000 + random.below(1500);
        }
        let direction = if random.one_in(2) { Direction::Gather } else { Direction::Scatter };
        let is_scatter = direction == Direction::Scatter;
        let masked = is_scatter && random.one_in(2);
        let counted = masked && random.one_in(2);
        let width = [1, 2, 4, 8, 16][random.below(5)];
        let axes: Vec<usize> = (0..1 + random.below(3)).map(|_| 1 + random.below(9)).collect();
        let rank = shape.len();
        let of_axes = |random: &mut Random| -> Vec<bool> { (0..rank).map(|_| !random.one_in(3)).collect() };
        let by_index = if counted { vec![false; rank] } else { of_axes(&mut random) };
        let own = of_axes(&mut random);
        let all = vec![true; rank];
        let (indexed, strides) = random.layout(&shape, &own, &axes);
        let (indices, _) = random.layout(&shape, &by_index, &[]);
        let by_mask = if counted { all.clone() } else { of_axes(&mut random) };
        let mask = masked.then(|| random.layout(&shape, &by_mask, &[]).0);
        let of_elements = if is_scatter { of_axes(&mut random) } else { all };
        let (elements, _) = random.layout(&shape, &of_elements, &[]);
        let mut positions = vec![0; rank];
        let mut step = 1;
        for axis in (0..rank).rev().filter(|&axis| counted || by_index[axis]) {
            positions[axis] = step;
            step *= shape[axis];
        }
        let index_type = match random.below(3) {
            _ if counted => IndexType::Counted,
            0 => IndexType::I32,
            1 => IndexType::U32,
            _ => IndexType::I64,
        };
        let out_of_range = match random.below(4) {
            1 if !counted => OutOfRange::Wrap,
            2 if !counted => OutOfRange::Clamp,
            _ => OutOfRange::Error,
        };
        let bound: usize = axes.iter().product();
        let beyond = random.one_in(2);
        let reach: usize =
            axes.iter().zip(&strides).map(|(&extent, &stride)| (extent - 1) * stride.unsigned_abs()).sum();
        let mut bytes = |len: usize| -> Vec<u8> { (0..len).map(|_| 1 + random.below(255) as u8).collect() };
        let memories = [
            bytes((indexed.span().end + reach) * width),
            bytes(indices.span().end * index_type.len_bytes()),
            bytes(mask.as_ref().map_or(0, |mask| mask.span().end)),
            bytes(elements.span().end * width),
        ];
        let axes = axes.iter().zip(strides).map(|(&extent, stride)| IndexedAxis { extent, stride }).collect();
        let mut case = Self {
            axes,
            shape,
            positions,
            indexed,
            indices,
            mask,
            elements,
            direction,
            out_of_range,
            index_type,
            width,
            memories,
        };
        for index in case.memories[1].chunks_exact_mut(index_type.len_bytes()) {
            let mut value = random.below(bound) as i64;
            if beyond && random.one_in(5) {
                value += [-3 * bound as i64, -(bound as i64), bound as i64, i64::from(i32::MAX) - 9]
                    [random.below(4)];
            }
            index.copy_from_slice(&value.to_ne_bytes()[..index.len()]);
        }
        case.memories[2].iter_mut().for_each(|byte| *byte = u8::from(random.one_in(2)));
        case
    }

    fn work(&self) -> Gathering<'_> {
        Gathering {
            operation: GatherOperation::Take,
            axis: None,
            direction: self.direction,
            out_of_range: self.out_of_range,
            repeats: Repeats::Last,
            width_bytes: self.width,
            shape: &self.shape,
            indexed_axes: &self.axes,
            indexed: &self.indexed,
            indices: &self.indices,
            index_type: self.index_type,
            positions: &self.positions,
            mask: self.mask.as_ref(),
            elements: &self.elements,
        }
    }

    /// Runs the loops on some pieces, the last piece first. Returns the memories and the error.
    fn done(&self, pieces: usize, cut: Cut) -> ([Vec<u8>; 4], Option<IndexError>) {
        let mut memories = self.memories.clone();
        let [indexed, indices, mask, elements] = memories.each_mut().map(|bytes| bytes.as_mut_ptr());
        let memory = GatherMemory { indexed, indices, mask, elements };
        let (work, picks) = (self.work(), self.work().picks());
        let pieces = if self.index_type == IndexType::Counted { 1 } else { pieces };
        let group = match (cut, self.direction) {
            (Cut::Groups, Direction::Scatter) => work.picks_in_order(),
            _ => 1,
        };
        let start = |at: usize| at * (picks / group) / pieces * group;
        let errors = (0..pieces).rev().filter_map(|at| match (cut, self.direction) {
            // SAFETY: the layouts lie in the memories, which nothing else uses
            (Cut::Shares, Direction::Scatter) if self.index_type != IndexType::Counted => unsafe {
                scatter_share_on_host(&work, memory, at, pieces)
            },
            // SAFETY: as above
            _ => unsafe { gather_range_on_host(&work, memory, start(at)..start(at + 1)) },
        });
        let error = errors.min_by_key(|error| error.position);
        (memories, error)
    }

    /// Does the same by the walk.
    fn walked(&self) -> ([Vec<u8>; 4], Option<IndexError>) {
        let [mut indexed, mut indices, mask, mut elements] = self.memories.clone();
        let (work, width, from) = (self.work(), self.width, indices.clone());
        let mut selected = 0_i64;
        let read_index = |at: usize| match self.index_type {
            IndexType::I32 => i32::from_ne_bytes(from[4 * at..][..4].try_into().unwrap()).into(),
            IndexType::U32 => u32::from_ne_bytes(from[4 * at..][..4].try_into().unwrap()).into(),
            _ => i64::from_ne_bytes(from[8 * at..][..8].try_into().unwrap()),
        };
        let is_chosen = |at: usize| {
            selected += i64::from(mask[at]);
            mask[at] != 0
        };
        let error = work.visit(read_index, is_chosen, |run| {
            for at in 0..run.len.cast_signed() {
                let element = run.element.wrapping_add_signed(at * run.element_stride) * width;
                let element = &mut elements[element..][..width];
                let named =
                    run.indexed.map(|first| first.wrapping_add_signed(at * run.indexed_stride) * width);
                match (named, self.direction) {
                    (Some(at), Direction::Gather) => element.copy_from_slice(&indexed[at..][..width]),
                    (Some(at), Direction::Scatter) => indexed[at..][..width].copy_from_slice(element),
                    (None, Direction::Gather) => element.fill(0),
                    (None, Direction::Scatter) => {}
                }
            }
        });
        if self.index_type == IndexType::Counted {
            indices[8 * self.indices.offset()..][..8].copy_from_slice(&selected.to_ne_bytes());
        }
        ([indexed, indices, mask, elements], error)
    }
}

/// Where a gather may be cut into pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// Between groups, where the order of a scatter does not count.
    Groups,
    Shares,
    /// Anywhere.
    Anywhere,
}

/// Tries many gathers. `spoil` may change the results of the walk.
fn try_all(seeds: Range<u64>, cut: Cut, spoil: impl Fn(&mut [Vec<u8>; 4], &mut Option<IndexError>)) -> usize {
    let mut errors = 0;
    for seed in seeds {
        let case = Case::random(seed);
        let (mut memories, mut error) = case.walked();
        spoil(&mut memories, &mut error);
        errors += usize::from(error.is_some());
        let found = case.done(1 + (seed % 5) as usize, cut);
        assert!(
            found == (memories, error),
            "{seed}: {:?} of {:?}, {:?}",
            case.work(),
            case.shape,
            case.direction
        );
    }
    errors
}

#[test]
fn the_loops_of_gathers_do_what_the_walk_says() {
    let seeds = if cfg!(miri) { 0..60 } else { 0..700 };
    for cut in [Cut::Groups, Cut::Shares] {
        let errors = try_all(seeds.clone(), cut, |_, _| {});
        assert!(errors > 3, "indices are out of range, too");
    }
}

#[test]
#[should_panic(expected = "Gathering(")]
fn a_scatter_that_is_cut_where_its_order_counts_is_found() {
    try_all(0..200, Cut::Anywhere, |_, _| {});
}

#[test]
#[should_panic(expected = "Gathering(")]
fn a_wrong_byte_of_a_gather_is_found() {
    try_all(0..20, Cut::Groups, |memories, _| memories[3][0] ^= 1);
}

#[test]
#[should_panic(expected = "Gathering(")]
fn a_wrong_position_of_an_error_is_found() {
    try_all(0..200, Cut::Groups, |_, error| error.iter_mut().for_each(|error| error.position += 1));
}
