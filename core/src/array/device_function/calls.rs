//! How functions and reductions of erased views are enqueued.

use super::{DeviceFunction, sealed::Sealed};
use crate::{
    LayoutError, Result,
    array::{
        AsErasedViewMut, ErasedArray, ErasedView,
        compute::submit_into,
        masked::Masked,
        reduce::{check_shape, reduce_lowered, reduced_axes, submit_scan, submit_total, total_to_host},
    },
    backend::Compute,
    function::{Function, ReduceOperation, Reduction, Scan, lower_reduction},
    layout::{Layout, NdLayout, Order, broadcast_shapes},
    stream::StreamHandle,
};

impl Sealed for Function {}

impl DeviceFunction for Function {
    #[track_caller]
    fn apply<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
    ) -> Result<ErasedArray<D>> {
        let shape = broadcast_shapes(inputs.iter().map(NdLayout::shape))?;
        let layout = match inputs.iter().find(|input| input.shape() == &shape[..]) {
            Some(input) => input.layout().dense_like(Order::K)?,
            None => Layout::contiguous(&shape, Order::C)?,
        };
        let mut result = ErasedArray::of_layout(stream, layout, self.result_type().len_bytes())?;
        self.apply_into(stream, inputs, scalars, &mut result.view_mut())?;
        Ok(result)
    }

    #[track_caller]
    fn apply_into<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        result: &mut impl AsErasedViewMut<D>,
    ) -> Result<()> {
        submit_into(self, stream, inputs, scalars, &result.as_erased_view_mut().elements())
    }

    #[track_caller]
    fn reduce<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        reduction: &Reduction,
    ) -> Result<ErasedArray<D>> {
        reduce_lowered(self, &*self.lowered_reduction(reduction)?, stream, inputs, scalars, reduction)
    }

    #[track_caller]
    fn reduce_into<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        reduction: &Reduction,
        result: &mut impl AsErasedViewMut<D>,
    ) -> Result<()> {
        let result = result.as_erased_view_mut();
        let lowered = self.lowered_reduction(reduction)?;
        let reduced = reduced_axes(self, inputs, reduction.axes.as_deref())?;
        check_shape(&reduced.shape_of_result(reduction.keep_axes), result.shape())?;
        submit_total(&lowered, stream, inputs, scalars, &reduced, reduction.keep_axes, &result.elements())
    }

    #[track_caller]
    fn scan<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        scan: Scan,
    ) -> Result<ErasedArray<D>> {
        let lowered = self.lowered_scan(scan)?;
        let reduced = reduced_axes(self, inputs, Some(&[scan.axis]))?;
        let item_bytes = lowered.finish.result_type().len_bytes();
        let mut result = ErasedArray::uninit(stream, &reduced.shape, item_bytes)?;
        submit_scan(
            &lowered,
            stream,
            inputs,
            scalars,
            &reduced,
            scan.exclusive,
            &result.view_mut().elements(),
        )?;
        Ok(result)
    }

    #[track_caller]
    fn scan_into<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        scan: Scan,
        result: &mut impl AsErasedViewMut<D>,
    ) -> Result<()> {
        let result = result.as_erased_view_mut();
        let lowered = self.lowered_scan(scan)?;
        let reduced = reduced_axes(self, inputs, Some(&[scan.axis]))?;
        check_shape(&reduced.shape, result.shape())?;
        submit_scan(&lowered, stream, inputs, scalars, &reduced, scan.exclusive, &result.elements())
    }

    #[track_caller]
    fn reduce_where<D: Compute>(
        &self,
        mask: &Self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        reduction: &Reduction,
    ) -> Result<ErasedArray<D>> {
        let lowered = lower_reduction(self, Some(mask), reduction)?;
        let masked = Masked { mask, stream, inputs, scalars, reduction };
        match reduction.operation {
            ReduceOperation::Mean => masked.mean(self),
            ReduceOperation::Variance | ReduceOperation::StandardDeviation => masked.variance(self),
            _ => reduce_lowered(self, &lowered, stream, inputs, scalars, reduction),
        }
    }

    #[track_caller]
    fn reduce_item<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        reduction: &Reduction,
        item: &mut [u8],
    ) -> Result<()> {
        let lowered = self.lowered_reduction(reduction)?;
        let reduced = reduced_axes(self, inputs, reduction.axes.as_deref())?;
        if total_to_host(&lowered, stream, inputs, scalars, &reduced, item)? {
            return Ok(());
        }
        let array = reduce_lowered(self, &lowered, stream, inputs, scalars, reduction)?;
        let len = array.layout().len();
        if len != 1 || item.len() != array.item_bytes() {
            let found = if len == 1 { item.len() / array.item_bytes() } else { len };
            return Err(LayoutError::LengthMismatch { expected: 1, found }.into());
        }
        array.view().copy_to_host(stream, item, array.layout())
    }
}
