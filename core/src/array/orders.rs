//! Order, search, counts and sums by index, as calls on arrays and views.

mod by_index;
mod counted;
mod ordered;
mod read_indices;
mod searched;
mod top;

pub use counted::Unique;
pub(crate) use read_indices::ReadIndices;

use super::{Array, ArrayView, AsArrayViewMut, Element, ErasedArray, ErasedView, device_call::made};
use crate::{
    Result,
    backend::{Compute, Device},
    function::{Computable, ElementType},
    operations::Elements,
    order::Call,
    stream::StreamHandle,
};

/// Pairs an input with its element type.
pub(crate) fn typed<'a, T: Computable, D: Device>(
    view: &ArrayView<'a, T, D>,
) -> (ElementType, ErasedView<'a, D>) {
    (T::TYPE, view.as_erased().clone())
}

/// Makes a call and returns its first result, a new array.
#[track_caller]
pub(crate) fn first<R: Element, D: Compute>(
    call: Call,
    stream: &StreamHandle<D>,
    inputs: &[(ElementType, ErasedView<'_, D>)],
) -> Result<Array<R, D>> {
    let wanted = [true, false, false, false];
    let results = made(call, stream, inputs, &wanted[..call.count_of_outputs()])?;
    let first = results.into_iter().flatten().next();
    Ok(Array::of_erased(first.expect("the first is wanted")))
}

/// Makes a call with all results new. Each use of the returned closure gives the next result.
#[track_caller]
fn all<D: Compute>(
    call: Call,
    stream: &StreamHandle<D>,
    input: (ElementType, ErasedView<'_, D>),
) -> Result<impl FnMut() -> ErasedArray<D>> {
    let wanted = [true; 4];
    let results = made(call, stream, &[input], &wanted[..call.count_of_outputs()])?;
    let mut results = results.into_iter().flatten();
    Ok(move || results.next().expect("all results are wanted"))
}

/// Makes a call that has one result, into existing elements.
#[track_caller]
fn into<R: Element, D: Compute>(
    call: Call,
    stream: &StreamHandle<D>,
    inputs: &[(ElementType, ErasedView<'_, D>)],
    result: &mut impl AsArrayViewMut<R, D>,
) -> Result<()> {
    let result = result.as_array_view_mut();
    let elements: Elements<'_, D> = result.elements();
    super::device_call::submit(call, stream, inputs, &[Some(elements)], None)
}

/// Emits a method of one result and its twin into existing elements, for views and for arrays. A name
/// in brackets is another array of the same type.
macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident $into:ident $bound:ident $([$other:ident])?
        ($($argument:ident: $type:ty),*) -> $result:ty: $call:expr;)*) => {$(
        impl<T: $bound, D: Device> ArrayView<'_, T, D> {
            $(#[$doc])*
            ///
            /// # Errors
            ///
            /// - [`Error::Order`](crate::Error::Order): shapes or arguments do not fit.
            /// - [`LayoutError::AxisOutOfRange`](crate::LayoutError::AxisOutOfRange), where there is an
            ///   axis; [`LayoutError::Overflow`](crate::LayoutError::Overflow): more than 2^48 elements,
            ///   which only broadcast views have.
            /// - [`Error::Unsupported`](crate::Error::Unsupported), out of memory, another context's
            ///   stream or array, and any other device error.
            #[track_caller]
            pub fn $name(
                &self,
                stream: &StreamHandle<D>,
                $($other: &impl AsArrayView<T, D>,)?
                $($argument: $type),*
            ) -> Result<Array<$result, D>>
            where
                D: Compute,
            {
                first($call, stream, &[typed(self), $(typed(&$other.as_array_view()))?])
            }

            #[doc = concat!("Like [`", stringify!($name), "`](Self::", stringify!($name), "), into existing elements of any strides.")]
            ///
            /// Does not synchronize.
            ///
            /// # Errors
            ///
            #[doc = concat!("The errors of [`", stringify!($name), "`](Self::", stringify!($name), "); also, `result` has another shape, or two of its elements share memory.")]
            #[track_caller]
            pub fn $into(
                &self,
                stream: &StreamHandle<D>,
                $($other: &impl AsArrayView<T, D>,)?
                $($argument: $type,)*
                result: &mut impl AsArrayViewMut<$result, D>,
            ) -> Result<()>
            where
                D: Compute,
            {
                into($call, stream, &[typed(self), $(typed(&$other.as_array_view()))?], result)
            }
        }

        impl<T: $bound, D: Device> Array<T, D> {
            #[doc = concat!("[`ArrayView::", stringify!($name), "`] of the whole array.")]
            ///
            /// # Errors
            ///
            /// See there.
            #[track_caller]
            pub fn $name(
                &self,
                stream: &StreamHandle<D>,
                $($other: &impl AsArrayView<T, D>,)?
                $($argument: $type),*
            ) -> Result<Array<$result, D>>
            where
                D: Compute,
            {
                self.view().$name(stream, $($other,)? $($argument),*)
            }

            #[doc = concat!("[`ArrayView::", stringify!($into), "`] of the whole array.")]
            ///
            /// # Errors
            ///
            /// See there.
            #[track_caller]
            pub fn $into(
                &self,
                stream: &StreamHandle<D>,
                $($other: &impl AsArrayView<T, D>,)?
                $($argument: $type,)*
                result: &mut impl AsArrayViewMut<$result, D>,
            ) -> Result<()>
            where
                D: Compute,
            {
                self.view().$into(stream, $($other,)? $($argument,)* result)
            }
        }
    )*};
}

use calls;
