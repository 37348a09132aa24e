//! Runs one case through the public API, with its data in device memory.

use anyhow::{Result, ensure};
use devarray::{
    ErasedArray, ErasedView, Error, StreamHandle,
    backend::Compute,
    function::ElementType,
    order::{IndexFault, OrderErrorKind},
    product::ProductErrorKind,
};

use super::case::{CallCase, CallFound};
use crate::{
    calls::AnyCall,
    functions::with_views,
    golden::compute::{ComputeFound, ErrorKind, Failed, Input, Out, received, untouched},
    limits,
    steps::{self, Step},
};

/// The outcome of a case: arrays, or an error of the library.
pub type CallOutcome = std::result::Result<CallFound, Failed>;

/// Runs one case: uploads the inputs, makes the steps and the call on the device, and downloads the results.
///
/// A refused call, and an index error reported by the wait, are outcomes.
///
/// # Errors
///
/// An operand of the call has more than [`limits::CASE_ELEMENTS`] elements, or the library returns another
/// error, such as out of memory or a driver error.
pub fn run_case<D: Compute>(stream: &StreamHandle<D>, case: &CallCase) -> Result<CallOutcome> {
    let error = match make(stream, case) {
        Ok(found) => return Ok(Ok(found)),
        Err(error) => error.downcast::<Error>()?,
    };
    let kind = match &error {
        Error::Layout(..) => ErrorKind::Shape,
        Error::Order(error, _) => match error.kind() {
            OrderErrorKind::Type => ErrorKind::Type,
            OrderErrorKind::Empty => ErrorKind::Empty,
            _ => ErrorKind::Shape,
        },
        Error::Product(error, _) if error.kind() == ProductErrorKind::Type => ErrorKind::Type,
        Error::Product(..) => ErrorKind::Shape,
        Error::Index { error, .. } if error.fault == IndexFault::EmptyGroup => ErrorKind::Empty,
        Error::Index { .. } => ErrorKind::Index,
        _ => return Err(error.into()),
    };
    Ok(Err(Failed { kind: Some(kind), message: error.without_location().to_string() }))
}

fn make<D: Compute>(stream: &StreamHandle<D>, case: &CallCase) -> Result<CallFound> {
    let call = &case.call;
    let upload = |input: &Input| {
        ErasedArray::from_bytes(stream, &input.shape, input.element_type.len_bytes(), &input.bytes)
    };
    let bases = case.inputs.iter().map(upload).collect::<devarray::Result<Vec<_>>>()?;
    let steps: Vec<&[Step]> = case.inputs.iter().map(|input| &input.steps[..]).collect();
    let types: Vec<ElementType> = case.inputs.iter().map(|input| input.element_type).collect();
    with_views(stream, &bases, &steps, &mut |views| {
        let inputs: Vec<_> = types.iter().copied().zip(views.iter().cloned()).collect();
        let shapes: Vec<_> = inputs.iter().map(|(of, view)| (*of, view.shape())).collect();
        // The library refuses wrong inputs below.
        let (len, most) = (call.most_elements(&shapes).unwrap_or(0), limits::CASE_ELEMENTS);
        ensure!(len <= most, "{len} elements of a call are more than the {most} allowed");
        let outputs = match &case.out {
            None => into_new(stream, call, &inputs)?,
            Some(outs) => into_views(stream, call, &inputs, outs)?,
        };
        Ok(CallFound { outputs })
    })
}

/// The types of the results.
fn types_of<D: Compute>(
    call: &AnyCall,
    inputs: &[(ElementType, ErasedView<'_, D>)],
) -> devarray::Result<Vec<ElementType>> {
    let shapes: Vec<_> = inputs.iter().map(|(of, view)| (*of, view.shape())).collect();
    Ok(call.outputs(&shapes)?.into_iter().map(|output| output.element_type).collect())
}

fn into_new<D: Compute>(
    stream: &StreamHandle<D>,
    call: &AnyCall,
    inputs: &[(ElementType, ErasedView<'_, D>)],
) -> Result<Vec<ComputeFound>> {
    let wanted = vec![true; call.count_of_outputs()];
    let results: Vec<_> = call.apply_to_some(stream, inputs, &wanted)?.into_iter().flatten().collect();
    stream.synchronize()?;
    let found = |(element_type, result): (ElementType, &ErasedArray<D>)| {
        let (shape, bytes) = (result.shape().to_vec(), result.view().to_bytes(stream)?);
        Ok(ComputeFound { element_type, shape, bytes, spilled: false })
    };
    types_of(call, inputs)?.into_iter().zip(&results).map(found).collect()
}

/// Writes the results through views of new arrays. Elements outside the views must not change.
fn into_views<D: Compute>(
    stream: &StreamHandle<D>,
    call: &AnyCall,
    inputs: &[(ElementType, ErasedView<'_, D>)],
    outs: &[Out],
) -> Result<Vec<ComputeFound>> {
    let types = types_of(call, inputs)?;
    let pairs = || outs.iter().zip(&types);
    let bases = pairs().map(|(out, of)| untouched(stream, out, *of)).collect::<devarray::Result<Vec<_>>>();
    let mut bases = bases?;
    let mut layouts = Vec::new();
    let mut views = Vec::new();
    for (base, out) in bases.iter_mut().zip(outs) {
        let view = steps::apply_to_write(base, &out.steps).map_err(|error| *error.cause)?;
        layouts.push(view.layout().clone());
        views.push(Some(view));
    }
    call.apply_into(stream, inputs, &mut views)?;
    drop(views);
    stream.synchronize()?;
    let found =
        |((base, layout), of): ((&ErasedArray<D>, _), &ElementType)| received(stream, base, layout, *of);
    Ok(bases.iter().zip(&layouts).zip(&types).map(found).collect::<devarray::Result<_>>()?)
}
