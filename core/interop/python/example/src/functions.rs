//! The functions of the module: a few lines each, for arrays of any library on any of the devices.
#![expect(
    clippy::cast_possible_truncation,
    reason = "numbers of Python are rounded to the type of the elements"
)]

use devarray::{
    Order, StreamHandle,
    backend::Compute,
    function::{Float, Operands, ReduceOperation, Reduction},
};
use devarray_cuda::CudaDevice;
use devarray_interop::{Door, DoorElement, DoorError, Result, Tensor};
use devarray_mock::MockDevice;
use devarray_python::{DeviceArray, on_device, to_py};
use pyo3::{exceptions::PyValueError, prelude::*};

/// The array of an object of any library. Does not copy.
#[pyfunction]
pub(crate) fn asarray(array: DeviceArray) -> DeviceArray {
    array
}

/// The array minus its mean.
#[pyfunction]
pub(crate) fn centre(images: DeviceArray) -> PyResult<DeviceArray> {
    on_device!(images, [MockDevice, CudaDevice], |tensor, stream| {
        let centred = match tensor.data_type().name() {
            "float32" => centred::<f32, _>(tensor, stream),
            _ => centred::<f64, _>(tensor, stream),
        };
        Ok(DeviceArray::new(centred.map_err(to_py)?, stream))
    })
}

fn centred<T: DoorElement + Float, D: Door + Compute>(
    tensor: &Tensor<D>,
    stream: &StreamHandle<D>,
) -> Result<Tensor<D>> {
    let view = tensor.view::<T>()?;
    let mean = view.reduce_as::<T>(stream, &Reduction::new(ReduceOperation::Mean).keep_axes())?;
    Ok((&view, &mean).map(stream, |(x, mean)| x - mean)?.into())
}

/// `a * x + b`, into `out` if it is given.
#[pyfunction]
#[pyo3(signature = (x, a, b, out=None))]
pub(crate) fn scale(x: DeviceArray, a: f64, b: f64, out: Option<DeviceArray>) -> PyResult<DeviceArray> {
    let Some(mut out) = out else {
        return on_device!(x, [MockDevice, CudaDevice], |tensor, stream| {
            Ok(DeviceArray::new(scaled(tensor, stream, a, b).map_err(to_py)?, stream))
        });
    };
    let served =
        scale_into::<MockDevice>(&x, a, b, &mut out)? || scale_into::<CudaDevice>(&x, a, b, &mut out)?;
    if served { Ok(out) } else { Err(x.unserved()) }
}

fn scaled<D: Door + Compute>(x: &Tensor<D>, stream: &StreamHandle<D>, a: f64, b: f64) -> Result<Tensor<D>> {
    match x.data_type().name() {
        "float32" => {
            let (a, b) = (a as f32, b as f32);
            Ok((&x.view::<f32>()?, a, b).map(stream, |(x, a, b)| x * a + b)?.into())
        }
        _ => Ok((&x.view::<f64>()?, a, b).map(stream, |(x, a, b)| x * a + b)?.into()),
    }
}

/// Computes into `out`, and returns whether both arrays are of this device.
fn scale_into<D: Door + Compute>(x: &DeviceArray, a: f64, b: f64, out: &mut DeviceArray) -> PyResult<bool> {
    let Some((x, stream)) = x.on::<D>()? else { return Ok(false) };
    let Some((out, _)) = out.on_mut::<D>()? else { return Ok(false) };
    let done = match x.data_type().name() {
        "float32" => {
            let (view, mut out) = (x.view::<f32>().map_err(to_py)?, out.view_mut::<f32>().map_err(to_py)?);
            (&view, a as f32, b as f32).map_into(stream, &mut out, |(x, a, b)| x * a + b)
        }
        _ => {
            let (view, mut out) = (x.view::<f64>().map_err(to_py)?, out.view_mut::<f64>().map_err(to_py)?);
            (&view, a, b).map_into(stream, &mut out, |(x, a, b)| x * a + b)
        }
    };
    done.map_err(to_py)?;
    Ok(true)
}

/// A copy without gaps, in order `"C"` or `"F"`.
#[pyfunction]
pub(crate) fn relayout(array: DeviceArray, order: &str) -> PyResult<DeviceArray> {
    let order = match order {
        "C" => Order::C,
        "F" => Order::F,
        _ => return Err(PyValueError::new_err("an order is \"C\" or \"F\"")),
    };
    on_device!(array, [MockDevice, CudaDevice], |tensor, stream| {
        let dense = tensor.erased().and_then(|view| Ok(view.to_contiguous(stream, order)?));
        let dense = dense.and_then(|dense| Tensor::new(dense, tensor.data_type()));
        Ok(DeviceArray::new(dense.map_err(to_py)?, stream))
    })
}

/// A copy of a float32 array to which 1 is added `times` times, with one launch each. Returns while
/// the device still works.
#[pyfunction]
pub(crate) fn count_up(array: DeviceArray, times: usize) -> PyResult<DeviceArray> {
    on_device!(array, [MockDevice, CudaDevice], |tensor, stream| {
        Ok(DeviceArray::new(counted(tensor, stream, times).map_err(to_py)?, stream))
    })
}

fn counted<D: Door + Compute>(
    tensor: &Tensor<D>,
    stream: &StreamHandle<D>,
    times: usize,
) -> Result<Tensor<D>, DoorError> {
    let mut counted = tensor.view::<f32>()?.to_contiguous(stream, Order::K)?;
    for _ in 0..times {
        counted.view_mut().map_in_place(stream, |x| x + 1.0)?;
    }
    Ok(counted.into())
}

/// The sum of a float32 array, after waiting for it.
#[pyfunction]
pub(crate) fn total(array: DeviceArray) -> PyResult<f32> {
    on_device!(array, [MockDevice, CudaDevice], |tensor, stream| {
        let total = tensor.view::<f32>().and_then(|view| Ok(view.sum(stream, ..)?.item(stream)?));
        total.map_err(to_py)
    })
}
