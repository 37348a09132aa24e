//! Arrays with a margin.

use std::cmp::Reverse;

use super::{
    Array, ArrayView, AsArrayViewMut, AsErasedViewMut, Element, ErasedArray, ErasedView,
    recipe::{Fill, Recipe, Walk, Walks},
};
use crate::{
    Result,
    backend::Device,
    layout::{Axes, Layout, LayoutError, NdLayout},
    stream::StreamHandle,
};

/// What the margin of a padded array holds, with the names of `numpy.pad`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pad<T> {
    /// One value.
    Constant(T),
    /// The nearest element: `a a | a b c | c c`.
    Edge,
    /// The elements mirrored at the first and the last, which are not repeated:
    /// `c b | a b c | b a`. An axis of one element repeats it.
    Reflect,
    /// The elements from the other end: `b c | a b c | a b`.
    Wrap,
}

impl<T: Element> Pad<T> {
    /// The same with the value in bytes.
    fn as_bytes(&self) -> Pad<&[u8]> {
        match self {
            Self::Constant(value) => Pad::Constant(bytemuck::bytes_of(value)),
            Self::Edge => Pad::Edge,
            Self::Reflect => Pad::Reflect,
            Self::Wrap => Pad::Wrap,
        }
    }
}

impl<T: Element, D: Device> ArrayView<'_, T, D> {
    /// A new array in C order with a margin around these elements. `widths` says how many positions
    /// come before and after them along each axis; one pair stands for all axes. Does not
    /// synchronize.
    ///
    /// Every element of the result is written once. [`Pad::Constant`] takes one copy, and one or
    /// two fills for each axis with a margin. The other modes take one copy for each combination of
    /// margins and middle over those axes. Two margins of the same width count as one. Copies are
    /// submitted together, so that a device may run them at once.
    ///
    /// ```
    /// use devarray::{Array, Context, Pad};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// let a = Array::from_slice(&stream, &[3], &[1, 2, 3])?;
    /// assert_eq!(a.pad(&stream, &[(1, 2)], Pad::Constant(9))?.to_vec(&stream)?, [9, 1, 2, 3, 9, 9]);
    /// assert_eq!(a.pad(&stream, &[(2, 2)], Pad::Edge)?.to_vec(&stream)?, [1, 1, 1, 2, 3, 3, 3]);
    /// assert_eq!(a.pad(&stream, &[(2, 2)], Pad::Reflect)?.to_vec(&stream)?, [3, 2, 1, 2, 3, 2, 1]);
    /// assert_eq!(a.pad(&stream, &[(2, 2)], Pad::Wrap)?.to_vec(&stream)?, [2, 3, 1, 2, 3, 1, 2]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`]: there is neither one pair nor one pair an axis.
    /// - [`LayoutError::EmptyAxis`]: an axis without elements is to be extended by its own.
    /// - [`LayoutError::Overflow`]: the result is too large.
    /// - Out of memory, another context's stream, and any other device error.
    #[track_caller]
    pub fn pad(
        &self,
        stream: &StreamHandle<D>,
        widths: &[(usize, usize)],
        mode: Pad<T>,
    ) -> Result<Array<T, D>> {
        self.as_erased().pad(stream, widths, mode.as_bytes()).map(Array::of_erased)
    }

    /// As [`pad`](Self::pad), into a view of the result's shape. Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`], [`LayoutError::ShapeMismatch`]: the view is of another
    ///   shape.
    /// - As [`pad`](Self::pad). The view may be partly written if the device fails.
    #[track_caller]
    pub fn pad_into(
        &self,
        stream: &StreamHandle<D>,
        widths: &[(usize, usize)],
        mode: Pad<T>,
        dst: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()> {
        padded(self.layout(), widths, mode.as_bytes())?.write(
            stream,
            &self.elements(),
            &dst.as_array_view_mut().elements(),
        )
    }
}

impl<T: Element, D: Device> Array<T, D> {
    /// [`ArrayView::pad`] of the whole array.
    ///
    /// # Errors
    ///
    /// As there.
    #[track_caller]
    pub fn pad(&self, stream: &StreamHandle<D>, widths: &[(usize, usize)], mode: Pad<T>) -> Result<Self> {
        self.view().pad(stream, widths, mode)
    }
}

