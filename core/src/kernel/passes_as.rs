//! Values that can be passed to launches.

use super::{Argument, Bound, Form, In, InOut, Out};
use crate::{
    array::{Array, ArrayView, ArrayViewMut, Element, SharedArray},
    backend::Device,
};

/// Values that can be passed where a kernel declares an argument of kind `K`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be given where the kernel declares `{K}`",
    label = "the kernel declares `{K}` here",
    note = "`In<T>` takes `&Array<T, D>`, `&ArrayView<T, D>` and `&SharedArray<T, D>`",
    note = "`Out<T>` and `InOut<T>` take `&mut Array<T, D>` and `&mut ArrayViewMut<T, D>`",
    note = "a value takes itself"
)]
pub trait PassesAs<'a, K: Argument, D: Device> {
    /// The part that the launch keeps.
    #[doc(hidden)]
    fn bind(self) -> K::Bound<'a, D>;
}

impl<'a, T: Element, L: Form, D: Device> PassesAs<'a, In<T, L>, D> for &'a Array<T, D> {
    fn bind(self) -> Bound<'a, In<T, L>, D> {
        Bound::new(self.as_erased().elements())
    }
}

impl<'a, T: Element, L: Form, D: Device> PassesAs<'a, In<T, L>, D> for &'a SharedArray<T, D> {
    fn bind(self) -> Bound<'a, In<T, L>, D> {
        Bound::new(self.as_array().as_erased().elements())
    }
}

impl<'a, T: Element, L: Form, D: Device> PassesAs<'a, In<T, L>, D> for &'a ArrayView<'_, T, D> {
    fn bind(self) -> Bound<'a, In<T, L>, D> {
        Bound::new(self.elements())
    }
}

/// `Out` and `InOut` take the same values.
macro_rules! written {
    ($kind:ident) => {
        impl<'a, T: Element, L: Form, D: Device> PassesAs<'a, $kind<T, L>, D> for &'a mut Array<T, D> {
            fn bind(self) -> Bound<'a, $kind<T, L>, D> {
                Bound::new(self.as_erased().elements())
            }
        }

        impl<'a, T: Element, L: Form, D: Device> PassesAs<'a, $kind<T, L>, D>
            for &'a mut ArrayViewMut<'_, T, D>
        {
            fn bind(self) -> Bound<'a, $kind<T, L>, D> {
                Bound::new(self.elements())
            }
        }
    };
}

written!(Out);
written!(InOut);

#[diagnostic::do_not_recommend]
impl<S: Element, D: Device> PassesAs<'_, S, D> for S {
    fn bind(self) -> S {
        self
    }
}
