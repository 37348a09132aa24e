//! Shapes for a reshape, in which one extent may be inferred.

use super::{
    Axes, LayoutError,
    axis::axes_from_fn,
    integer::{Integer, sealed::Sealed},
};

/// A shape to reshape to: a slice, an array, a `Vec` or [`Axes`] of any [`Integer`]. Sealed.
///
/// The extent −1, given once, is inferred from the number of elements.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no shape to reshape to",
    label = "not a slice, an array or a `Vec` of integers",
    note = "write a shape as `&[2, 3]`; one extent may be -1"
)]
pub trait Extents: Sealed {
    /// The type of an extent.
    type Extent: Integer;

    /// One extent per axis, outermost first.
    fn extents(&self) -> &[Self::Extent];
}

impl<T: Integer> Sealed for [T] {}
impl<T: Integer, const N: usize> Sealed for [T; N] {}
impl<T: Integer> Sealed for Vec<T> {}
impl<T: Integer> Sealed for Axes<T> {}

impl<T: Integer> Extents for [T] {
    type Extent = T;

    #[inline]
    fn extents(&self) -> &[T] {
        self
    }
}

impl<T: Integer, const N: usize> Extents for [T; N] {
    type Extent = T;

    #[inline]
    fn extents(&self) -> &[T] {
        self
    }
}

impl<T: Integer> Extents for Vec<T> {
    type Extent = T;

    fn extents(&self) -> &[T] {
        self
    }
}

impl<T: Integer> Extents for Axes<T> {
    type Extent = T;

    fn extents(&self) -> &[T] {
        self
    }
}

/// The new shape for the `len` elements of the shape `from`, with the missing extent inferred. Its
/// product is `len`.
#[inline]
pub(super) fn infer<T: Integer>(
    extents: &[T],
    from: &Axes<usize>,
    len: usize,
) -> Result<Axes<usize>, LayoutError> {
    let mut known = 1_usize;
    let mut inferred = None;
    for (axis, extent) in extents.iter().enumerate() {
        match extent.to_isize().ok_or(LayoutError::Overflow)? {
            -1 if inferred.is_none() => inferred = Some(axis),
            -1 => return Err(cannot_infer(extents, from)),
            extent => {
                let extent = usize::try_from(extent).map_err(|_| LayoutError::NegativeExtent { extent })?;
                known = known.checked_mul(extent).ok_or(LayoutError::Overflow)?;
            }
        }
    }
    let unknown = match inferred {
        None if known == len => 0,
        None => {
            return Err(LayoutError::SizeMismatch {
                from: from[..].into(),
                to: shape(extents, 0)[..].into(),
            });
        }
        // NumPy does not infer an extent beside an extent of 0, even if the layout is empty: any
        // extent would do.
        Some(_) if len.checked_rem(known) == Some(0) => len / known,
        Some(_) => return Err(cannot_infer(extents, from)),
    };
    Ok(shape(extents, unknown))
}

/// The extents, with `unknown` in place of the one that would be inferred.
#[inline]
fn shape<T: Integer>(extents: &[T], unknown: usize) -> Axes<usize> {
    axes_from_fn(extents.len(), |axis| {
        let extent = extents[axis].to_isize();
        extent.and_then(|extent| usize::try_from(extent).ok()).unwrap_or(unknown)
    })
}

#[cold]
fn cannot_infer<T: Integer>(extents: &[T], from: &Axes<usize>) -> LayoutError {
    // An extent that does not fit `isize` can only come after the second −1, so it was never read.
    let to = extents.iter().map(|extent| extent.to_isize().unwrap_or(isize::MAX)).collect();
    LayoutError::CannotInfer { from: from[..].into(), to }
}