impl<D: Device> ErasedView<'_, D> {
    /// As [`ArrayView::pad`]; a constant is given by the bytes of one element.
    ///
    /// # Errors
    ///
    /// As there, and [`LayoutError::ElementSize`]: the constant is not as long as an element.
    #[track_caller]
    pub fn pad(
        &self,
        stream: &StreamHandle<D>,
        widths: &[(usize, usize)],
        mode: Pad<&[u8]>,
    ) -> Result<ErasedArray<D>> {
        padded(self.layout(), widths, mode)?.make(stream, &self.elements())
    }

    /// As [`ArrayView::pad_into`]; a constant is given by the bytes of one element.
    ///
    /// # Errors
    ///
    /// As there, and [`LayoutError::ElementSize`]: the elements, or the constant, are of another
    /// size.
    #[track_caller]
    pub fn pad_into(
        &self,
        stream: &StreamHandle<D>,
        widths: &[(usize, usize)],
        mode: Pad<&[u8]>,
        dst: &mut impl AsErasedViewMut<D>,
    ) -> Result<()> {
        padded(self.layout(), widths, mode)?.write(
            stream,
            &self.elements(),
            &dst.as_erased_view_mut().elements(),
        )
    }
}

fn padded<'a>(
    source: &Layout,
    widths: &[(usize, usize)],
    mode: Pad<&'a [u8]>,
) -> Result<Recipe<'a>, LayoutError> {
    let rank = source.rank();
    let widths: Axes<(usize, usize)> = match *widths {
        [all] if rank != 1 => Axes::from_elem(all, rank),
        _ if widths.len() == rank => Axes::from_slice(widths),
        _ => return Err(LayoutError::RankMismatch { expected: rank, found: widths.len() }),
    };
    let mut shape: Axes<usize> = Axes::new();
    let mut walks = Vec::with_capacity(rank);
    for (axis, (&extent, &(before, after))) in source.shape().iter().zip(&widths).enumerate() {
        let padded = extent.checked_add(before).and_then(|sum| sum.checked_add(after));
        shape.push(padded.ok_or(LayoutError::Overflow)?);
        if extent == 0 && (before > 0 || after > 0) && !matches!(mode, Pad::Constant(_)) {
            return Err(LayoutError::EmptyAxis { axis });
        }
        let parts = match mode {
            _ if extent == 0 => Walks::new(),
            Pad::Constant(_) => Walks::from_iter([Walk::once(before, extent, 0, 1)]),
            Pad::Reflect if extent > 1 => reflected(extent, before, after),
            Pad::Edge | Pad::Reflect => edges(extent, before, after),
            Pad::Wrap => wrapped(extent, before, after),
        };
        walks.push(paired(parts.into_iter().filter(|walk| walk.len > 0 && walk.rounds > 0).collect()));
    }
    let fill = match mode {
        Pad::Constant(item) => Some(Fill { item, widths }),
        _ => None,
    };
    Ok(Recipe { source: source.clone(), shape, walks, fill })
}

/// Joins two walks of the same length and step, such as margins of one width, into one walk of two
/// rounds. The longest walk comes first, so that the device is busy while the others are enqueued.
fn paired(mut walks: Walks) -> Walks {
    walks.sort_by_key(|walk| walk.start);
    let mut paired = Walks::new();
    for walk in walks {
        let like = |other: &&mut Walk| {
            (other.rounds, walk.rounds, other.len, other.step) == (1, 1, walk.len, walk.step)
        };
        match paired.iter_mut().find(like) {
            Some(first) => {
                let from_pitch = walk.from.cast_signed() - first.from.cast_signed();
                *first = Walk { rounds: 2, pitch: walk.start - first.start, from_pitch, ..*first };
            }
            None => paired.push(walk),
        }
    }
    paired.sort_by_key(|walk| Reverse(walk.rounds * walk.len));
    paired
}

fn edges(extent: usize, before: usize, after: usize) -> Walks {
    if extent == 1 {
        return Walks::from_iter([Walk::once(0, before + 1 + after, 0, 0)]);
    }
    Walks::from_iter([
        Walk::once(0, before, 0, 0),
        Walk::once(before, extent, 0, 1),
        Walk::once(before + extent, after, extent - 1, 0),
    ])
}

/// The end of one round, all whole rounds, the beginning of one.
fn wrapped(extent: usize, before: usize, after: usize) -> Walks {
    let (head, tail) = (before % extent, after % extent);
    let rounds = before / extent + 1 + after / extent;
    let whole = Walk { rounds, pitch: extent, ..Walk::once(head, extent, 0, 1) };
    Walks::from_iter([
        Walk::once(0, head, extent - head, 1),
        whole,
        Walk::once(head + rounds * extent, tail, 0, 1),
    ])
}

/// Rounds go up through all positions and down through those between the ends. As in `wrapped`: the
/// end of one round, all whole rounds, the beginning of one. There are at least two positions.
fn reflected(extent: usize, before: usize, after: usize) -> Walks {
    let period = 2 * (extent - 1);
    let head = before % period;
    let (rounds, tail) =
        ((before - head + extent + after) / period, (before - head + extent + after) % period);
    // What lies from `first` to `last` of a round, put at `start`.
    let part = |start: usize, first: usize, last: usize| {
        let turn = extent.clamp(first, last);
        [
            Walk::once(start, turn - first, first, 1),
            Walk::once(start + turn - first, last - turn, period - turn, -1),
        ]
    };
    let whole = part(head, 0, period).map(|walk| Walk { rounds, pitch: period, ..walk });
    let ends = part(0, period - head, period).into_iter().chain(part(head + rounds * period, 0, tail));
    whole.into_iter().chain(ends).collect()
}

