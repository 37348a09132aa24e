//! Reduces a gather to few axes, in bytes. It is pure, and needs no driver.

use std::num::NonZeroUsize;

use devarray::{
    Layout,
    backend::{Buffer, GatherOp},
    gather::{IndexType, OutOfRange},
    layout::nest::{Nest, Strided},
};

use super::{
    index_reports::Report,
    params::{Axis, IndexedAxis, MAX_AXES, MAX_INDEXED_AXES, Params},
};
use crate::{memory::CudaBuffer, strided::params::FastDiv};

/// The most elements of a launch, so that 32 bits can count them and its threads.
const MAX_TOTAL: u64 = 1 << 30;

/// The strides of an axis: in the array, the elements, the indices and the mask, in bytes, in the
/// positions of indices, and among the winners.
pub(super) type GatherStrides = [isize; 6];
const INDEXED: usize = 0;
const ELEMENTS: usize = 1;
const INDICES: usize = 2;
const MASK: usize = 3;
const POSITION: usize = 4;
const WINNER: usize = 5;

/// An axis, and how far each side goes from one of its positions to the next.
pub(super) type GatherAxis = Strided<GatherStrides>;

/// The strides between elements of one index that are some bytes apart.
fn element_strides(bytes: usize) -> GatherStrides {
    let bytes = bytes.cast_signed();
    [bytes, bytes, 0, 0, 0, 0]
}

/// Whether the next position has another index, or another byte of the mask.
fn has_indices(axis: &GatherAxis) -> bool {
    [INDICES, MASK, POSITION].iter().any(|&side| axis.strides[side] != 0)
}

/// The side on which neighbouring threads should be near: the elements, or else the array.
fn distance(axis: &GatherAxis) -> usize {
    let sides = [ELEMENTS, INDEXED].map(|side| axis.strides[side].unsigned_abs());
    sides.into_iter().find(|&distance| distance != 0).unwrap_or(usize::MAX)
}

/// The axes of a launch.
#[derive(Debug, Clone)]
pub(super) struct GatherAxes {
    /// Each axis has two positions or more.
    pub(super) nest: Nest<GatherAxis>,
    /// Bytes that a thread moves at a time: 1, 2, 4, 8 or 16.
    pub(super) width: u32,
    /// The number of winners that are noted: one for each place that indices name.
    winner_count: Option<u64>,
    /// The parameter, but for these axes and the memory of winners or tiles.
    pub(super) params: Params,
}

impl GatherAxes {
    /// The axes of a gather, sorted and joined, and its parameter. `None` if an index counts along
    /// too many axes. `report` is where an index out of range is reported.
    pub(super) fn new(op: &GatherOp<'_, CudaBuffer>, report: Option<Report>) -> Option<Self> {
        let work = op.work();
        let width = isize::try_from(work.width_bytes).ok()?;
        let index_bytes = isize::try_from(work.index_type.len_bytes()).ok()?;
        let is_counted = work.index_type == IndexType::Counted;
        let bound = work.bound() as u64;
        let mut winner_count = Some(bound);
        let mut nest: Vec<GatherAxis> = Vec::with_capacity(work.shape.len() + 1);
        for (dimension, &extent) in work.shape.iter().enumerate().rev().filter(|&(_, &extent)| extent > 1) {
            let stride = |layout: &Layout, item: isize| layout.strides()[dimension] * item;
            let (indexed, indices) = (stride(work.indexed, width), stride(work.indices, index_bytes));
            let mask = work.mask.map_or(0, |mask| stride(mask, 1));
            let position = isize::try_from(work.positions[dimension]).ok()?;
            let strides = [indexed, stride(work.elements, width), indices, mask, position, 0];
            let mut axis = GatherAxis { extent, strides };
            if has_indices(&axis) && indexed != 0 {
                axis.strides[WINNER] =
                    winner_count.and_then(|count| isize::try_from(count).ok()).unwrap_or(0);
                winner_count = winner_count.and_then(|count: u64| count.checked_mul(extent as u64));
            }
            nest.push(axis);
        }
        let mut nest: Nest<GatherAxis> = nest.into_iter().rev().collect();
        // A selection counts in row-major order.
        if !is_counted {
            nest.sort(distance);
        }
        nest.merge();
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
        let mut axes = Self { nest, width: 1, winner_count, params };
        axes.widen(work.width_bytes);
        if is_counted {
            axes.params.pieces = axes.take_pieces()?;
        }
        Some(axes)
    }

