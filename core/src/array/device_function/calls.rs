//! Enqueues functions and reductions of erased views.

use super::{DeviceFunction, sealed::Sealed};
use crate::{
    Result,
    array::{
        AsErasedViewMut, ErasedArray, ErasedView,
        compute::submit_into,
        masked::Masked,
        reduce::{Combined, combined, combined_into, combined_item},
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
        let lowered = self.lowered_reduction(reduction)?;
        combined(self, &lowered, stream, inputs, scalars, Combined::Reduction(reduction))
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
        let lowered = self.lowered_reduction(reduction)?;
        combined_into(self, &lowered, stream, inputs, scalars, Combined::Reduction(reduction), result)
    }

    #[track_caller]
    fn scan<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        scan: Scan,
    ) -> Result<ErasedArray<D>> {
        combined(self, &*self.lowered_scan(scan)?, stream, inputs, scalars, Combined::Scan(scan))
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
        combined_into(self, &*self.lowered_scan(scan)?, stream, inputs, scalars, Combined::Scan(scan), result)
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
            _ => combined(self, &lowered, stream, inputs, scalars, Combined::Reduction(reduction)),
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
        combined_item(self, &*self.lowered_reduction(reduction)?, stream, inputs, scalars, reduction, item)
    }
}
