//! A gather in few axes, in bytes. Pure; no driver.

use std::num::NonZeroUsize;

use devarray::{
    Layout,
    backend::{Buffer, GatherOp},
    gather::{IndexType, OutOfRange},
};

use super::{
    params::{Axis, IndexedAxis, MAX_AXES, MAX_INDEXED_AXES, Params},
    told::Report,
};
use crate::{memory::CudaBuffer, strided::params::FastDiv};

/// Most elements of a launch, so that 32 bits count them and its threads.
const MAX_TOTAL: u64 = 1 << 30;

/// An axis, and how far each side goes from one of its positions to the next: in bytes, but for
/// positions of indices and places of winners.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) extent: u64,
    pub(super) indexed: i64,
    pub(super) elements: i64,
    pub(super) indices: i64,
    pub(super) mask: i64,
    pub(super) position: i64,
    pub(super) winner: i64,
}

impl Step {
    /// The sides, to be treated alike.
    fn sides(&self) -> [i64; 6] {
        [self.indexed, self.elements, self.indices, self.mask, self.position, self.winner]
    }

    /// Whether another index, or byte of the mask, belongs to the next position.
    fn has_indices(&self) -> bool {
        self.indices != 0 || self.position != 0 || self.mask != 0
    }

    /// Whether it continues another axis that lies inside it, on every side.
    fn continues(&self, inner: &Self) -> bool {
        let steps = i64::try_from(inner.extent).ok();
        let follows =
            |(outer, inner): (i64, i64)| steps.and_then(|steps| inner.checked_mul(steps)) == Some(outer);
        self.sides().into_iter().zip(inner.sides()).all(follows)
    }

    /// The side on which neighbouring threads should be near: the elements, or else the array.
    fn distance(&self) -> u64 {
        let sides = [self.elements, self.indexed].map(i64::unsigned_abs);
        sides.into_iter().find(|&distance| distance != 0).unwrap_or(u64::MAX)
    }
}

/// What is launched.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    /// Outermost first. Each axis has two positions or more.
    pub(super) steps: Vec<Step>,
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
        let width = i64::try_from(work.width_bytes).ok()?;
        let index_bytes = i64::try_from(work.index_type.len_bytes()).ok()?;
        let is_counted = work.index_type == IndexType::Counted;
        let bound = work.bound() as u64;
        let mut places = Some(bound);
        let mut steps: Vec<Step> = Vec::with_capacity(work.shape.len() + 1);
        for (axis, &extent) in work.shape.iter().enumerate().rev().filter(|&(_, &extent)| extent > 1) {
            let stride = |layout: &Layout, item: i64| layout.strides()[axis] as i64 * item;
            let mut step = Step {
                extent: extent as u64,
                indexed: stride(work.indexed, width),
                elements: stride(work.elements, width),
                indices: stride(work.indices, index_bytes),
                mask: work.mask.map_or(0, |mask| stride(mask, 1)),
                position: i64::try_from(work.positions[axis]).ok()?,
                winner: 0,
            };
            if step.has_indices() && step.indexed != 0 {
                step.winner = places.and_then(|places| i64::try_from(places).ok()).unwrap_or(0);
                places = places.and_then(|places| places.checked_mul(step.extent));
            }
            steps.push(step);
        }
        steps.reverse();
        // A selection counts in row-major order.
        if !is_counted {
            steps.sort_by_key(|step| std::cmp::Reverse(step.distance()));
        }
        let indexed_axes = work.indexed_axes.iter().filter(|axis| axis.extent > 1).map(|axis| Step {
            extent: axis.extent as u64,
            indexed: (axis.stride as i64).wrapping_mul(width),
            ..Step::default()
        });
        let (steps, indexed_axes) = (joined(steps.into_iter()), joined(indexed_axes));
        if indexed_axes.len() > MAX_INDEXED_AXES {
            return None;
        }
        let mut indexed_axis = [IndexedAxis::default(); MAX_INDEXED_AXES];
        indexed_axis[0].extent = 1;
        for (to, from) in indexed_axis.iter_mut().zip(indexed_axes.iter().rev()) {
            *to = IndexedAxis { extent: from.extent, stride: from.indexed };
        }
        let start = |buffer: &CudaBuffer, layout: &Layout, item: i64| -> Option<u64> {
            let offset = i64::try_from(layout.offset()).ok()?;
            buffer.address().checked_add_signed(offset.checked_mul(item)?)
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
        problem.widen(work.width_bytes as u64);
        if is_counted {
            problem.params.pieces = problem.take_pieces()?;
        }
        Some(problem)
    }

    /// Widens accesses as far as the elements of one index, and their alignment, allow.
    fn widen(&mut self, width: u64) {
        let mut run = width;
        while let Some(last) = self.steps.last() {
            let dense = i64::try_from(run).is_ok_and(|run| last.elements == run && last.indexed == run);
            if !dense || last.has_indices() {
                break;
            }
            run *= last.extent;
            self.steps.pop();
        }
        let strides = self.steps.iter().flat_map(|step| [step.elements, step.indexed]);
        let strides = strides.chain(self.params.indexed_axis.iter().map(|axis| axis.stride));
        let all = strides.map(i64::unsigned_abs).chain([run, self.params.elements, self.params.indexed]);
        let common = all.fold(16, |bits, number| bits | number);
        self.width = 1 << common.trailing_zeros();
        let each = u64::from(self.width);
        if run > each {
            let by = i64::from(self.width);
            self.steps.push(Step { extent: run / each, indexed: by, elements: by, ..Step::default() });
        }
    }

    /// The pieces of an element, as the axis that `widen` leaves last.
    fn take_pieces(&mut self) -> Option<u32> {
        match self.steps.pop_if(|step| !step.has_indices()) {
            Some(step) => u32::try_from(step.extent).ok(),
            None => Some(1),
        }
    }

    /// Whether a selection goes along one axis, and elements are of one piece.
    pub(super) fn is_line(&self) -> bool {
        self.steps.len() <= 1 && self.params.pieces == 1
    }

    /// Tiles of `tile_elements` that a selection's launches go through, at most.
    pub(super) fn tiles(&self, tile_elements: u32) -> usize {
        let elements = self.steps.iter().map(|step| step.extent).product::<u64>();
        // 2²⁰ at most.
        elements.min(MAX_TOTAL).div_ceil(u64::from(tile_elements)) as usize
    }

    /// Whether there are two indices or more.
    pub(super) fn has_many_indices(&self) -> bool {
        self.steps.iter().any(Step::has_indices)
    }

    /// Memory for the last index of each place; none if the places cannot be counted.
    pub(super) fn winners_len_bytes(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(usize::try_from(self.places?).ok()?.checked_mul(8)?)
    }

    /// The axes once for each index.
    pub(super) fn index_steps(&self) -> Vec<Step> {
        self.steps.iter().filter(|step| step.has_indices()).copied().collect()
    }
}

