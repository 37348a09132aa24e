//! Builds results from copies of a source, axis by axis: padded, rolled, tiled, repeated.
//!
//! Along each axis, every position of the result has one rule that gives its position in the
//! source, independent of other axes. A rule is a list of [`Walk`]s, each with one step. A
//! combination of one walk from each axis is one strided copy. Copies read only the source, and
//! each element of the result is written once.

use smallvec::SmallVec;

use super::{ErasedArray, margins::margins, records::check_shape};
use crate::{
    Result,
    backend::Device,
    layout::{Axes, Layout, LayoutError},
    operations::{Elements, MAX_TOGETHER},
    stream::StreamHandle,
};

/// Some positions of one axis of a result, and where they come from: `start + round * pitch + i` is
/// position `from + round * from_pitch + i * step` of the source, for each `round` below `rounds`
/// and `i` below `len`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk {
    pub(super) start: usize,
    pub(super) rounds: usize,
    pub(super) pitch: usize,
    pub(super) len: usize,
    pub(super) from: usize,
    pub(super) from_pitch: isize,
    pub(super) step: isize,
}

impl Walk {
    /// `len` positions, from `start` on, copied from the positions of the source from `from` on.
    pub(super) fn once(start: usize, len: usize, from: usize, step: isize) -> Self {
        Self { start, rounds: 1, pitch: len, len, from, from_pitch: 0, step }
    }
}

/// The walks of one axis. Together they hold each position once, except the positions that are
/// filled.
pub(super) type Walks = SmallVec<[Walk; 3]>;

/// The copies that build a result from a source.
#[derive(Debug)]
pub(super) struct AxisCopies<'a> {
    /// The source, with as many axes as the result.
    pub(super) source: Layout,
    /// The extents of the result.
    pub(super) shape: Axes<usize>,
    pub(super) walks: Vec<Walks>,
    pub(super) fill: Option<Fill<'a>>,
}

/// A value for the positions that no walk holds.
#[derive(Debug)]
pub(super) struct Fill<'a> {
    pub(super) item: &'a [u8],
    /// For each axis, how many positions are filled before and after the positions of the walks.
    pub(super) widths: Axes<(usize, usize)>,
}

impl AxisCopies<'_> {
    /// A new array, in C order.
    #[track_caller]
    pub(super) fn make<D: Device>(
        &self,
        stream: &StreamHandle<D>,
        src: &Elements<'_, D>,
    ) -> Result<ErasedArray<D>> {
        let mut made = ErasedArray::uninit(stream, &self.shape, src.item_bytes)?;
        self.write(stream, src, &made.view_mut().elements())?;
        Ok(made)
    }

    /// Copies into existing elements. Everything is checked before anything is enqueued.
    #[track_caller]
    pub(super) fn write<D: Device>(
        &self,
        stream: &StreamHandle<D>,
        src: &Elements<'_, D>,
        dst: &Elements<'_, D>,
    ) -> Result<()> {
        check_shape(dst.layout.shape(), &self.shape)?;
        check_items(dst, src.item_bytes)?;
        if let Some(Fill { item, .. }) = &self.fill {
            check_items(dst, item.len())?;
        }
        stream.0.check_context("copy", [dst.allocation, src.allocation])?;
        stream.0.check_disjoint(src, src.layout, dst, false)?;
        let submit = |sides: &[[Layout; 2]]| {
            let pairs = sides.iter().map(|[to, from]| {
                let (to, from) = (Elements { layout: to, ..*dst }, Elements { layout: from, ..*src });
                [to, from]
            });
            stream.0.copy_all(&pairs.collect::<SmallVec<[_; 4]>>())
        };
        let mut sides: SmallVec<[[Layout; 2]; 4]> = SmallVec::new();
        self.for_each_copy(dst.layout, |to, from| {
            sides.push([to, from]);
            if sides.len() == MAX_TOGETHER {
                submit(&sides)?;
                sides.clear();
            }
            Ok(())
        })?;
        submit(&sides)?;
        if let Some(Fill { item, widths }) = &self.fill {
            for layout in margins(dst.layout, widths)? {
                stream.0.fill(&Elements { layout: &layout, ..*dst }, item)?;
            }
        }
        Ok(())
    }

    /// Calls back with destination and source of each copy. A copy takes one walk of each axis;
    /// every combination is called once.
    #[track_caller]
    fn for_each_copy(&self, dst: &Layout, mut each: impl FnMut(Layout, Layout) -> Result<()>) -> Result<()> {
        if dst.is_empty() || self.source.is_empty() {
            return Ok(());
        }
        let mut choice: Axes<usize> = Axes::from_elem(0, self.walks.len());
        loop {
            let walks = self.walks.iter().zip(&choice).map(|(walks, &at)| walks[at]);
            let (to, from) = copied(dst, &self.source, walks)?;
            each(to, from)?;
            let Some(axis) = (0..choice.len()).rev().find(|&axis| choice[axis] + 1 < self.walks[axis].len())
            else {
                return Ok(());
            };
            choice[axis] += 1;
            choice[axis + 1..].fill(0);
        }
    }
}

/// Refuses elements of another size.
pub(super) fn check_items<D: Device>(dst: &Elements<'_, D>, item_bytes: usize) -> Result<(), LayoutError> {
    if dst.item_bytes == item_bytes {
        return Ok(());
    }
    let reason = "source and destination differ in element size";
    Err(LayoutError::ElementSize { item_bytes, reason })
}

/// One side of a copy.
#[derive(Default)]
struct Side {
    strides: Axes<isize>,
    offset: usize,
}

impl Side {
    /// Moves to a position of an axis.
    fn advance(&mut self, stride: isize, position: usize) -> Result<(), LayoutError> {
        let step = stride.checked_mul(position.cast_signed()).ok_or(LayoutError::Overflow)?;
        self.offset = self.offset.checked_add_signed(step).ok_or(LayoutError::Overflow)?;
        Ok(())
    }

    fn push(&mut self, stride: isize, times: isize) -> Result<(), LayoutError> {
        self.strides.push(stride.checked_mul(times).ok_or(LayoutError::Overflow)?);
        Ok(())
    }
}

/// The elements of the result that one walk per axis holds, and where they come from. Neither
/// layout is empty.
fn copied(
    dst: &Layout,
    src: &Layout,
    walks: impl Iterator<Item = Walk>,
) -> Result<(Layout, Layout), LayoutError> {
    let mut shape: Axes<usize> = Axes::new();
    let mut to = Side { offset: dst.offset(), ..Side::default() };
    let mut from = Side { offset: src.offset(), ..Side::default() };
    let strides = dst.strides().iter().zip(src.strides());
    for (walk, (&dst_stride, &src_stride)) in walks.zip(strides) {
        // Position 0 needs no step. Stepping by 0 could still overflow, because the stride of an
        // axis with one position is arbitrary.
        if walk.start > 0 {
            to.advance(dst_stride, walk.start)?;
        }
        if walk.from > 0 {
            from.advance(src_stride, walk.from)?;
        }
        let loops = [(walk.rounds, walk.pitch.cast_signed(), walk.from_pitch), (walk.len, 1, walk.step)];
        for (extent, dst_steps, src_steps) in loops {
            // An axis of one position is left out.
            if extent > 1 {
                shape.push(extent);
                to.push(dst_stride, dst_steps)?;
                from.push(src_stride, src_steps)?;
            }
        }
    }
    Ok((Layout::new(&shape, &to.strides, to.offset)?, Layout::new(&shape, &from.strides, from.offset)?))
}
