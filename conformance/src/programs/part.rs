//! A part of an array: as a view of the library, and as a picture that is computed by counting.

use devarray::{ArrayView, ArrayViewMut, Device, Element, Order, Result, layout::Slice};

use super::op::Transform;
use crate::Picture;

/// A transform with the numbers that it has on a certain view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Permute(Vec<usize>),
    Flip(usize),
    /// The axis, the first position, the distance, and the number of positions.
    Cut(usize, usize, usize, usize),
    Index(usize, usize),
    NewAxis(usize),
    /// The axis, the number of sections, and the number of one of them.
    Section(usize, usize, usize),
    /// Another shape, for elements that lie in C order.
    Reshape(Vec<usize>),
    /// Adds outer axes, and repeats axes of extent 1, to reach this shape.
    Repeat(Vec<usize>),
}

/// A part of an array: its steps, and its picture by counting.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) steps: Vec<Step>,
    pub(super) picture: Picture,
}

impl Place {
    /// The whole array.
    pub(super) fn whole(shape: &[usize]) -> Self {
        Self { steps: Vec::new(), picture: Picture::of(shape) }
    }

    /// The part of an array of this shape.
    pub(super) fn of(shape: &[usize], transforms: &[Transform]) -> Self {
        let mut place = Self::whole(shape);
        for transform in transforms {
            if let Some(step) = resolved(*transform, place.shape()) {
                place.push(step);
            }
        }
        place
    }

    pub(super) fn shape(&self) -> &[usize] {
        &self.picture.shape
    }

    pub(super) fn len(&self) -> usize {
        self.picture.places.len()
    }

    pub(super) fn push(&mut self, step: Step) {
        self.picture = shown(&self.picture, &step);
        self.steps.push(step);
    }

    /// Gives the part two axes: outer axes are removed or added. Returns whether it now has two: an axis
    /// without positions cannot be removed.
    pub(super) fn make_two_axes(&mut self) -> bool {
        while self.shape().len() > 2 {
            if self.shape()[0] == 0 {
                return false;
            }
            self.push(Step::Index(0, 0));
        }
        while self.shape().len() < 2 {
            self.push(Step::NewAxis(0));
        }
        true
    }

    /// Cuts a source and a destination to one shape: outer axes of the source are removed or repeated, and so
    /// are extents of 1. Returns whether both have the same shape then: an outer axis without positions
    /// cannot be removed.
    pub(super) fn meet(source: &mut Self, destination: &mut Self) -> bool {
        while source.shape().len() > destination.shape().len() {
            if source.shape()[0] == 0 {
                return false;
            }
            source.push(Step::Index(0, 0));
        }
        let added = destination.shape().len() - source.shape().len();
        for axis in 0..source.shape().len() {
            let (from, to) = (source.shape()[axis], destination.shape()[axis + added]);
            if from != 1 && from < to {
                destination.push(Step::Cut(axis + added, 0, 1, from));
            } else if from != 1 && from > to {
                source.push(Step::Cut(axis, 0, 1, to));
            }
        }
        if source.shape() != destination.shape() {
            source.push(Step::Repeat(destination.shape().to_vec()));
        }
        true
    }

    pub(super) fn view<'a, T: Element, D: Device>(
        &self,
        whole: ArrayView<'a, T, D>,
    ) -> Result<ArrayView<'a, T, D>> {
        self.steps.iter().try_fold(whole, |view, step| match step {
            Step::Repeat(shape) => view.broadcast_to(shape),
            Step::Reshape(shape) => view.reshape(shape, Order::C),
            Step::Permute(axes) => view.permute(&signed(axes)),
            Step::Flip(axis) => view.flip(&signed(&[*axis])),
            Step::Cut(axis, start, step, count) => view.slice_axis(at(*axis), cut(*start, *step, *count)),
            Step::Index(axis, start) => {
                view.slice_axis(at(*axis), cut(*start, 1, 1))?.squeeze_axes(&[at(*axis)])
            }
            Step::NewAxis(axis) => view.expand_dims(at(*axis)),
            Step::Section(axis, sections, which) => {
                let mut parts = view.array_split(at(*axis), *sections)?;
                Ok(parts.nth(*which).unwrap_or(view))
            }
        })
    }

    pub(super) fn view_mut<'a, T: Element, D: Device>(
        &self,
        whole: ArrayViewMut<'a, T, D>,
    ) -> Result<ArrayViewMut<'a, T, D>> {
        self.steps.iter().try_fold(whole, |view, step| match step {
            Step::Permute(axes) => view.permute(&signed(axes)),
            Step::Flip(axis) => view.flip(&signed(&[*axis])),
            Step::Cut(axis, start, step, count) => view.slice_axis(at(*axis), cut(*start, *step, *count)),
            Step::Index(axis, start) => {
                view.slice_axis(at(*axis), cut(*start, 1, 1))?.squeeze_axes(&[at(*axis)])
            }
            Step::NewAxis(axis) => view.expand_dims(at(*axis)),
            Step::Section(axis, sections, which) => {
                let parts: Vec<_> = view.array_split(at(*axis), *sections)?.collect();
                let count = parts.len();
                let part = parts.into_iter().nth(*which);
                Ok(part.unwrap_or_else(|| unreachable!("{which} of {count} sections")))
            }
            Step::Reshape(shape) => view.reshape(shape, Order::C),
            Step::Repeat(_) => unreachable!("only sources repeat"),
        })
    }
}

