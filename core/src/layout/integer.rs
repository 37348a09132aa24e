//! The integers that users write for positions and extents.

/// An integer type for positions and extents: `isize` or `i32`, in which negative numbers have a
/// meaning, or `usize`. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not taken for a position or an extent",
    label = "not `isize`, `i32` or `usize`",
    note = "positions and extents are `isize`, `i32` or `usize`"
)]
pub trait Integer: Copy + sealed::Sealed {
    /// The number as `isize`; `None` if it is greater than `isize` holds.
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

/// A position on an axis. A number too great for `isize` becomes `isize::MAX`, which is also
/// outside every axis.
#[inline]
pub(super) fn position<T: Integer>(position: T) -> isize {
    position.to_isize().unwrap_or(isize::MAX)
}
