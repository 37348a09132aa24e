//! Functions built on sorting: elements that move with keys, several quantiles, membership.

use crate::{
    Array, Bool, Element, LayoutError, Result,
    array::{ArrayView, AsArrayView},
    backend::Compute,
    function::{Computable, Float, Operands},
    gather::OutOfRange,
    layout::{Integer, Order, axis_index},
    order::Side,
    stream::StreamHandle,
};

/// Arrays that move with keys: a tuple of references to arrays and views of any types, up to six.
pub trait Payloads<D: Compute> {
    /// New arrays, one for each given one.
    type Moved;

    /// Takes the elements at positions along an axis. Each result has the shape of the positions.
    #[doc(hidden)]
    fn moved(self, stream: &StreamHandle<D>, positions: &Array<i64, D>, axis: usize) -> Result<Self::Moved>;
}

/// One array that moves with keys.
pub trait Payload<D: Compute> {
    /// The type of its elements.
    type Item: Element;

    /// A view of all elements.
    #[doc(hidden)]
    fn elements(&self) -> ArrayView<'_, Self::Item, D>;
}

impl<T: Element, D: Compute> Payload<D> for Array<T, D> {
    type Item = T;

    fn elements(&self) -> ArrayView<'_, T, D> {
        self.view()
    }
}

impl<T: Element, D: Compute> Payload<D> for ArrayView<'_, T, D> {
    type Item = T;

    fn elements(&self) -> ArrayView<'_, T, D> {
        self.clone()
    }
}

macro_rules! payloads {
    ($($name:ident)+) => {
        #[allow(non_snake_case, reason = "a value has the name of its type")]
        impl<D: Compute, $($name: Payload<D>),+> Payloads<D> for ($(&$name,)+) {
            type Moved = ($(Array<$name::Item, D>,)+);

            #[track_caller]
            fn moved(
                self,
                stream: &StreamHandle<D>,
                positions: &Array<i64, D>,
                axis: usize,
            ) -> Result<Self::Moved> {
                let ($($name,)+) = self;
                let ($($name,)+) = ($($name.elements(),)+);
                $(if $name.shape() != positions.shape() {
                    let (expected, found) = (positions.shape().into(), $name.shape().into());
                    return Err(LayoutError::ShapeMismatch { expected, found }.into());
                })+
                Ok(($($name.take_along_axis(stream, positions, axis, OutOfRange::Error)?,)+))
            }
        }
    };
}

payloads!(A);
payloads!(A B);
payloads!(A B C);
payloads!(A B C E);
payloads!(A B C E F);
payloads!(A B C E F G);

/// Sorts keys in ascending order along an axis, and moves the elements of other arrays of their shape
/// with them: new arrays in C order. Equal keys keep their order.
///
/// One sort gives the positions, of 8 bytes each. Another pass over each array, keys included,
/// moves its elements.
///
/// Does not synchronize.
///
/// ```
/// use devarray::{Array, Context, math};
///
/// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// let keys = Array::from_slice(&stream, &[4], &[3, 1, 2, 1])?;
/// let (weights, ids) = (Array::from_slice(&stream, &[4], &[0.3, 0.1, 0.2, 0.4])?, keys.flip(&[0])?);
/// let (keys, (weights, ids)) = math::sort_by_key(&stream, &keys, (&weights, &ids), 0)?;
/// assert_eq!(keys.to_vec(&stream)?, [1, 1, 2, 3]);
/// assert_eq!(weights.to_vec(&stream)?, [0.1, 0.4, 0.2, 0.3]);
/// assert_eq!(ids.to_vec(&stream)?, [2, 3, 1, 1]);
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// # Errors
///
/// - [`LayoutError::ShapeMismatch`]: an array has another shape than the keys.
/// - The errors of [`ArrayView::argsort`] and [`ArrayView::take_along_axis`].
#[doc(alias = "lexsort")]
#[track_caller]
pub fn sort_by_key<K: Computable, P: Payloads<D>, D: Compute>(
    stream: &StreamHandle<D>,
    keys: &impl AsArrayView<K, D>,
    payloads: P,
    axis: impl Integer,
) -> Result<(Array<K, D>, P::Moved)> {
    let keys = keys.as_array_view();
    let axis = axis_index(axis, keys.rank())?;
    let positions = keys.argsort(stream, axis)?;
    let moved = payloads.moved(stream, &positions, axis)?;
    Ok((keys.take_along_axis(stream, &positions, axis, OutOfRange::Error)?, moved))
}