fn at(axis: usize) -> isize {
    axis.cast_signed()
}

fn signed(axes: &[usize]) -> Vec<isize> {
    axes.iter().map(|&axis| at(axis)).collect()
}

fn cut(start: usize, step: usize, count: usize) -> Slice {
    Slice::from(start..start + step * count).step_by(at(step))
}

/// The step of a transform on a view of this shape; none if it does nothing.
fn resolved(transform: Transform, shape: &[usize]) -> Option<Step> {
    let rank = shape.len();
    if let Transform::NewAxis(axis) = transform {
        return (rank < 4).then(|| Step::NewAxis(axis % (rank + 1)));
    }
    if rank == 0 {
        return None;
    }
    match transform {
        Transform::Whole | Transform::NewAxis(_) => None,
        Transform::Swap(a, b) => {
            let mut axes: Vec<usize> = (0..rank).collect();
            axes.swap(a % rank, b % rank);
            Some(Step::Permute(axes))
        }
        Transform::Permute(mut number) => {
            let mut left: Vec<usize> = (0..rank).collect();
            let mut axes = Vec::new();
            while !left.is_empty() {
                let ways = left.len();
                axes.push(left.remove(number % ways));
                number /= ways;
            }
            Some(Step::Permute(axes))
        }
        Transform::Flip(axis) => Some(Step::Flip(axis % rank)),
        Transform::Cut { axis, start, step, count } => {
            let (axis, step) = (axis % rank, step % 4 + 1);
            let extent = shape[axis];
            let start = start.checked_rem(extent)?;
            Some(Step::Cut(axis, start, step, count.min((extent - start).div_ceil(step))))
        }
        Transform::Index(axis, start) => {
            let axis = axis % rank;
            Some(Step::Index(axis, start.checked_rem(shape[axis])?))
        }
        Transform::Section(axis, sections, which) => {
            let sections = sections % 4 + 1;
            Some(Step::Section(axis % rank, sections, which % sections))
        }
    }
}

/// The start and the length of each of `sections` parts of `extent` positions: the first ones are longer by
/// one.
pub(super) fn sections_of(extent: usize, sections: usize) -> Vec<(usize, usize)> {
    let mut start = 0;
    (0..sections)
        .map(|at| {
            let len = extent / sections + usize::from(at < extent % sections);
            start += len;
            (start - len, len)
        })
        .collect()
}

fn shown(picture: &Picture, step: &Step) -> Picture {
    match step {
        Step::Permute(axes) => picture.permute(axes),
        Step::Flip(axis) => picture.flip(*axis),
        Step::Cut(axis, start, step, count) => picture.slice(*axis, *start, step.cast_signed(), *count),
        Step::Index(axis, start) => {
            let mut shape = picture.shape.clone();
            shape.remove(*axis);
            picture.remap(&shape, |index| [&index[..*axis], &[*start], &index[*axis..]].concat())
        }
        Step::NewAxis(axis) => {
            let mut shape = picture.shape.clone();
            shape.insert(*axis, 1);
            picture.remap(&shape, |index| [&index[..*axis], &index[*axis + 1..]].concat())
        }
        Step::Section(axis, sections, which) => {
            let (start, len) = sections_of(picture.shape[*axis], *sections)[*which];
            picture.slice(*axis, start, 1, len)
        }
        Step::Reshape(shape) => Picture { shape: shape.clone(), places: picture.places.clone() },
        Step::Repeat(shape) => {
            let added = shape.len() - picture.shape.len();
            picture.remap(shape, |index| {
                let old = index[added..].iter().zip(&picture.shape);
                old.map(|(&at, &extent)| if extent == 1 { 0 } else { at }).collect()
            })
        }
    }
}