/// Hands the parameter with its axes to `submit`, once if it is not too large for one launch; else
/// in parts, in row-major order of the steps if they are split along the `outermost`.
///
/// # Errors
///
/// The first of `submit`.
pub(super) fn parts<E>(
    steps: &[Step],
    outermost: bool,
    mut params: Params,
    submit: &mut impl FnMut(&Params) -> Result<(), E>,
) -> Result<(), E> {
    let total = steps.iter().map(|step| step.extent).product::<u64>();
    let fits = total <= MAX_TOTAL && steps.len() <= MAX_AXES;
    if let (true, Ok(total)) = (fits, u32::try_from(total)) {
        params.total = total;
        params.axes = 0;
        for (to, step) in params.at.iter_mut().zip(steps.iter().rev()) {
            let Step { indexed, elements, indices, mask, position, winner, .. } = *step;
            let by = FastDiv::checked(step.extent).unwrap_or_default();
            *to = Axis { by, unused: 0, indexed, elements, indices, mask, position, winner };
            params.axes += 1;
        }
        return submit(&params);
    }
    // In two, along the longest axis.
    let longest = (0..steps.len()).max_by_key(|&at| steps[at].extent).unwrap_or(0);
    let axis = if outermost { 0 } else { longest };
    let half = steps[axis].extent / 2;
    for (from, extent) in [(0, half), (half, steps[axis].extent - half)] {
        let mut part = steps.to_vec();
        part[axis].extent = extent;
        let moved = moved(&params, &steps[axis], from);
        part.retain(|step| step.extent > 1);
        parts(&part, outermost, moved, submit)?;
    }
    Ok(())
}

/// The parameter from another position of an axis on.
fn moved(params: &Params, step: &Step, by: u64) -> Params {
    let by = by.cast_signed();
    let at = |address: u64, stride: i64| address.wrapping_add_signed(stride.wrapping_mul(by));
    Params {
        indexed: at(params.indexed, step.indexed),
        elements: at(params.elements, step.elements),
        indices: at(params.indices, step.indices),
        mask: at(params.mask, step.mask),
        position: at(params.position, step.position),
        winners: at(params.winners, step.winner * 8),
        ..*params
    }
}

/// Neighbouring axes as one where every side allows it.
fn joined(steps: impl Iterator<Item = Step>) -> Vec<Step> {
    let mut all: Vec<Step> = Vec::with_capacity(steps.size_hint().0);
    for step in steps {
        match all.last_mut() {
            Some(outer) if outer.continues(&step) => {
                *outer = Step { extent: outer.extent * step.extent, ..step };
            }
            _ => all.push(step),
        }
    }
    all
}

#[cfg(test)]
mod tests;