/// The elements around the middle: as slabs or as gaps, whichever takes fewer layouts.
pub(super) fn margins(whole: &Layout, widths: &[(usize, usize)]) -> Result<Vec<Layout>, LayoutError> {
    if whole.is_empty() {
        return Ok(Vec::new());
    }
    let axes = whole.shape().iter().zip(widths);
    if axes.into_iter().any(|(&extent, &(before, after))| extent == before + after) {
        return Ok(vec![whole.clone()]);
    }
    let slabs = together(slabs(whole, widths)?)?;
    if !whole.is_c_contiguous() {
        return Ok(slabs);
    }
    let gaps = together(gaps(whole, widths)?)?;
    Ok(if gaps.len() < slabs.len() { gaps } else { slabs })
}

/// Joins two layouts that differ only in their offset into one, with an axis of two positions.
fn together(layouts: Vec<Layout>) -> Result<Vec<Layout>, LayoutError> {
    let mut paired: Vec<Layout> = Vec::new();
    for layout in layouts {
        let like =
            |other: &&mut Layout| (other.shape(), other.strides()) == (layout.shape(), layout.strides());
        match paired.iter_mut().find(like) {
            Some(first) => {
                let distance = layout.offset().cast_signed() - first.offset().cast_signed();
                let shape: Axes<usize> = [2].into_iter().chain(layout.shape().iter().copied()).collect();
                let strides = [distance].into_iter().chain(layout.strides().iter().copied());
                *first = Layout::new(&shape, &strides.collect::<Axes<isize>>(), first.offset())?;
            }
            None => paired.push(layout),
        }
    }
    Ok(paired)
}

/// Two slabs an axis: over the middle of the axes before it, and the whole of those after it.
fn slabs(whole: &Layout, widths: &[(usize, usize)]) -> Result<Vec<Layout>, LayoutError> {
    let mut slabs = Vec::new();
    let mut rest = whole.clone();
    for (axis, &(before, after)) in widths.iter().enumerate() {
        let (signed, extent) = (axis.cast_signed(), rest.shape()[axis]);
        if before > 0 {
            slabs.push(rest.slice_axis(signed, ..before)?);
        }
        if after > 0 {
            slabs.push(rest.slice_axis(signed, extent - after..)?);
        }
        rest = rest.slice_axis(signed, before..extent - after)?;
    }
    Ok(slabs)
}

/// In memory, the margin after a row and the margin before the next row are one gap. Gaps lie
/// before the first element of the middle, after the last, and, for each axis, between neighbours.
/// The layout is contiguous, its middle not empty.
fn gaps(whole: &Layout, widths: &[(usize, usize)]) -> Result<Vec<Layout>, LayoutError> {
    // Before, middle and extent of each axis; one without margin is part of the one before it.
    let mut axes: Vec<(usize, usize, usize)> = Vec::new();
    for (&extent, &(before, after)) in whole.shape().iter().zip(widths) {
        let middle = extent - before - after;
        match axes.last_mut() {
            Some(outer) if middle == extent => {
                *outer = (outer.0 * extent, outer.1 * extent, outer.2 * extent);
            }
            _ => axes.push((before, middle, extent)),
        }
    }
    let mut strides = vec![1; axes.len()];
    for axis in (1..axes.len()).rev() {
        strides[axis - 1] = strides[axis] * axes[axis].2;
    }
    let first: usize = axes.iter().zip(&strides).map(|(axis, stride)| axis.0 * stride).sum();
    let mut gaps = Vec::new();
    let mut push = |loops: &[(usize, usize)], start: usize, len: usize| {
        if len > 0 {
            let shape: Axes<usize> = loops.iter().map(|&(extent, _)| extent).chain([len]).collect();
            let strides = loops.iter().map(|&(_, stride)| stride.cast_signed()).chain([1]);
            let strides: Axes<isize> = strides.collect();
            gaps.push(Layout::new(&shape, &strides, whole.offset() + start)?);
        }
        Ok(())
    };
    push(&[], 0, first)?;
    // From the first element of the middle to the last, of the axes from `axis + 1` on.
    let mut span = 1;
    for axis in (0..axes.len()).rev() {
        let (stride, middle) = (strides[axis], axes[axis].1);
        if middle > 1 {
            let mut loops: Vec<_> =
                axes[..axis].iter().map(|axis| axis.1).zip(strides.iter().copied()).collect();
            loops.push((middle - 1, stride));
            push(&loops, first + span, stride - span)?;
        }
        span += (middle - 1) * stride;
    }
    push(&[], first + span, whole.len() - first - span)?;
    Ok(gaps)
}
