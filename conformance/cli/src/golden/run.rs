//! Runs one case through the public API, with its data in device memory.

use anyhow::{Result, ensure};
use devarray::{Device, ErasedArray, ErasedView, NdLayout, StreamHandle};

use super::{Case, Elements, Found, Outcome};
use crate::{
    limits,
    steps::{self, StepError},
};

/// The number of bytes in an `i32`.
const ITEM_BYTES: usize = size_of::<i32>();

/// Runs one case: uploads the base, makes the steps on the device, and downloads the values.
///
/// A step without a result is an outcome.
///
/// # Errors
///
/// The result has more elements than [`limits::CASE_ELEMENTS`], or the library returns another
/// error, such as out of memory or a driver error.
pub fn run_case<D: Device>(stream: &StreamHandle<D>, case: &Case) -> Result<Outcome> {
    let base = base(stream, &case.base)?;
    match steps::apply(stream, &base, &case.steps, |view, copied| found(stream, view, copied)) {
        Ok(found) => found.map(Ok),
        Err(StepError { cause, .. }) => match *cause {
            devarray::Error::Layout(error, ..) => Ok(Err(error.to_string())),
            error => Err(error.into()),
        },
    }
}

fn base<D: Device>(stream: &StreamHandle<D>, shape: &[usize]) -> Result<ErasedArray<D>> {
    let len: usize = shape.iter().product();
    // A case is read only if an `i32` can number its elements.
    let bytes: Vec<u8> = (0_i32..).take(len).flat_map(i32::to_ne_bytes).collect();
    Ok(ErasedArray::from_bytes(stream, shape, ITEM_BYTES, &bytes)?)
}

fn found<D: Device>(stream: &StreamHandle<D>, view: &ErasedView<'_, D>, copied: bool) -> Result<Found> {
    let shape = view.shape().to_vec();
    let elements = if shape.contains(&0) {
        None
    } else {
        let stride = |(&extent, &stride): (&usize, &isize)| (extent != 1).then_some(stride);
        let (len, most) = (view.layout().len(), limits::CASE_ELEMENTS);
        ensure!(len <= most, "a result of {len} elements is larger than the {most} allowed");
        let bytes = view.to_bytes(stream)?;
        let (values, rest) = bytes.as_chunks::<ITEM_BYTES>();
        debug_assert!(rest.is_empty());
        Some(Elements {
            copied,
            strides: shape.iter().zip(view.strides()).map(stride).collect(),
            offset: (!copied).then(|| view.offset()),
            values: values.iter().map(|bytes| i32::from_ne_bytes(*bytes)).collect(),
        })
    };
    Ok(Found { shape, c: view.is_c_contiguous(), f: view.is_f_contiguous(), elements })
}
