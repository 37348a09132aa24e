//! The Python class `DeviceArray`.

use std::{fmt, sync::Arc};

use devarray::StreamHandle;
use devarray_interop::{Door, Tensor};
use pyo3::{
    Bound, PyResult, Python,
    exceptions::PyTypeError,
    pyclass, pymethods,
    types::{PyAnyMethods, PyTuple, PyTupleMethods},
};

use crate::{
    any::{AnyArray, On, strides_bytes},
    error::to_py,
};

/// An array in device memory, of any backend, in the hands of Python.
///
/// An argument of a `#[pyfunction]` of this type takes any object that has one of the interfaces; a
/// result of this type has all of them. Clones share the memory.
#[pyclass(frozen, name = "DeviceArray", module = "devarray")]
#[derive(Clone)]
pub struct DeviceArray {
    pub(crate) array: Arc<dyn AnyArray>,
}

impl DeviceArray {
    /// A tensor, whose work goes to a stream. If its memory came in from other code, the known
    /// order with that code stays with it.
    pub fn new<D: Door>(tensor: impl Into<Tensor<D>>, stream: &StreamHandle<D>) -> Self {
        Self::of(Arc::new(On::new(tensor.into(), stream)))
    }

    pub(crate) fn of(array: Arc<dyn AnyArray>) -> Self {
        Self { array }
    }

    /// The tensor and its stream, if it is of this device. Does not synchronize: later work of the
    /// stream comes after the work of other code that has the memory.
    ///
    /// # Errors
    ///
    /// `RuntimeError`: the device could not order the stream.
    pub fn on<D: Door>(&self) -> PyResult<Option<(&Tensor<D>, &StreamHandle<D>)>> {
        let Some(on) = self.array.as_any().downcast_ref::<On<D>>() else { return Ok(None) };
        self.array.settle().map_err(to_py)?;
        Ok(Some((&on.tensor, &on.stream)))
    }

    /// Like [`on`](Self::on), with the tensor to be written.
    ///
    /// # Errors
    ///
    /// - `BufferError`: Python, or other code, has the array too. An array that came in as an
    ///   argument belongs to its function only.
    /// - The errors of [`on`](Self::on).
    pub fn on_mut<D: Door>(&mut self) -> PyResult<Option<(&mut Tensor<D>, StreamHandle<D>)>> {
        if self.on::<D>()?.is_none() {
            return Ok(None);
        }
        let shared = || to_py(devarray_interop::DoorError::Shared);
        let array = Arc::get_mut(&mut self.array).ok_or_else(shared)?;
        let on = array.as_any_mut().downcast_mut::<On<D>>();
        Ok(on.map(|On { tensor, stream, .. }| (tensor, stream.clone())))
    }

    /// The exception for an array of a device that a function does not support.
    #[must_use]
    pub fn unserved(&self) -> pyo3::PyErr {
        PyTypeError::new_err(format!("arrays on {} are not served here", self.array.device()))
    }
}

#[pymethods]
impl DeviceArray {
    /// Extents.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.array.layout().shape())
    }

    /// Strides in bytes.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, strides_bytes(&*self.array))
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.array.layout().rank()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.array.layout().len()
    }

    /// The type of the elements, as NumPy and ml_dtypes call it.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.array.data_type().name()
    }

    /// Whether nobody may write it.
    #[getter]
    fn readonly(&self) -> bool {
        self.array.is_read_only()
    }

    /// The address of element `[0, …, 0]`; 0 if there are no elements. Work that is given to this module's stream
    /// from now on comes after the work of the lender.
    #[getter]
    fn ptr(&self) -> PyResult<u64> {
        self.array.settle().map_err(to_py)?;
        self.array.address().map_err(to_py)
    }

    /// The array with its axes in reverse order. Does not copy.
    #[getter(T)]
    fn transposed(&self) -> PyResult<Self> {
        let layout = self.array.layout().transpose();
        Ok(Self::of(self.array.with_layout(layout).map_err(to_py)?))
    }

    /// The array with its axes in another order; in reverse order if none is given. Does not copy.
    #[pyo3(signature = (*axes))]
    fn transpose(&self, axes: &Bound<'_, PyTuple>) -> PyResult<Self> {
        if axes.is_empty() {
            return self.transposed();
        }
        let axes: Vec<isize> = axes.iter().map(|axis| axis.extract()).collect::<PyResult<_>>()?;
        let layout = self.array.layout().permute(&axes).map_err(to_py)?;
        Ok(Self::of(self.array.with_layout(layout).map_err(to_py)?))
    }

    /// The array with some axes reversed; all axes if none is given. Does not copy.
    #[pyo3(signature = (*axes))]
    fn flip(&self, axes: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let layout = self.array.layout();
        let all = || (0..layout.rank()).map(|axis| axis.cast_signed()).collect();
        let told = axes.iter().map(|axis| axis.extract()).collect::<PyResult<Vec<isize>>>()?;
        let axes: Vec<isize> = if told.is_empty() { all() } else { told };
        let layout = layout.flip(&axes).map_err(to_py)?;
        Ok(Self::of(self.array.with_layout(layout).map_err(to_py)?))
    }

    /// Some positions along an axis: from `start`, in steps of `step`, before `stop`. Does not
    /// copy.
    #[pyo3(signature = (axis, start, stop, step=1))]
    fn slice(&self, axis: isize, start: isize, stop: isize, step: isize) -> PyResult<Self> {
        let range = devarray::layout::Slice::from(start..stop).step_by(step);
        let layout = self.array.layout().slice_axis(axis, range).map_err(to_py)?;
        Ok(Self::of(self.array.with_layout(layout).map_err(to_py)?))
    }

    /// A copy that nobody else has.
    fn copy(&self) -> PyResult<Self> {
        Ok(Self::of(self.array.copied().map_err(to_py)?))
    }

    /// Returns this memory, read-only through the returned array.
    fn as_readonly(&self) -> Self {
        Self::of(self.array.read_only())
    }

    /// Waits until all work on the array is done.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.array.synchronize()).map_err(to_py)
    }

    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

impl fmt::Debug for DeviceArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (layout, data_type) = (self.array.layout(), self.array.data_type());
        write!(f, "DeviceArray(shape {:?}, {data_type}, on {})", layout.shape(), self.array.device())
    }
}
