//! Choosing a device at run time.

use std::env;

use devarray::Error;

use crate::{AnyDevice, ChooseError};

const VARIABLE: &str = "DEVARRAY_DEVICE";

impl AnyDevice {
    /// The best device of the machine: the first GPU, or the CPU if there is no GPU. It is never the
    /// simulator.
    ///
    /// The CPU is taken only if no GPU is available ([`Error::Unavailable`]): there is no driver, no
    /// device, or no device that the backend supports. If there is a GPU and it does not open, that is
    /// an error, so that no program runs on the CPU unnoticed. To run on the CPU, choose `host`.
    ///
    /// ```
    /// use devarray_any::AnyDevice;
    ///
    /// let device = AnyDevice::best()?;
    /// assert!(["cuda", "host"].contains(&device.backend()));
    /// # Ok::<(), devarray_any::ChooseError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Open`](ChooseError::Open): a GPU is there, but cannot be used.
    /// - [`NoBest`](ChooseError::NoBest): there is no GPU, and the CPU is not built in.
    pub fn best() -> Result<Self, ChooseError> {
        best_of(cuda(0))
    }

    /// The device that the variable `DEVARRAY_DEVICE` [names](Self::named), or the [best](Self::best) one
    /// if the variable is unset or empty.
    ///
    /// # Errors
    ///
    /// The errors of [`named`](Self::named).
    pub fn from_env() -> Result<Self, ChooseError> {
        let name = env::var_os(VARIABLE).unwrap_or_default();
        match name.to_str() {
            Some(name) if name.trim().is_empty() => Self::best(),
            Some(name) => Self::named(name),
            None => Err(ChooseError::Unknown { name: name.to_string_lossy().into_owned() }),
        }
    }

    /// The device with a name. Spaces around the name are ignored.
    ///
    /// | name | device |
    /// |---|---|
    /// | `cuda`, `cuda:1` | a GPU of NVIDIA, by its number; 0 if there is none |
    /// | `host` | the CPU |
    /// | `mock` | the simulator, with its default options |
    /// | `auto` | the [best](Self::best) one |
    ///
    /// ```
    /// use devarray_any::{AnyDevice, ChooseError};
    ///
    /// assert_eq!(AnyDevice::named("mock")?.backend(), "mock");
    ///
    /// let error = AnyDevice::named("gpu").unwrap_err();
    /// assert!(error.to_string().starts_with("no device is called \"gpu\"; built in are "));
    /// # Ok::<(), ChooseError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Unknown`](ChooseError::Unknown), [`NotBuiltIn`](ChooseError::NotBuiltIn),
    ///   [`Number`](ChooseError::Number): the name is wrong.
    /// - [`Open`](ChooseError::Open): the device did not open.
    /// - The errors of [`best`](Self::best).
    pub fn named(name: &str) -> Result<Self, ChooseError> {
        let name = name.trim();
        let (backend, number) = match name.split_once(':') {
            Some((backend, number)) => (backend, Some(number)),
            None => (name, None),
        };
        let wrong = |backend| ChooseError::Number { name: name.to_owned(), backend };
        match (backend, number) {
            ("auto", None) => Self::best(),
            ("cuda", None) => cuda(0),
            ("cuda", Some(number)) => cuda(ordinal(number).ok_or_else(|| wrong("cuda"))?),
            ("host", None) => host(),
            ("host", Some(_)) => Err(wrong("host")),
            ("mock", None) => mock(),
            ("mock", Some(_)) => Err(wrong("mock")),
            _ => Err(ChooseError::Unknown { name: name.to_owned() }),
        }
    }
}

/// The GPU that was opened, or the CPU if there is none.
fn best_of(gpu: Result<AnyDevice, ChooseError>) -> Result<AnyDevice, ChooseError> {
    let gpu = match gpu {
        Err(ChooseError::Open { error, .. }) if matches!(*error, Error::Unavailable { .. }) => Some(error),
        Err(ChooseError::NotBuiltIn { .. }) => None,
        opened => return opened,
    };
    host().map_err(|_| ChooseError::NoBest { gpu })
}

/// A number that consists only of digits.
fn ordinal(number: &str) -> Option<usize> {
    number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok()).flatten()
}

#[cfg(feature = "cuda")]
fn cuda(ordinal: usize) -> Result<AnyDevice, ChooseError> {
    let opened = devarray_cuda::CudaDevice::open(ordinal);
    opened
        .map(AnyDevice::from)
        .map_err(|error| ChooseError::Open { name: format!("cuda:{ordinal}"), error: Box::new(error) })
}

#[cfg(not(feature = "cuda"))]
fn cuda(_: usize) -> Result<AnyDevice, ChooseError> {
    Err(ChooseError::NotBuiltIn { backend: "cuda" })
}

#[cfg(feature = "host")]
fn host() -> Result<AnyDevice, ChooseError> {
    Ok(devarray_host::HostDevice::new().into())
}

#[cfg(not(feature = "host"))]
fn host() -> Result<AnyDevice, ChooseError> {
    Err(ChooseError::NotBuiltIn { backend: "host" })
}

#[cfg(feature = "mock")]
fn mock() -> Result<AnyDevice, ChooseError> {
    Ok(devarray_mock::MockDevice::new().into())
}

#[cfg(not(feature = "mock"))]
fn mock() -> Result<AnyDevice, ChooseError> {
    Err(ChooseError::NotBuiltIn { backend: "mock" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(error: Error) -> Result<AnyDevice, ChooseError> {
        Err(ChooseError::Open { name: "cuda:0".to_owned(), error: Box::new(error) })
    }

    fn driver_error(code: i32) -> Error {
        Error::Driver { backend: "cuda", operation: "open", code, name: "CUDA_ERROR".to_owned() }
    }

    #[test]
    fn without_a_gpu_the_cpu_is_best() {
        let absent = Error::Unavailable { backend: "cuda", reason: "no driver".to_owned() };
        for gpu in [opened(absent), Err(ChooseError::NotBuiltIn { backend: "cuda" })] {
            assert_eq!(best_of(gpu).expect("the CPU").backend(), "host");
        }
    }

    /// The twin: if there is a GPU, the CPU never takes its place.
    #[test]
    fn a_gpu_that_cannot_be_used_is_an_error() {
        let lost = Error::DeviceLost { backend: "cuda", operation: "open", code: 700, name: String::new() };
        let full = Error::out_of_memory("cuda", "open", 0, None);
        for error in [driver_error(46), driver_error(999), lost, full] {
            assert_eq!(best_of(opened(error.clone())).expect_err("no device"), opened(error).unwrap_err());
        }
        // A GPU that opens is taken; the simulator stands for it here.
        assert_eq!(best_of(mock()).expect("a device").backend(), "mock");
    }
}
