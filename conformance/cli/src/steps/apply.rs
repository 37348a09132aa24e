//! Carries out steps on device memory.

use std::borrow::Cow;

use devarray::{Device, ErasedArray, ErasedView, ErasedViewMut, LayoutError, Reshaped, Result, StreamHandle};
use thiserror::Error;

use super::{Cut, Step};

/// A step that has no result, or could not be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("step {}: {cause}", index + 1)]
#[non_exhaustive]
pub struct StepError {
    /// Its position in the chain, from 0.
    pub index: usize,
    /// The library's error.
    pub cause: Box<devarray::Error>,
}

impl StepError {
    /// Drops the location of the call in this program, because the user wrote the step.
    pub(super) fn new(index: usize, cause: devarray::Error) -> Self {
        Self { index, cause: Box::new(cause.without_location()) }
    }
}

/// Carries out `steps`, each on the result of the previous one. `finish` gets the last result, and
/// whether any step copied.
///
/// Views stay views. If a step has to copy, the copy is made on the device, and later steps use it.
/// Does not synchronize.
///
/// # Errors
///
/// The first step that has no result.
pub fn apply<D: Device, R>(
    stream: &StreamHandle<D>,
    base: &ErasedArray<D>,
    steps: &[Step],
    finish: impl FnOnce(&ErasedView<'_, D>, bool) -> R,
) -> Result<R, StepError> {
    let mut steps = steps.iter().enumerate();
    let mut copy: Option<ErasedArray<D>> = None;
    loop {
        let mut view = copy.as_ref().unwrap_or(base).view();
        let next = loop {
            let Some((index, step)) = steps.next() else { return Ok(finish(&view, copy.is_some())) };
            match one(stream, &view, step).map_err(|cause| StepError::new(index, cause))? {
                Reshaped::View(result) => view = result,
                Reshaped::Copied(result) => break result,
            }
        };
        copy = Some(next);
    }
}

/// The view of an array that `steps` give, each on the result of the previous one, for writing: a
/// view that reaches no element twice.
///
/// # Errors
///
/// The first step that has no result, as in [`apply`]; [`LayoutError::NeedsCopy`] if it copies or
/// repeats elements.
pub fn apply_to_write<'a, D: Device>(
    base: &'a mut ErasedArray<D>,
    steps: &[Step],
) -> Result<ErasedViewMut<'a, D>, StepError> {
    steps.iter().enumerate().try_fold(base.view_mut(), |view, (index, step)| {
        one_to_write(view, step).map_err(|cause| StepError::new(index, cause))
    })
}

fn one_to_write<'a, D: Device>(view: ErasedViewMut<'a, D>, step: &Step) -> Result<ErasedViewMut<'a, D>> {
    let view = match step {
        Step::Index(items) => view.index(items)?,
        Step::Permute(None) => view.transpose(),
        Step::Permute(Some(axes)) => view.permute(axes)?,
        Step::Flip(axes) => {
            let axes = flipped(axes.as_deref(), view.rank());
            view.flip(&*axes)?
        }
        Step::Squeeze(None) => view.squeeze(),
        Step::Squeeze(Some(axes)) => view.squeeze_axes(axes)?,
        Step::Reshape(shape, order) => view.reshape(&shape[..], *order)?,
        Step::Ravel(order) => view.ravel(*order)?,
        Step::Broadcast(_) | Step::Copy(_) => return Err(LayoutError::NeedsCopy.into()),
        Step::Split(Cut::Every(section), take) => part(view.split(section_of(*section)?)?, *take)?,
        Step::Split(Cut::Into { axis, sections }, take) => {
            part(view.array_split(*axis, section_of(*sections)?)?, *take)?
        }
        Step::Split(Cut::At { axis, at }, take) => part(view.split_at(*axis, at)?, *take)?,
    };
    view.layout().len_bytes(view.item_bytes())?;
    Ok(view)
}

type StepResult<'a, D> = Reshaped<ErasedView<'a, D>, ErasedArray<D>>;

fn one<'a, D: Device>(
    stream: &StreamHandle<D>,
    view: &ErasedView<'a, D>,
    step: &Step,
) -> Result<StepResult<'a, D>> {
    let result = match step {
        Step::Index(items) => view.index(items)?,
        Step::Permute(None) => view.transpose(),
        Step::Permute(Some(axes)) => view.permute(axes)?,
        Step::Flip(axes) => {
            let axes = flipped(axes.as_deref(), view.rank());
            view.flip(&*axes)?
        }
        Step::Squeeze(None) => view.squeeze(),
        Step::Squeeze(Some(axes)) => view.squeeze_axes(axes)?,
        Step::Broadcast(shape) => view.broadcast_to(&extents(shape)?)?,
        Step::Reshape(shape, order) => match view.reshape_or_copy(stream, &shape[..], *order)? {
            Reshaped::View(result) => result,
            copied => return Ok(copied),
        },
        Step::Ravel(order) => return view.ravel_or_copy(stream, *order),
        Step::Copy(order) => return view.to_contiguous(stream, *order).map(Reshaped::Copied),
        Step::Split(Cut::Every(section), take) => part(view.split(section_of(*section)?)?, *take)?,
        Step::Split(Cut::Into { axis, sections }, take) => {
            part(view.array_split(*axis, section_of(*sections)?)?, *take)?
        }
        Step::Split(Cut::At { axis, at }, take) => part(view.split_at(*axis, at)?, *take)?,
    };
    // NumPy refuses an empty array that would be too large if it had elements.
    result.layout().len_bytes(result.item_bytes())?;
    Ok(Reshaped::View(result))
}

/// The part with this number, counted from 0.
pub(super) fn part<T>(mut parts: impl ExactSizeIterator<Item = T>, take: isize) -> Result<T, LayoutError> {
    let extent = parts.len();
    let found = usize::try_from(take).ok().and_then(|take| parts.nth(take));
    found.ok_or(LayoutError::IndexOutOfRange { axis: 0, index: take, extent })
}

/// The axes that a flip reverses: all axes if none are given.
pub(super) fn flipped(axes: Option<&[isize]>, rank: usize) -> Cow<'_, [isize]> {
    axes.map_or_else(|| (0..rank).map(usize::cast_signed).collect(), Cow::Borrowed)
}

/// The number or length of sections.
pub(super) fn section_of(number: isize) -> Result<usize, LayoutError> {
    usize::try_from(number).map_err(|_| LayoutError::BadSection { section: number })
}

pub(super) fn extents(numbers: &[isize]) -> Result<Vec<usize>, LayoutError> {
    let extent =
        |&extent: &isize| usize::try_from(extent).map_err(|_| LayoutError::NegativeExtent { extent });
    numbers.iter().map(extent).collect()
}
