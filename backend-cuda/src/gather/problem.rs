//! A gather in few axes, in bytes. Pure; no driver.

use std::num::NonZeroUsize;

use devarray::{
    Layout,
    backend::{Buffer, GatherOp},
    gather::{IndexType, OutOfRange},
    layout::nest::{Nest, Strided},
};

use super::{
    params::{Axis, IndexedAxis, MAX_AXES, MAX_INDEXED_AXES, Params},
    told::Report,
};
use crate::{memory::CudaBuffer, strided::params::FastDiv};

/// Most elements of a launch, so that 32 bits count them and its threads.
const MAX_TOTAL: u64 = 1 << 30;

/// The sides of an axis: the array, the elements, the indices and the mask, in bytes, the positions
/// of indices, and the places of winners.
pub(super) type Sides = [isize; 6];
const INDEXED: usize = 0;
const ELEMENTS: usize = 1;
const INDICES: usize = 2;
const MASK: usize = 3;
const POSITION: usize = 4;
const WINNER: usize = 5;

/// An axis, and how far each side goes from one of its positions to the next.
pub(super) type Step = Strided<Sides>;

/// The sides between elements of one index that are some bytes apart.
fn apart(bytes: usize) -> Sides {
    let bytes = bytes.cast_signed();
    [bytes, bytes, 0, 0, 0, 0]
}

/// Whether another index, or byte of the mask, belongs to the next position.
fn has_indices(step: &Step) -> bool {
    [INDICES, MASK, POSITION].iter().any(|&side| step.strides[side] != 0)
}

/// The side on which neighbouring threads should be near: the elements, or else the array.
fn distance(step: &Step) -> usize {
    let sides = [ELEMENTS, INDEXED].map(|side| step.strides[side].unsigned_abs());
    sides.into_iter().find(|&distance| distance != 0).unwrap_or(usize::MAX)
}

/// What is launched.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    /// Each axis has two positions or more.
    pub(super) steps: Nest<Step>,
    /// Bytes that a thread moves at a time: 1, 2, 4, 8 or 16.
    pub(super) width: u32,
    /// Places that winners are noted for.
    places: Option<u64>,
    /// The parameter, but for these axes and the memory of winners or tiles.
    pub(super) params: Params,
}

impl Problem {
    /// The axes of a gather, sorted and joined, and its parameter. None if there are too many to
    /// choose an index in. `report`: where an index out of range is told, if it is.
    pub(super) fn new(op: &GatherOp<'_, CudaBuffer>, report: Option<Report>) -> Option<Self> {
        let work = op.work();
        let width = isize::try_from(work.width_bytes).ok()?;
        let index_bytes = isize::try_from(work.index_type.len_bytes()).ok()?;
        let is_counted = work.index_type == IndexType::Counted;
        let bound = work.bound() as u64;
        let mut places = Some(bound);
        let mut steps: Vec<Step> = Vec::with_capacity(work.shape.len() + 1);
        for (axis, &extent) in work.shape.iter().enumerate().rev().filter(|&(_, &extent)| extent > 1) {
            let stride = |layout: &Layout, item: isize| layout.strides()[axis] * item;
            let (indexed, indices) = (stride(work.indexed, width), stride(work.indices, index_bytes));
            let mask = work.mask.map_or(0, |mask| stride(mask, 1));
            let position = isize::try_from(work.positions[axis]).ok()?;
            let strides = [indexed, stride(work.elements, width), indices, mask, position, 0];
            let mut step = Step { extent, strides };
            if has_indices(&step) && indexed != 0 {
                step.strides[WINNER] = places.and_then(|places| isize::try_from(places).ok()).unwrap_or(0);
                places = places.and_then(|places| places.checked_mul(extent as u64));
            }
            steps.push(step);
        }
        let mut steps: Nest<Step> = steps.into_iter().rev().collect();
        // A selection counts in row-major order.
        if !is_counted {
            steps.sort(distance);
        }
        steps.merge();
        let indexed_axes = work.indexed_axes.iter().filter(|axis| axis.extent > 1);
        let indexed_axes = indexed_axes.map(|axis| {
            let stride = axis.stride.wrapping_mul(width);
            Strided { extent: axis.extent, strides: [stride] }
        });
        let mut indexed_axes: Nest<_> = indexed_axes.collect();
        indexed_axes.merge();
        if indexed_axes.len() > MAX_INDEXED_AXES {
            return None;
        }
        let mut indexed_axis = [IndexedAxis::default(); MAX_INDEXED_AXES];
        indexed_axis[0].extent = 1;
        for (to, from) in indexed_axis.iter_mut().zip(indexed_axes.iter().rev()) {
            *to = IndexedAxis { extent: from.extent as u64, stride: from.strides[0] as i64 };
        }
        let start = |buffer: &CudaBuffer, layout: &Layout, item: isize| -> Option<u64> {
            let offset = isize::try_from(layout.offset()).ok()?;
            buffer.address().checked_add_signed(offset.checked_mul(item)? as i64)
        };
        let params = Params {
            indexed: start(op.indexed(), work.indexed, width)?,
            elements: start(op.elements(), work.elements, width)?,
            indices: start(op.indices(), work.indices, index_bytes)?,
            mask: match (op.mask(), work.mask) {
                (Some(buffer), Some(layout)) => start(buffer, layout, 1)?,
                _ => 0,
            },
            winners: 0,
            told: report.map_or(0, |report| report.slot),
            state: report.map_or(0, |report| report.state),
            key: report.map_or(0, |report| report.key),
            position: 0,
            bound: i64::try_from(bound).ok()?,
            total: 0,
            axes: 0,
            // One at least.
            indexed_axes: u32::try_from(indexed_axes.len().max(1)).ok()?,
            index_type: match work.index_type {
                IndexType::I32 => 0,
                IndexType::U32 => 1,
                IndexType::I64 | IndexType::Counted => 2,
            },
            mode: match work.out_of_range {
                OutOfRange::Error => 0,
                OutOfRange::Wrap => 1,
                OutOfRange::Clamp => 2,
            },
            pieces: 1,
            indexed_axis,
            at: [Axis::default(); MAX_AXES],
        };
        let mut problem = Self { steps, width: 1, places, params };
        problem.widen(work.width_bytes);
        if is_counted {
            problem.params.pieces = problem.take_pieces()?;
        }
        Some(problem)
    }

