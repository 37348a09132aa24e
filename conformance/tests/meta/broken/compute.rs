//! The functions of a broken device: wrong in their results, in where they read and write, or in
//! when they run.
#![allow(unsafe_code)] // implements an unsafe trait, wrongly on purpose, over a backend whose memory is its own

use std::sync::PoisonError;

use devarray::{
    Layout, NdLayout, Result,
    backend::{
        Capabilities, Capability, Device, FillOp, GatherOp, Gathers, MapOp, Maps, Operand, ReduceForm,
        ReduceOp, Reduces, Stream,
    },
    copy::Plan,
    function::{Combine, interpreter::Reducing},
    gather::{Finished, IndexError},
};

use super::{Broken, BrokenStream, Bug, Placed, driver, programs};

impl<D: Device> Broken<D> {
    /// Fills with zeros the elements of a result, or everything from the first to the last of them.
    fn clear(
        &self,
        stream: &D::Stream,
        to: &D::Buffer,
        layout: &Layout,
        item: usize,
        gaps: bool,
    ) -> Result<()> {
        let span = layout.span();
        let line = Layout::new(&[span.len()], &[1], span.start)?;
        let layout = if gaps { &line } else { layout };
        let plan = Plan::new(layout, layout, item, &Capabilities::default())?;
        let zeros = vec![0; item];
        // SAFETY: inside the result of the operation, in the same order.
        stream.fill(&unsafe { FillOp::new_unchecked(to, &plan, &zeros) })
    }

    /// The queue that a function goes to.
    pub(super) fn lane<'a>(&self, stream: &'a BrokenStream<D>) -> &'a D::Stream {
        stream.unless(self.bug == Bug::FunctionsOutOfOrder)
    }
}

/// The layout without its last elements, shaped so that the bug is possible; used for every
/// operand.
fn shortened(bug: Bug, layout: &Layout) -> Result<Layout> {
    let Some(&last) = layout.shape().last() else { return Ok(layout.clone()) };
    Ok(match bug {
        Bug::FunctionsLoseTail if layout.rank() == 1 && last > 4 => layout.slice_axis(0, ..last / 4 * 4)?,
        Bug::FunctionsStopAt64Ki if layout.rank() == 1 => layout.slice_axis(0, ..last.min(1 << 16))?,
        _ => layout.clone(),
    })
}

/// An input's layout as a device with the bug reads it: inside the span of the right one.
fn misread(bug: Bug, layout: &Layout) -> Result<Layout> {
    let shape = layout.shape();
    Ok(match bug {
        Bug::FunctionsIgnoreReversal => {
            let strides: Vec<isize> = layout.strides().iter().map(|stride| stride.abs()).collect();
            Layout::new(shape, &strides, layout.span().start)?
        }
        Bug::FunctionsRepeatTheFirst if shape.len() > 1 && shape[0] > 1 => {
            let mut strides = layout.strides().to_vec();
            strides[0] = if layout.strides()[1] == 0 { 0 } else { strides[0] };
            Layout::new(shape, &strides, layout.offset())?
        }
        _ => layout.clone(),
    })
}

// SAFETY: no promise is kept; only used over a simulator, which checks every access to device
// memory.
unsafe impl<D: Maps> Maps for Broken<D> {
    fn map(&self, stream: &BrokenStream<D>, op: &MapOp<'_, Placed<D::Buffer>>) -> Result<()> {
        self.lie("map", Capability::Functions)?;
        if let Some(taken) = &stream.taken {
            return taken.map(stream, op);
        }
        let bug = self.bug;
        let (to, layout) = (&op.result().buffer().inner, op.result().layout());
        let item = op.program().result_type().len_bytes();
        match bug {
            Bug::FunctionsDoNothing => return Ok(()),
            Bug::FunctionsRefuseSixteen if op.inputs().len() > 15 => return Err(driver("map", "TOO_MANY")),
            Bug::FunctionsWriteGaps
                if op.inputs().iter().all(|input| !std::ptr::eq(&raw const input.buffer().inner, to)) =>
            {
                self.clear(&stream.inner, to, layout, item, true)?;
            }
            Bug::FunctionsClearFirst => self.clear(&stream.inner, to, layout, item, false)?,
            _ => {}
        }
        let program = programs::spoilt(bug, op.program(), layout.rank());
        let mut first = self.scalars.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = first.entry(op.program().digest()).or_insert_with(|| op.scalars().to_vec());
        let scalars = if bug == Bug::FunctionsKeepScalars { kept.clone() } else { op.scalars().to_vec() };
        drop(first);
        let layouts: Result<Vec<Layout>> =
            op.inputs().iter().map(|input| shortened(bug, &misread(bug, input.layout())?)).collect();
        let layouts = layouts?;
        let operands = op.inputs().iter().zip(&layouts);
        let inputs: Vec<_> =
            operands.map(|(input, layout)| Operand::new(&input.buffer().inner, layout)).collect();
        let layout = shortened(bug, layout)?;
        // SAFETY: the same operation, or one that touches no more of the same buffers.
        let op = unsafe { MapOp::new_unchecked(&program, &inputs, &scalars, Operand::new(to, &layout)) };
        self.inner.map(self.lane(stream), &op)
    }
}

