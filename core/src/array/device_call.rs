//! Calls of order, search and counting on erased arrays and views.

use smallvec::SmallVec;

use super::{Array, ArrayViewMut, ErasedArray, ErasedView, ErasedViewMut};
use crate::{
    Error, LayoutError, Result,
    backend::Compute,
    function::ElementType,
    operations::{Called, Elements, Typed, outputs_of},
    order::Call,
    stream::StreamHandle,
};

/// Makes a [`Call`] on a device.
///
/// Sealed: only `Call` implements it. The [prelude](crate::prelude) brings it into scope. Typed
/// arrays and views have a method for each call.
pub trait DeviceCall: sealed::Sealed {
    /// Makes the call, with new results in C order. Does not synchronize; but
    /// [`Unique`](Call::Unique) and [`NonZero`](Call::NonZero) block until their rows are counted.
    ///
    /// ```
    /// use devarray::{Context, ErasedArray, function::ElementType, order::Call, prelude::*};
    /// use devarray_mock::MockDevice;
    ///
    /// let stream = Context::new(MockDevice::new())?.stream()?;
    /// let x = ErasedArray::from_bytes(&stream, &[4], 1, &[3, 1, 3, 2])?;
    /// let top = Call::TopK { k: 2, axis: 0, largest: true };
    /// let found = top.apply(&stream, &[(ElementType::U8, x.view())])?;
    /// assert_eq!(found[0].view().to_bytes(&stream)?, [3, 3]);
    /// assert_eq!(found[1].view().to_bytes(&stream)?, bytemuck::bytes_of(&[0_i64, 2]));
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Order`]: the types, the shapes or an argument do not fit, or a quantile of no
    ///   elements is asked for.
    /// - [`AxisOutOfRange`](crate::LayoutError::AxisOutOfRange);
    ///   [`ElementSize`](crate::LayoutError::ElementSize): the size of elements is not their type's.
    /// - [`Overflow`](crate::LayoutError::Overflow): more than 2^48 elements, which only broadcast
    ///   views have.
    /// - [`Error::Unsupported`], out of memory, another context's stream or array, and any other
    ///   device error.
    ///
    /// A later wait reports an index without a place, as [`Error::Index`]: see
    /// [`order`](crate::order).
    #[track_caller]
    fn apply<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[(ElementType, ErasedView<'_, D>)],
    ) -> Result<Vec<ErasedArray<D>>>;

    /// Like [`apply`](Self::apply), but makes only the results for which `wanted` is true. The others are
    /// `None` and cost nothing. Blocks where `apply` does.
    ///
    /// # Errors
    ///
    /// - [`RankMismatch`](crate::LayoutError::RankMismatch): another number of results.
    /// - The errors of [`apply`](Self::apply).
    #[track_caller]
    fn apply_to_some<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[(ElementType, ErasedView<'_, D>)],
        wanted: &[bool],
    ) -> Result<Vec<Option<ErasedArray<D>>>>;

    /// Like [`apply`](Self::apply), into existing elements of any strides. Results that are `None`
    /// are not computed. Does not synchronize.
    ///
    /// A counted result may have any number of rows. Rows that fit are written, and the other rows
    /// stay. If some do not fit, a later wait reports the first as an index. The number of rows is
    /// written to `count`, on the device.
    ///
    /// # Errors
    ///
    /// - [`RankMismatch`](crate::LayoutError::RankMismatch),
    ///   [`ShapeMismatch`](crate::LayoutError::ShapeMismatch): another number of results, a result of
    ///   another shape, or a count with axes.
    /// - [`AliasedDestination`](crate::LayoutError::AliasedDestination): two elements of a result
    ///   share memory.
    /// - The errors of [`apply`](Self::apply).
    #[track_caller]
    fn apply_into<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[(ElementType, ErasedView<'_, D>)],
        results: &mut [Option<ErasedViewMut<'_, D>>],
        count: Option<&mut ArrayViewMut<'_, i64, D>>,
    ) -> Result<()>;
}

mod sealed {
    #[expect(unnameable_types, reason = "that seals the trait")]
    pub trait Sealed {}
}

impl sealed::Sealed for Call {}

impl DeviceCall for Call {
    #[track_caller]
    fn apply<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[(ElementType, ErasedView<'_, D>)],
    ) -> Result<Vec<ErasedArray<D>>> {
        let all = [true; 4];
        let results = made(*self, stream, inputs, &all[..self.count_of_outputs()])?;
        Ok(results.into_iter().flatten().collect())
    }

    #[track_caller]
    fn apply_to_some<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[(ElementType, ErasedView<'_, D>)],
        wanted: &[bool],
    ) -> Result<Vec<Option<ErasedArray<D>>>> {
        Ok(made(*self, stream, inputs, wanted)?.into_vec())
    }

    #[track_caller]
    fn apply_into<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[(ElementType, ErasedView<'_, D>)],
        results: &mut [Option<ErasedViewMut<'_, D>>],
        count: Option<&mut ArrayViewMut<'_, i64, D>>,
    ) -> Result<()> {
        let results: SmallVec<[_; 4]> =
            results.iter().map(|result| result.as_ref().map(ErasedViewMut::elements)).collect();
        submit(*self, stream, inputs, &results, count.as_ref().map(|count| count.elements()))
    }
}

/// Makes a call into existing elements.
#[track_caller]
pub(super) fn submit<D: Compute>(
    call: Call,
    stream: &StreamHandle<D>,
    inputs: &[(ElementType, ErasedView<'_, D>)],
    results: &[Option<Elements<'_, D>>],
    count: Option<Elements<'_, D>>,
) -> Result<()> {
    let inputs: SmallVec<[Typed<'_, D>; 4]> =
        inputs.iter().map(|(element_type, view)| (*element_type, view.elements())).collect();
    stream.0.make_call(&Called { call, inputs: &inputs, results, count })
}

/// Makes a call. The wanted results are new arrays. Blocks if their rows are counted.
#[track_caller]
pub(super) fn made<D: Compute>(
    call: Call,
    stream: &StreamHandle<D>,
    inputs: &[(ElementType, ErasedView<'_, D>)],
    wanted: &[bool],
) -> Result<SmallVec<[Option<ErasedArray<D>>; 4]>> {
    let shapes: SmallVec<[(ElementType, &[usize]); 4]> =
        inputs.iter().map(|(element_type, view)| (*element_type, view.shape())).collect();
    let outputs = outputs_of(&call, &shapes)?;
    if wanted.len() != outputs.len() {
        return Err(LayoutError::RankMismatch { expected: outputs.len(), found: wanted.len() }.into());
    }
    call.check_elements(&shapes)?;
    let is_counted = outputs.iter().any(|output| output.counted);
    let most = outputs[0].shape.first().copied().unwrap_or(0);
    let new = |shape: &[usize], element_type: ElementType| {
        ErasedArray::uninit(stream, shape, element_type.len_bytes())
    };
    let mut count = None;
    // `Unique` has rows of one element, so it makes the largest result and cuts it. `NonZero` has
    // rows of many elements, so it counts them first.
    let mut rows = most;
    if call == Call::NonZero {
        rows = counted(call, stream, inputs, most)?;
    } else if is_counted {
        count = Some(Array::<i64, D>::uninit(stream, &[])?);
    }
    let mut results: SmallVec<[Option<ErasedArray<D>>; 4]> = SmallVec::new();
    for (output, &wanted) in outputs.iter().zip(wanted) {
        let mut shape = output.shape.clone();
        if output.counted {
            shape[0] = rows;
        }
        results.push(if wanted { Some(new(&shape, output.element_type)?) } else { None });
    }
    let elements: SmallVec<[_; 4]> =
        results.iter().map(|result| result.as_ref().map(ErasedArray::elements)).collect();
    let count_elements = count.as_ref().map(|count| count.as_erased().elements());
    submit(call, stream, inputs, &elements, count_elements)?;
    drop(elements);
    let Some(count) = count else { return Ok(results) };
    let rows = checked(call, stream, count.item(stream)?, most)?;
    if rows < most {
        for (result, output) in results.iter_mut().zip(&outputs).filter(|(_, output)| output.counted) {
            if let Some(result) = result {
                let mut cut = new(&[rows], output.element_type)?;
                cut.view_mut().copy_from(stream, &result.view().slice_axis(0, ..rows)?)?;
                *result = cut;
            }
        }
    }
    Ok(results)
}

/// Counts the rows. Blocks.
#[track_caller]
fn counted<D: Compute>(
    call: Call,
    stream: &StreamHandle<D>,
    inputs: &[(ElementType, ErasedView<'_, D>)],
    most: usize,
) -> Result<usize> {
    let count = Array::<i64, D>::uninit(stream, &[])?;
    submit(call, stream, inputs, &[None], Some(count.as_erased().elements()))?;
    checked(call, stream, count.item(stream)?, most)
}

/// The number that a device counted. A faulty device must not choose the size of an allocation.
fn checked<D: Compute>(call: Call, stream: &StreamHandle<D>, found: i64, most: usize) -> Result<usize> {
    usize::try_from(found).ok().filter(|&found| found <= most).ok_or_else(|| Error::Driver {
        backend: stream.0.core.backend(),
        operation: call.name(),
        code: 0,
        name: format!("{found} of {most} elements were counted"),
    })
}