    /// Widens accesses as far as the elements of one index, and their alignment, allow.
    fn widen(&mut self, width: usize) {
        let mut run = width;
        while let Some(extent) = self.steps.take_run(apart(run)) {
            run *= extent;
        }
        let strides =
            self.steps.iter().flat_map(|step| [ELEMENTS, INDEXED].map(|side| step.strides[side] as i64));
        let strides = strides.chain(self.params.indexed_axis.iter().map(|axis| axis.stride));
        let all = strides.map(i64::unsigned_abs);
        let all = all.chain([run as u64, self.params.elements, self.params.indexed]);
        let common = all.fold(16, |bits, number| bits | number);
        self.width = 1 << common.trailing_zeros();
        let each = self.width as usize;
        if run > each {
            self.steps.push(Step { extent: run / each, strides: apart(each) });
        }
    }

    /// The pieces of an element, as the axis that `widen` leaves last.
    fn take_pieces(&mut self) -> Option<u32> {
        if self.steps.last().is_none_or(has_indices) {
            return Some(1);
        }
        u32::try_from(self.steps.pop()?.extent).ok()
    }

    /// Whether a selection goes along one axis, and elements are of one piece.
    pub(super) fn is_line(&self) -> bool {
        self.steps.len() <= 1 && self.params.pieces == 1
    }

    /// Tiles of `tile_elements` that a selection's launches go through, at most.
    pub(super) fn tiles(&self, tile_elements: u32) -> usize {
        let elements = self.steps.steps() as u64;
        // 2²⁰ at most.
        elements.min(MAX_TOTAL).div_ceil(u64::from(tile_elements)) as usize
    }

    /// Whether there are two indices or more.
    pub(super) fn has_many_indices(&self) -> bool {
        self.steps.iter().any(has_indices)
    }

    /// Memory for the last index of each place; none if the places cannot be counted.
    pub(super) fn winners_len_bytes(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(usize::try_from(self.places?).ok()?.checked_mul(8)?)
    }

    /// The axes once for each index.
    pub(super) fn index_steps(&self) -> Nest<Step> {
        self.steps.iter().filter(|step| has_indices(step)).cloned().collect()
    }
}

/// Hands the parameter with its axes to `submit`, once if it is not too large for one launch; else
/// in parts, in row-major order of the steps if they are split along the `outermost`.
///
/// # Errors
///
/// The first of `submit`.
pub(super) fn parts<E>(
    steps: &Nest<Step>,
    outermost: bool,
    mut params: Params,
    submit: &mut impl FnMut(&Params) -> Result<(), E>,
) -> Result<(), E> {
    let total = steps.steps() as u64;
    let fits = total <= MAX_TOTAL && steps.len() <= MAX_AXES;
    if let (true, Ok(total)) = (fits, u32::try_from(total)) {
        params.total = total;
        params.axes = 0;
        for (to, step) in params.at.iter_mut().zip(steps.iter().rev()) {
            let by = FastDiv::checked(step.extent as u64).unwrap_or_default();
            let [indexed, elements, indices, mask, position, winner] = step.strides.map(|side| side as i64);
            *to = Axis { by, unused: 0, indexed, elements, indices, mask, position, winner };
            params.axes += 1;
        }
        return submit(&params);
    }
    let axis = if outermost { 0 } else { steps.longest().unwrap_or(0) };
    let (halves, distance) = steps.halves(axis, 1);
    for (mut half, params) in halves.into_iter().zip([params, moved(&params, distance.strides)]) {
        half.drop_units();
        parts(&half, outermost, params, submit)?;
    }
    Ok(())
}

/// The parameter with each side moved.
fn moved(params: &Params, [indexed, elements, indices, mask, position, winner]: Sides) -> Params {
    let at = |address: u64, by: isize| address.wrapping_add_signed(by as i64);
    Params {
        indexed: at(params.indexed, indexed),
        elements: at(params.elements, elements),
        indices: at(params.indices, indices),
        mask: at(params.mask, mask),
        position: at(params.position, position),
        winners: at(params.winners, winner.wrapping_mul(8)),
        ..*params
    }
}

#[cfg(test)]
mod tests;
