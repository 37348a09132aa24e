//! Lists of axes.

use super::{Axes, integer::Integer};

/// A list of axes: a slice, an array, a `Vec` or [`Axes`] of any [`Integer`], or a reference to
/// one. Negative axes count from the end.
///
/// ```
/// use devarray::{Layout, Order};
///
/// let x = Layout::contiguous(&[2, 3, 4], Order::C)?;
/// let last: usize = x.rank() - 1;
/// assert_eq!(x.permute(&[-1, 0, 1])?, x.permute([last, 0, 1])?);
/// assert_eq!(x.flip(&vec![0_isize, 2])?, x.flip([0, -1])?);
/// assert_eq!(x.flip(&[])?, x); // none
/// # Ok::<(), devarray::LayoutError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no list of axes",
    label = "not a list of integers",
    note = "write axes as `&[0, -1]`; each is `isize`, `i32` or `usize`"
)]
pub trait AxisList {
    /// The type of an axis.
    type Axis: Integer;

    /// One axis after the other.
    fn axes(&self) -> &[Self::Axis];

    /// Does nothing. Because it takes `&mut self`, clippy does not ask for `[0]` in place of the
    /// usual `&[0]` (`needless_borrows_for_generic_args`).
    #[doc(hidden)]
    fn by_reference_too(&mut self) {}
}

impl<A: AxisList + ?Sized> AxisList for &A {
    type Axis = A::Axis;

    #[inline]
    fn axes(&self) -> &[A::Axis] {
        (**self).axes()
    }
}

impl<T: Integer> AxisList for [T] {
    type Axis = T;

    #[inline]
    fn axes(&self) -> &[T] {
        self
    }
}

impl<T: Integer> AxisList for Vec<T> {
    type Axis = T;

    #[inline]
    fn axes(&self) -> &[T] {
        self
    }
}

impl<T: Integer> AxisList for Axes<T> {
    type Axis = T;

    #[inline]
    fn axes(&self) -> &[T] {
        self
    }
}

// Only this type has an implementation for an empty array, so that `&[]` needs no annotation.
impl<const N: usize> AxisList for [isize; N] {
    type Axis = isize;

    #[inline]
    fn axes(&self) -> &[isize] {
        self
    }
}

/// Implements `AxisList` for arrays of the other integers.
macro_rules! arrays {
    ($($type:ty: $($len:literal)*;)*) => {$($(
        impl AxisList for [$type; $len] {
            type Axis = $type;

            #[inline]
            fn axes(&self) -> &[$type] {
                self
            }
        }
    )*)*};
}

arrays! {
    i32: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32;
    usize: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32;
}
