//! Arrays with a margin.

use std::cmp::Reverse;

use super::{
    Array, ArrayView, AsArrayViewMut, AsErasedViewMut, Element, ErasedArray, ErasedView,
    axis_copies::{AxisCopies, Fill, Walk, Walks},
};
use crate::{
    Result,
    backend::Device,
    layout::{Axes, Layout, LayoutError},
    stream::StreamHandle,
};

/// The values in the margin of a padded array, with the names of `numpy.pad`.
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
    /// Converts the value to bytes.
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
    /// Copies the elements to a new array in C order with a margin around them. `widths` says how
    /// many positions come before and after them along each axis; one pair stands for all axes.
    /// Does not synchronize.
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
    /// - [`LayoutError::RankMismatch`]: `widths` has neither one pair nor one pair per axis.
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

    /// Like [`pad`](Self::pad), into a view of the result's shape. Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`], [`LayoutError::ShapeMismatch`]: the view is of another
    ///   shape.
    /// - The errors of [`pad`](Self::pad). The view may be partly written if the device fails.
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
    /// [`ArrayView::pad`] of the whole array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// See there.
    #[track_caller]
    pub fn pad(&self, stream: &StreamHandle<D>, widths: &[(usize, usize)], mode: Pad<T>) -> Result<Self> {
        self.view().pad(stream, widths, mode)
    }
}

impl<D: Device> ErasedView<'_, D> {
    /// Like [`ArrayView::pad`]; a constant is given by the bytes of one element.
    ///
    /// # Errors
    ///
    /// See there, and [`LayoutError::ElementSize`]: the constant is not as long as an element.
    #[track_caller]
    pub fn pad(
        &self,
        stream: &StreamHandle<D>,
        widths: &[(usize, usize)],
        mode: Pad<&[u8]>,
    ) -> Result<ErasedArray<D>> {
        padded(self.layout(), widths, mode)?.make(stream, &self.elements())
    }

    /// Like [`ArrayView::pad_into`]; a constant is given by the bytes of one element.
    ///
    /// # Errors
    ///
    /// See there, and [`LayoutError::ElementSize`]: the elements, or the constant, are of another
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
) -> Result<AxisCopies<'a>, LayoutError> {
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
    Ok(AxisCopies { source: source.clone(), shape, walks, fill })
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

/// The walks of wrapped positions: the end of one round, all whole rounds, the beginning of one.
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

/// The walks of reflected positions. A round goes up through all positions and down through the positions
/// between the ends. Like `wrapped`, it has the end of one round, all whole rounds and the beginning of
/// one. There are at least two positions.
fn reflected(extent: usize, before: usize, after: usize) -> Walks {
    let period = 2 * (extent - 1);
    let head = before % period;
    let (rounds, tail) =
        ((before - head + extent + after) / period, (before - head + extent + after) % period);
    // Makes the part from `first` to `last` of a round, which begins at `start`.
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
