//! Runs one case through the public API, with its data in device memory.

use anyhow::{Result, ensure};
use devarray::{
    ErasedArray, Error, Layout, NdLayout, StreamHandle,
    backend::Compute,
    function::{ElementType, Function, FunctionErrorKind},
};

use super::case::{ComputeCase, ComputeFound, ErrorKind, Failed, Input, Out};
use crate::{
    functions::{Call, with_views},
    limits,
    steps::{self, Step},
};

/// Every byte of an array before it receives a result.
const UNTOUCHED: u8 = 0xab;

/// The outcome of a case: an array, or an error of the library.
pub type ComputeOutcome = std::result::Result<ComputeFound, Failed>;

/// Runs one case: uploads the inputs, makes the steps and the function on the device, and downloads
/// the result.
///
/// A refused function is an outcome.
///
/// # Errors
///
/// The function has more than [`limits::CASE_ELEMENTS`] elements to compute, or the library returns
/// another error, such as out of memory or a driver error.
pub fn run_case<D: Compute>(stream: &StreamHandle<D>, case: &ComputeCase) -> Result<ComputeOutcome> {
    let error = match compute(stream, case) {
        Ok(found) => return Ok(Ok(found)),
        Err(error) => error.downcast::<Error>()?,
    };
    let kind = match &error {
        Error::Layout(..) => Some(ErrorKind::Shape),
        Error::Function(error) => match error.kind() {
            FunctionErrorKind::Text => Some(ErrorKind::Text),
            FunctionErrorKind::Type => Some(ErrorKind::Type),
            FunctionErrorKind::Shape => Some(ErrorKind::Shape),
            FunctionErrorKind::Empty => Some(ErrorKind::Empty),
            _ => None,
        },
        _ => return Err(error.into()),
    };
    Ok(Err(Failed { kind, message: error.without_location().to_string() }))
}

fn compute<D: Compute>(stream: &StreamHandle<D>, case: &ComputeCase) -> Result<ComputeFound> {
    let input_types: Vec<ElementType> = case.inputs.iter().map(|input| input.element_type).collect();
    let scalar_types: Vec<ElementType> = case.scalars.iter().map(|scalar| scalar.element_type).collect();
    let scalars: Vec<u64> = case.scalars.iter().map(|scalar| scalar.bits).collect();
    let parsed = Function::parse(&case.expr, &input_types, &scalar_types);
    let function = parsed.map_err(Error::from)?;
    let upload = |input: &Input| {
        ErasedArray::from_bytes(stream, &input.shape, input.element_type.len_bytes(), &input.bytes)
    };
    let bases = case.inputs.iter().map(upload).collect::<devarray::Result<Vec<_>>>()?;
    let steps: Vec<&[Step]> = case.inputs.iter().map(|input| &input.steps[..]).collect();
    with_views(stream, &bases, &steps, &mut |inputs| {
        check_len(inputs.iter().map(NdLayout::shape))?;
        let call =
            Call { function: &function, inputs, scalars: &scalars, of_elements: case.of_elements.as_ref() };
        let element_type = call.result_type();
        match &case.out {
            None => {
                let result = call.compute(stream)?;
                let (shape, bytes) = (result.shape().to_vec(), result.view().to_bytes(stream)?);
                Ok(ComputeFound { element_type, shape, bytes, spilled: false })
            }
            Some(out) => into_view(stream, &call, element_type, out),
        }
    })
}

/// Refuses shapes that broadcast to more elements than a case may compute.
fn check_len<'a>(shapes: impl Iterator<Item = &'a [usize]> + Clone) -> Result<()> {
    let rank = shapes.clone().map(<[usize]>::len).max().unwrap_or(0);
    // Extents that do not fit each other are an outcome, and do not make it larger.
    let extent = |from_last: usize| {
        let own = |shape: &[usize]| shape.len().checked_sub(from_last + 1).map_or(1, |axis| shape[axis]);
        let all = shapes.clone().map(own).filter(|&extent| extent != 1);
        all.min().unwrap_or(1)
    };
    let len = (0..rank).map(extent).fold(1_usize, usize::saturating_mul);
    let most = limits::CASE_ELEMENTS;
    ensure!(len <= most, "{len} elements to compute are more than the {most} allowed");
    Ok(())
}

/// Writes the result through a view of a new array. Elements outside the view must not change.
fn into_view<D: Compute>(
    stream: &StreamHandle<D>,
    call: &Call<'_, '_, D>,
    element_type: ElementType,
    out: &Out,
) -> Result<ComputeFound> {
    let mut base = untouched(stream, out, element_type)?;
    let mut view = steps::apply_to_write(&mut base, &out.steps).map_err(|error| *error.cause)?;
    call.compute_into(stream, &mut view)?;
    let layout = view.layout().clone();
    Ok(received(stream, &base, &layout, element_type)?)
}

/// A new array; a view of it is to receive a result.
pub(in crate::golden) fn untouched<D: Compute>(
    stream: &StreamHandle<D>,
    out: &Out,
    element_type: ElementType,
) -> devarray::Result<ErasedArray<D>> {
    let item_bytes = element_type.len_bytes();
    let bytes = vec![UNTOUCHED; out.shape.iter().product::<usize>() * item_bytes];
    ErasedArray::from_bytes(stream, &out.shape, item_bytes, &bytes)
}

/// The elements that the view received, and whether anything else was written.
pub(in crate::golden) fn received<D: Compute>(
    stream: &StreamHandle<D>,
    base: &ErasedArray<D>,
    layout: &Layout,
    element_type: ElementType,
) -> devarray::Result<ComputeFound> {
    let item_bytes = element_type.len_bytes();
    let mut rest = base.view().to_bytes(stream)?;
    let mut bytes = Vec::with_capacity(layout.len() * item_bytes);
    for place in places(layout) {
        let element = &mut rest[place * item_bytes..(place + 1) * item_bytes];
        bytes.extend_from_slice(element);
        element.fill(UNTOUCHED);
    }
    let spilled = rest.iter().any(|&byte| byte != UNTOUCHED);
    Ok(ComputeFound { element_type, shape: layout.shape().to_vec(), bytes, spilled })
}

/// The positions of the elements in C order.
fn places(layout: &Layout) -> impl Iterator<Item = usize> + '_ {
    (0..layout.len()).map(|index| {
        let (mut row, mut place) = (index, layout.offset().cast_signed());
        for (&extent, &stride) in layout.shape().iter().zip(layout.strides()).rev() {
            place += (row % extent).cast_signed() * stride;
            row /= extent;
        }
        place.cast_unsigned()
    })
}
