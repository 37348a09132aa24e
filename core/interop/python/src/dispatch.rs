//! One body for several devices.

/// Runs a body with the tensor and the stream of an array, for whichever of these devices it is on.
/// Used in a function that returns a `PyResult`.
///
/// ```ignore
/// #[pyfunction]
/// fn turned(images: DeviceArray) -> PyResult<DeviceArray> {
///     on_device!(images, [MockDevice, CudaDevice], |tensor, stream| {
///         let layout = tensor.transpose().map_err(to_py)?;
///         Ok(DeviceArray::new(tensor.with_layout(layout).map_err(to_py)?, stream))
///     })
/// }
/// ```
#[macro_export]
macro_rules! on_device {
    ($array:expr, [$($device:ty),+ $(,)?], |$tensor:ident, $stream:ident| $body:expr) => {{
        let array: &$crate::DeviceArray = &$array;
        $(
            if let Some(($tensor, $stream)) = array.on::<$device>()? {
                $body
            } else
        )+
        {
            Err(array.unserved())
        }
    }};
}