/// Several quantiles of an axis, along a new first axis. Each equals [`ArrayView::quantile`] to the
/// bit, and takes one selection.
///
/// Does not synchronize.
///
/// ```
/// use devarray::{Array, Context, math};
///
/// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[2, 3], &[4.0, 1.0, 2.0, 0.0, 8.0, 1.0])?;
/// let found = math::quantiles(&stream, &x, &[0.25, 0.5], -1)?;
/// assert_eq!((found.shape(), found.to_vec(&stream)?), (&[2, 2][..], vec![1.5, 0.5, 2.0, 1.0]));
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// # Errors
///
/// The errors of [`ArrayView::quantile`].
#[doc(alias = "percentile")]
#[track_caller]
pub fn quantiles<T: Float, D: Compute>(
    stream: &StreamHandle<D>,
    x: &impl AsArrayView<T, D>,
    q: &[f64],
    axis: impl Integer,
) -> Result<Array<T, D>> {
    let x = x.as_array_view();
    let axis = axis_index(axis, x.rank())?;
    let others = x.shape().iter().enumerate().filter(|&(other, _)| other != axis);
    let shape: Vec<usize> = [q.len()].into_iter().chain(others.map(|(_, &extent)| extent)).collect();
    let mut result = Array::uninit(stream, &shape)?;
    for (number, &q) in q.iter().enumerate() {
        let mut view = result.view_mut().slice_axis(0, number..number + 1)?.squeeze_axes(&[0])?;
        x.quantile_into(stream, q, axis, &mut view)?;
    }
    Ok(result)
}

/// Whether each element is equal, by `==`, to an element of a set of any shape. NaN is in no set; −0
/// is in a set that has +0. The result is a new array in C order.
///
/// The set is copied to one axis if it has another shape, and sorted. Then one pass searches, one
/// takes the elements found, and one compares. The positions found take 8 bytes per element.
///
/// Does not synchronize.
///
/// ```
/// use devarray::{Array, Context, math};
///
/// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[4], &[3, 1, 4, 1])?;
/// let set = Array::from_slice(&stream, &[2], &[4, 3])?;
/// let is_in = math::is_in(&stream, &x, &set)?;
/// assert_eq!(is_in.to_vec(&stream)?, [true, false, true, false].map(devarray::Bool::from));
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// # Errors
///
/// The errors of [`ArrayView::sort`] and [`Operands::map`].
#[doc(alias = "isin")]
#[track_caller]
pub fn is_in<T: Computable, D: Compute>(
    stream: &StreamHandle<D>,
    x: &impl AsArrayView<T, D>,
    set: &impl AsArrayView<T, D>,
) -> Result<Array<Bool, D>> {
    let (x, set) = (x.as_array_view(), set.as_array_view());
    if set.is_empty() {
        return Array::zeros(stream, x.shape());
    }
    let flat = set.ravel_or_copy(stream, Order::C)?;
    let sorted = flat.view().sort(stream, 0)?;
    let places = sorted.search_sorted(stream, &*x, Side::Left)?;
    // The position after the last belongs to elements above the whole set. There the last is taken,
    // which they do not equal.
    let found = sorted.take(stream, &places, 0, OutOfRange::Clamp)?;
    (&*x, &found).map(stream, |(x, found)| x.equal(found))
}