// SAFETY: no promise is kept, as for functions.
unsafe impl<D: Reduces> Reduces for Broken<D> {
    fn reduce(&self, stream: &BrokenStream<D>, op: &ReduceOp<'_, Placed<D::Buffer>>) -> Result<()> {
        self.lie("reduce", Capability::Reductions)?;
        stream.runs()?;
        let bug = self.bug;
        let (to, result) = (&op.result().buffer().inner, op.result().layout());
        let work = op.work();
        if bug == Bug::FunctionsDoNothing {
            return Ok(());
        }
        if bug == Bug::FunctionsWriteGaps {
            self.clear(&stream.inner, to, result, work.finish.result_type().len_bytes(), true)?;
        }
        let combine = match (bug, work.combine) {
            (Bug::ReductionsArgOfTheOther, Combine::ArgMinimum) => Combine::ArgMaximum,
            (Bug::ReductionsArgOfTheOther, Combine::ArgMaximum) => Combine::ArgMinimum,
            (Bug::ReductionsTakeTheOtherExtreme, Combine::Minimum) => Combine::Maximum,
            (Bug::ReductionsTakeTheOtherExtreme, Combine::Maximum) => Combine::Minimum,
            (_, combine) => combine,
        };
        let form = match (bug, op.form()) {
            (Bug::ReductionsExclusiveIsInclusive, ReduceForm::Exclusive) => ReduceForm::Inclusive,
            (_, form) => form,
        };
        let finish_scalars: Vec<u64> = match bug {
            // Adding one to the bits gives the neighbouring number.
            Bug::ReductionsMiscount => work.finish_scalars.iter().map(|bits| bits + 1).collect(),
            _ => work.finish_scalars.to_vec(),
        };
        let kept = if form == ReduceForm::Total { result.rank() } else { op.shape().len().max(1) - 1 };
        let layouts: Result<Vec<Layout>> =
            op.inputs().iter().map(|input| reordered(bug, work.combine, input.layout(), kept)).collect();
        let layouts = layouts?;
        let operands = op.inputs().iter().zip(&layouts);
        let inputs: Vec<_> =
            operands.map(|(input, layout)| Operand::new(&input.buffer().inner, layout)).collect();
        let shape: Vec<usize> = layouts.first().map_or(op.shape(), NdLayout::shape).to_vec();
        let work = Reducing { combine, finish_scalars: &finish_scalars, ..*work };
        // SAFETY: the same operation, or the same elements in another order.
        let op = unsafe { ReduceOp::new_unchecked(work, form, &shape, &inputs, Operand::new(to, result)) };
        self.inner.reduce(self.lane(stream), &op)
    }
}

devarray::capabilities!(impl[D: Maps + Reduces] Broken<D>: without Fuses);

// SAFETY: no promise is kept, as for functions.
unsafe impl<D: Gathers> Gathers for Broken<D> {
    fn gather(&self, stream: &BrokenStream<D>, op: &GatherOp<'_, Placed<D::Buffer>>) -> Result<()> {
        self.lie("gather", Capability::Gathers)?;
        stream.runs()?;
        self.gather_wrongly(stream, op)
    }

    fn take_index_error(&self, gather: Finished) -> Option<IndexError> {
        if self.bug == Bug::GathersTellTheOldest {
            let mut gathers = self.gathers.lock().unwrap_or_else(PoisonError::into_inner);
            let (oldest, _) = gathers.pop_front()?;
            // SAFETY: no promise is kept; the simulator keeps its errors until it is asked for
            // them.
            return self.inner.take_index_error(unsafe { Finished::new_unchecked(oldest) });
        }
        if self.bug == Bug::GathersForgetWithTheirStream {
            let gathers = self.gathers.lock().unwrap_or_else(PoisonError::into_inner);
            let (_, stream) = gathers.iter().find(|(number, _)| *number == gather.number())?;
            stream.upgrade()?;
        }
        let error = self.inner.take_index_error(gather);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        match self.bug {
            Bug::GathersNeverTell => None,
            Bug::GathersTellAgain if error.is_none() => told.take(),
            Bug::GathersTellAgain => {
                *told = error;
                error
            }
            // The second of two consecutive errors is forgotten.
            Bug::GathersTellOfOne if told.is_some() => {
                *told = None;
                None
            }
            Bug::GathersTellOfOne => {
                *told = error;
                error
            }
            _ => error,
        }
    }
}

/// The elements of a sum in another order: reversed, or in the order of memory.
fn reordered(bug: Bug, combine: Combine, layout: &Layout, kept: usize) -> Result<Layout> {
    let shape = layout.shape();
    Ok(match bug {
        Bug::SumsRunBackwards if combine == Combine::Sum => {
            let axes: Vec<isize> = (kept..shape.len()).map(usize::cast_signed).collect();
            layout.flip(&axes)?
        }
        Bug::SumsFollowMemory => {
            let mut axes: Vec<usize> = (kept..shape.len()).collect();
            axes.sort_by_key(|&axis| std::cmp::Reverse(layout.strides()[axis].abs()));
            let order: Vec<isize> = (0..kept).chain(axes).map(usize::cast_signed).collect();
            layout.permute(&order)?
        }
        _ => layout.clone(),
    })
}
