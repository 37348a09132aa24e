//! Shapes and views worth testing, and generated ones, for authors of laws and for backends' own tests.

use bytemuck::Pod;
use devarray::{Array, ArrayView, ArrayViewMut, Device, Element, Result, layout::Slice};

use crate::{Picture, Rng};

/// Shapes at which copies tend to go wrong: 0-d, empty, extents of 1, odd extents, more axes than are kept
/// inline.
pub const SHAPES: &[&[usize]] = &[
    &[],
    &[0],
    &[1],
    &[7],
    &[257],
    &[2, 3],
    &[3, 0, 2],
    &[1, 5, 1],
    &[33, 17],
    &[64, 3],
    &[5, 4, 3],
    &[2, 3, 4, 5],
    &[3, 1, 4, 1, 5],
    &[2, 2, 2, 2, 2, 2, 2],
];

/// One transform of a view, made in the same way on a device and in a [`Picture`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// New axis k is old axis `.0[k]`.
    Permute(Vec<usize>),
    /// `count` positions of an axis from `start` on.
    Slice {
        /// The axis.
        axis: usize,
        /// Its first position.
        start: usize,
        /// The distance from one position to the next; it may be negative.
        step: isize,
        /// The number of positions.
        count: usize,
    },
    /// A new outermost axis along which the elements repeat.
    Repeat(usize),
}

/// A view, given as a C-contiguous base and the steps that lead to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Shape of the base.
    pub base: Vec<usize>,
    /// Transforms, in order.
    pub steps: Vec<Step>,
}

impl Pattern {
    /// The whole base.
    #[must_use]
    pub fn whole(shape: &[usize]) -> Self {
        Self { base: shape.to_vec(), steps: Vec::new() }
    }

    /// A view of `shape` into some base: axes in any order, steps of any sign, gaps before, between and
    /// after. If `repeats` is set, some axes may be broadcast, which a destination does not allow.
    #[must_use]
    pub fn random(rng: &mut Rng, shape: &[usize], repeats: bool) -> Self {
        let (mut pattern, mut order) = (Self::whole(&[]), Vec::new());
        let mut repeated = Vec::new();
        for axis in rng.permutation(shape.len()) {
            let count = shape[axis];
            if repeats && rng.below(6) == 0 {
                repeated.push(axis);
                continue;
            }
            let step = [1_isize, 1, 1, 2, 3, -1, -1, -2][rng.below(8)];
            let (before, after) = (rng.below(6).saturating_sub(3), rng.below(6).saturating_sub(3));
            let reach = count.saturating_sub(1) * step.unsigned_abs();
            pattern.base.push(before + reach + usize::from(count > 0) + after);
            let start = if step < 0 { before + reach } else { before };
            pattern.steps.push(Step::Slice { axis: order.len(), start, step, count });
            order.push(axis);
        }
        for axis in repeated {
            pattern.steps.push(Step::Repeat(shape[axis]));
            order.insert(0, axis);
        }
        let axes = (0..shape.len()).filter_map(|axis| order.iter().position(|&at| at == axis)).collect();
        pattern.steps.push(Step::Permute(axes));
        pattern
    }

    /// Number of elements of the base.
    #[must_use]
    pub fn base_len(&self) -> usize {
        self.base.iter().product()
    }

    /// The elements that the view shows, by the oracle.
    #[must_use]
    pub fn picture(&self) -> Picture {
        self.steps.iter().fold(Picture::of(&self.base), |picture, step| match step {
            Step::Permute(axes) => picture.permute(axes),
            Step::Slice { axis, start, step, count } => picture.slice(*axis, *start, *step, *count),
            Step::Repeat(extent) => picture.repeat(*extent),
        })
    }

    /// The view of an array on a device.
    ///
    /// # Errors
    ///
    /// A step was refused, which a correct library does not do.
    pub fn view<'a, T: Element, D: Device>(&self, array: &'a Array<T, D>) -> Result<ArrayView<'a, T, D>> {
        self.steps.iter().try_fold(array.view(), |view, step| match step {
            Step::Permute(axes) => view.permute(&signed(axes)),
            Step::Slice { axis, start, step, count } => {
                view.slice_axis(axis.cast_signed(), slice(*start, *step, *count))
            }
            Step::Repeat(extent) => {
                let shape: Vec<usize> = [*extent].into_iter().chain(view.shape().iter().copied()).collect();
                view.broadcast_to(&shape)
            }
        })
    }

    /// The view, for writing. None of the steps may repeat elements.
    ///
    /// # Errors
    ///
    /// The errors of [`view`](Self::view).
    pub fn view_mut<'a, T: Element, D: Device>(
        &self,
        array: &'a mut Array<T, D>,
    ) -> Result<ArrayViewMut<'a, T, D>> {
        self.steps.iter().try_fold(array.view_mut(), |view, step| match step {
            Step::Permute(axes) => view.permute(&signed(axes)),
            Step::Slice { axis, start, step, count } => {
                view.slice_axis(axis.cast_signed(), slice(*start, *step, *count))
            }
            Step::Repeat(_) => unreachable!("a destination that repeats is not generated"),
        })
    }
}

fn signed(axes: &[usize]) -> Vec<isize> {
    axes.iter().map(|axis| axis.cast_signed()).collect()
}

/// `count` positions from `start` on, as the library takes them.
fn slice(start: usize, step: isize, count: usize) -> Slice {
    let stop = start.cast_signed() + step * count.cast_signed();
    let mut slice = Slice::FULL.step_by(step);
    slice.start = Some(start.cast_signed());
    slice.stop = (stop >= 0).then_some(stop);
    slice
}

/// `count` elements, all different if their size allows it, and different ones for another `salt`.
#[must_use]
pub fn elements<T: Pod>(salt: u64, count: usize) -> Vec<T> {
    let mut data = vec![T::zeroed(); count];
    let mut rng = Rng::new(salt);
    for chunk in bytemuck::cast_slice_mut::<T, u8>(&mut data).chunks_mut(8) {
        chunk.copy_from_slice(&rng.bits().to_le_bytes()[..chunk.len()]);
    }
    data
}