    /// Widens accesses as far as the elements of one index, and their alignment, allow.
    fn widen(&mut self, width: usize) {
        let mut run = width;
        while let Some(extent) = self.nest.take_run(element_strides(run)) {
            run *= extent;
        }
        let strides =
            self.nest.iter().flat_map(|axis| [ELEMENTS, INDEXED].map(|side| axis.strides[side] as i64));
        let strides = strides.chain(self.params.indexed_axis.iter().map(|axis| axis.stride));
        let all = strides.map(i64::unsigned_abs);
        let all = all.chain([run as u64, self.params.elements, self.params.indexed]);
        let common = all.fold(16, |bits, number| bits | number);
        self.width = 1 << common.trailing_zeros();
        let each = self.width as usize;
        if run > each {
            self.nest.push(GatherAxis { extent: run / each, strides: element_strides(each) });
        }
    }

    /// The pieces of an element, as the axis that `widen` leaves last.
    fn take_pieces(&mut self) -> Option<u32> {
        if self.nest.last().is_none_or(has_indices) {
            return Some(1);
        }
        u32::try_from(self.nest.pop()?.extent).ok()
    }

    /// Whether a selection goes along one axis, and elements are of one piece.
    pub(super) fn is_line(&self) -> bool {
        self.nest.len() <= 1 && self.params.pieces == 1
    }

    /// Tiles of `tile_elements` that a selection's launches go through, at most.
    pub(super) fn tiles(&self, tile_elements: u32) -> usize {
        let elements = self.nest.steps() as u64;
        // 2²⁰ at most.
        elements.min(MAX_TOTAL).div_ceil(u64::from(tile_elements)) as usize
    }

    /// Whether there are two indices or more.
    pub(super) fn has_many_indices(&self) -> bool {
        self.nest.iter().any(has_indices)
    }

    /// Memory for the last index of each place; none if they cannot be counted.
    pub(super) fn winners_len_bytes(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(usize::try_from(self.winner_count?).ok()?.checked_mul(8)?)
    }

    /// The axes once for each index.
    pub(super) fn index_axes(&self) -> Nest<GatherAxis> {
        self.nest.iter().filter(|axis| has_indices(axis)).cloned().collect()
    }
}

/// Passes the parameter with its axes to `submit`: once if one launch is enough, otherwise in
/// parts. If the axes are cut along the `outermost`, the parts come in row-major order of the axes.
///
/// # Errors
///
/// The first of `submit`.
pub(super) fn for_each_launch<E>(
    nest: &Nest<GatherAxis>,
    outermost: bool,
    mut params: Params,
    submit: &mut impl FnMut(&Params) -> Result<(), E>,
) -> Result<(), E> {
    let total = nest.steps() as u64;
    let fits = total <= MAX_TOTAL && nest.len() <= MAX_AXES;
    if let (true, Ok(total)) = (fits, u32::try_from(total)) {
        params.total = total;
        params.axes = 0;
        for (to, axis) in params.at.iter_mut().zip(nest.iter().rev()) {
            let by = FastDiv::checked(axis.extent as u64).unwrap_or_default();
            let [indexed, elements, indices, mask, position, winner] = axis.strides.map(|side| side as i64);
            *to = Axis { by, unused: 0, indexed, elements, indices, mask, position, winner };
            params.axes += 1;
        }
        return submit(&params);
    }
    let cut = if outermost { 0 } else { nest.longest().unwrap_or(0) };
    let (halves, distance) = nest.halves(cut, 1);
    for (mut half, params) in halves.into_iter().zip([params, moved(&params, distance.strides)]) {
        half.drop_units();
        for_each_launch(&half, outermost, params, submit)?;
    }
    Ok(())
}

/// The parameter with each side moved.
fn moved(params: &Params, [indexed, elements, indices, mask, position, winner]: GatherStrides) -> Params {
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
