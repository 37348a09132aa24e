//! The integers that users write for axes, positions and extents.

/// An integer type for axes, positions and extents: `isize` or `i32`, in which negative numbers
/// have a meaning, or `usize`. Sealed.
///
/// ```
/// use devarray::{Array, Context};
///
/// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[2, 3], &[1_i64, 2, 3, 4, 5, 6])?;
/// let last: usize = x.rank() - 1;
/// assert_eq!(x.sum(&stream, last)?.to_vec(&stream)?, [6, 15]);
/// assert_eq!(x.sum(&stream, -1)?.to_vec(&stream)?, [6, 15]);
/// assert_eq!(x.permute(&[last, 0])?.shape(), [3, 2]);
/// # Ok::<(), devarray::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not taken for an axis, a position or an extent",
    label = "not `isize`, `i32` or `usize`",
    note = "axes, positions and extents are `isize`, `i32` or `usize`"
)]
pub trait Integer: Copy + sealed::Sealed {
    /// The number as `isize`; `None` if it exceeds `isize::MAX`.
    fn to_isize(self) -> Option<isize>;
}

pub(super) mod sealed {
    #[expect(unnameable_types, reason = "that seals what it bounds")]
    pub trait Sealed {}
}

macro_rules! integer {
    ($($type:ty),*) => {$(
        impl sealed::Sealed for $type {}

        impl Integer for $type {
            #[inline]
            fn to_isize(self) -> Option<isize> {
                isize::try_from(self).ok()
            }
        }
    )*};
}

integer!(isize, i32, usize);

/// Converts an axis, or a position on one. A number that does not fit becomes `isize::MAX`, which is
/// also outside every axis.
#[inline]
#[doc(hidden)]
pub fn position<T: Integer>(position: T) -> isize {
    position.to_isize().unwrap_or(isize::MAX)
}
