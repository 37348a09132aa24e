//! Reductions to one element that comes to the host.

use super::{
    Array, ArrayView, Call, ErasedView,
    reduce::{Combined, Reduced, operands},
};
use crate::{
    LayoutError, Result,
    backend::{Compute, Device},
    function::{Computable, Function, Lowered, Reduction, interpreter::Reducing},
    layout::Axes,
    stream::StreamHandle,
};

impl Function {
    /// Computes the function of the elements of views, broadcast together, reduces its values to
    /// one element, and copies the element's bytes to `item`. Blocks until they are there.
    ///
    /// As [`reduce`](Self::reduce) and then [`ArrayView::item`], and sooner where the device can
    /// write the element to the host by the reduction itself.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::LengthMismatch`]: there is not exactly one element, or `item` does not have
    ///   its length.
    /// - As [`reduce`](Self::reduce).
    #[track_caller]
    pub fn reduce_item<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        reduction: &Reduction,
        item: &mut [u8],
    ) -> Result<()> {
        self.item_of(&*self.lowered_reduction(reduction)?, stream, inputs, scalars, reduction, item)
    }

    /// As [`reduce_item`](Self::reduce_item), lowered.
    #[track_caller]
    pub(super) fn item_of<D: Compute>(
        &self,
        lowered: &Lowered,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        reduction: &Reduction,
        item: &mut [u8],
    ) -> Result<()> {
        let reduced = Reduced::of(self, inputs, reduction.axes.as_deref())?;
        if lowered.total_to_host(stream, inputs, scalars, &reduced, item)? {
            return Ok(());
        }
        let array = self.combined(lowered, stream, inputs, scalars, Combined::Reduction(reduction))?;
        let len = array.layout().len();
        if len != 1 || item.len() != array.item_bytes() {
            let found = if len == 1 { item.len() / array.item_bytes() } else { len };
            return Err(LayoutError::LengthMismatch { expected: 1, found }.into());
        }
        array.view().copy_to_host(stream, item, array.layout())
    }
}

impl Lowered {
    /// Reduces to one element that the same operation brings to the host. Returns whether the
    /// device can do that.
    #[track_caller]
    fn total_to_host<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        reduced: &Reduced,
        item: &mut [u8],
    ) -> Result<bool> {
        let is_one = reduced.kept.iter().all(|&axis| reduced.shape[axis] == 1);
        if !is_one || reduced.count() == 0 || self.spread.is_some() {
            return Ok(false);
        }
        if item.len() != self.finish.result_type().len_bytes() {
            return Ok(false);
        }
        let order = reduced.order();
        let operands = operands(inputs, reduced, &order)?;
        let shape: Axes<usize> = order.iter().map(|&axis| reduced.shape[axis]).collect();
        let program = self.element.combined_program().with_positions(&order)?;
        let finish_scalars = self.finish_scalars(reduced.count());
        let work = Reducing {
            program: &program,
            scalars,
            combine: self.combine,
            finish: self.finish.program(),
            finish_scalars: &finish_scalars,
        };
        stream.0.reduce_to_host(work, &shape, &operands, item)
    }
}

impl<T: Computable, D: Device> ArrayView<'_, T, D> {
    /// Reduces the elements to one, and copies that to the host. Blocks until it is there.
    ///
    /// As [`reduce`](Self::reduce) and then [`item`](Self::item), and sooner where the device can
    /// write the element to the host by the reduction itself.
    ///
    /// ```
    /// use devarray::{Array, Context, function::{ReduceOperation, Reduction}};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[3], &[1.0_f32, 2.0, 3.0])?;
    /// let largest: f32 = x.reduce_item(&stream, &Reduction::new(ReduceOperation::Maximum))?;
    /// assert_eq!(largest, 3.0);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::LengthMismatch`]: there is not exactly one element.
    /// - As [`reduce`](Self::reduce).
    #[track_caller]
    pub fn reduce_item<R: Computable>(&self, stream: &StreamHandle<D>, reduction: &Reduction) -> Result<R>
    where
        D: Compute,
    {
        Call::of(self).item(Function::of_elements(T::TYPE), stream, reduction)
    }
}

impl<T: Computable, D: Device> Array<T, D> {
    /// Reduces the elements to one, and copies that to the host. Blocks until it is there.
    ///
    /// # Errors
    ///
    /// As [`ArrayView::reduce_item`].
    #[track_caller]
    pub fn reduce_item<R: Computable>(&self, stream: &StreamHandle<D>, reduction: &Reduction) -> Result<R>
    where
        D: Compute,
    {
        self.view().reduce_item(stream, reduction)
    }
}
