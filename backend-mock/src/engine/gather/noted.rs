//! The elements that a scatter is going to put, noted by core's loops.
#![allow(unsafe_code)] // calls core's loops on memory of its own, and on indices that its caller vouches for

use std::mem;

use devarray::{
    Axes, Layout,
    gather::{GatherMemory, Gathering, IndexType, IndexedAxis, gather_on_host},
};

use super::{super::compute::Elements, Gathered};
use crate::judge::ByteSet;

/// With more cells than this for each index, cells take too much time and memory.
const SPARSE: usize = 64;

/// A byte for each element that can be put, or for each row of elements that one index puts; it is 1 if the
/// element is put. Cells are in the order of memory.
pub(super) struct Noted {
    cells: Vec<u8>,
    /// The number of elements in a cell.
    row: usize,
    /// Whether the elements of a cell lie side by side, right after the elements of the previous cell.
    is_dense: bool,
}

impl Noted {
    /// The number of cells that are put.
    pub(super) fn count(&self) -> usize {
        // The sum of a chunk does not overflow a byte, and bytes can be added many at a time.
        let chunks = self.cells.chunks(u8::MAX.into());
        chunks.map(|chunk| usize::from(chunk.iter().sum::<u8>())).sum()
    }

    /// The bytes of the elements of `to` that are put; none if they are many separate pieces.
    pub(super) fn bytes(&self, to: &Elements) -> Option<ByteSet> {
        if self.count() == self.cells.len() {
            return Some(to.bytes());
        }
        let (start, cell_bytes) = (to.place(to.layout.span().start), self.row * to.item_bytes);
        let mut end = start;
        let mut piece = |of: &[u8]| {
            let start = end;
            end += of.len() * cell_bytes;
            (of.first() == Some(&1)).then_some(start..end)
        };
        self.is_dense.then(|| self.cells.chunk_by(u8::eq).filter_map(&mut piece).collect())
    }
}

/// An axis of the array that a scatter writes.
struct Axis {
    extent: usize,
    stride: isize,
    /// The number of cells in a step along the axis; none if all elements along it make one cell.
    step: Option<isize>,
}

impl Gathered {
    /// Notes the elements that a scatter puts. None if that takes too much memory, or if the axes of the
    /// array are not nested.
    ///
    /// # Safety
    ///
    /// The indices and the mask of `memory` may be read, and a count may be written.
    pub(super) unsafe fn noted(&self, memory: GatherMemory) -> Option<Noted> {
        let work = self.work();
        let (picks, mut shape) = (work.picks(), self.shape.clone());
        // One element stands for each row, so that indices count as before.
        let row = if picks < shape.iter().product() { mem::replace(shape.last_mut()?, 1) } else { 1 };
        let axis = |(extent, stride)| Axis { extent, stride, step: Some(0) };
        let strides = work.indexed.strides().iter().copied();
        let mut axes: Vec<Axis> = self.shape.iter().copied().zip(strides).map(axis).collect();
        axes.extend(work.indexed_axes.iter().map(|of| axis((of.extent, of.stride))));
        if let Some(along) = axes.get_mut(shape.len().wrapping_sub(1)).filter(|_| row > 1) {
            along.step = None;
        }
        let (len, is_dense) = in_order(&mut axes)?;
        if len / SPARSE > picks {
            return None;
        }
        let steps: Vec<isize> = axes.iter().map(|axis| axis.step.unwrap_or(0)).collect();
        let (of_shape, of_index) = steps.split_at(shape.len());
        let indexed_axes: Vec<IndexedAxis> = work.indexed_axes.iter().zip(of_index).map(stepped).collect();
        let same = |of: &Layout| Layout::new(&shape, of.strides(), of.offset()).ok();
        let mask = match work.mask {
            Some(mask) => Some(same(mask)?),
            None => None,
        };
        let noting = Gathering {
            width_bytes: 1,
            shape: &shape,
            indexed_axes: &indexed_axes,
            indexed: &Layout::new(&shape, of_shape, 0).ok()?,
            indices: &same(work.indices)?,
            mask: mask.as_ref(),
            elements: &repeated(&shape)?,
            ..work
        };
        let (mut cells, one) = (vec![0; len], [1_u8]);
        let memory =
            GatherMemory { indexed: cells.as_mut_ptr(), elements: one.as_ptr().cast_mut(), ..memory };
        // SAFETY: as the caller promises; there is a cell for each position and index, and the elements are a
        // single byte, which a scatter reads
        let _ = unsafe { gather_on_host(&noting, memory) };
        Some(Noted { cells, row, is_dense })
    }

    /// The number of indices that the mask selects; all of them without a mask.
    ///
    /// # Safety
    ///
    /// The mask of `memory` may be read.
    pub(super) unsafe fn selected(&self, memory: GatherMemory) -> Option<usize> {
        let work = self.work();
        let (all, picks) = (repeated(work.shape)?, work.picks());
        if work.mask.is_none() {
            return Some(picks);
        }
        let counting = Gathering {
            width_bytes: 1,
            indexed_axes: &[IndexedAxis { extent: picks, stride: 0 }],
            indexed: &all,
            indices: &all,
            index_type: IndexType::Counted,
            elements: &all,
            ..work
        };
        let (mut count, mut to, from) = (0_i64, [0_u8], [0_u8]);
        let memory = GatherMemory {
            indexed: to.as_mut_ptr(),
            indices: (&raw mut count).cast(),
            elements: from.as_ptr().cast_mut(),
            ..memory
        };
        // SAFETY: as the caller promises; all positions and indices are a single byte
        let _ = unsafe { gather_on_host(&counting, memory) };
        usize::try_from(count).ok()
    }
}

fn stepped((axis, &stride): (&IndexedAxis, &isize)) -> IndexedAxis {
    IndexedAxis { extent: axis.extent, stride }
}

/// A layout in which every index reaches the same element.
fn repeated(shape: &[usize]) -> Option<Layout> {
    Layout::new(shape, &Axes::from_elem(0, shape.len()), 0).ok()
}

/// Numbers the cells in the order of memory, and sets the steps of the axes. Returns the number of cells, and
/// whether they lie side by side. None if a step of some axis does not skip all elements of the axes inside
/// it: two cells could then share an element.
fn in_order(axes: &mut [Axis]) -> Option<(usize, bool)> {
    if axes.iter().any(|axis| axis.step.is_none() && axis.stride == 0) {
        return None;
    }
    // An axis that repeats elements also repeats cells.
    let mut inside_out: Vec<&mut Axis> =
        axes.iter_mut().filter(|axis| axis.extent > 1 && axis.stride != 0).collect();
    inside_out.sort_by_key(|axis| axis.stride.unsigned_abs());
    let (mut len, mut reach, mut is_dense, mut is_first) = (1_usize, 0_usize, true, true);
    for axis in inside_out {
        let step = axis.stride.unsigned_abs();
        if step <= reach {
            return None;
        }
        is_dense &= axis.stride.is_positive() && step == reach + 1 && (is_first || axis.step.is_some());
        if axis.step.is_some() {
            axis.step = Some(isize::try_from(len).ok()?);
            len = len.checked_mul(axis.extent)?;
        }
        reach = reach.checked_add(step.checked_mul(axis.extent - 1)?)?;
        is_first = false;
    }
    Some((len, is_dense))
}
