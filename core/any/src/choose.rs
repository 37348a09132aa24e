//! Choosing a device at run time.

use std::env;

use crate::{AnyDevice, ChooseError};

const VARIABLE: &str = "DEVARRAY_DEVICE";

impl AnyDevice {
    /// The best device of the machine: the first GPU that opens, else the CPU. Never the simulator.
    ///
    /// # Errors
    ///
    /// [`NoBest`](ChooseError::NoBest): no GPU opened, and the CPU is not built in.
    pub fn best() -> Result<Self, ChooseError> {
        let gpu = match first_gpu() {
            Ok(device) => return Ok(device),
            Err(ChooseError::Open { error, .. }) => Some(error),
            Err(_) => None,
        };
        host().map_err(|_| ChooseError::NoBest { gpu })
    }

    /// The device that the variable `DEVARRAY_DEVICE` [names](Self::named); the [best](Self::best) one if
    /// it is not set, or empty.
    ///
    /// # Errors
    ///
    /// As [`named`](Self::named).
    pub fn from_env() -> Result<Self, ChooseError> {
        let name = env::var_os(VARIABLE).unwrap_or_default();
        match name.to_str() {
            Some(name) if name.trim().is_empty() => Self::best(),
            Some(name) => Self::named(name),
            None => Err(ChooseError::Unknown { name: name.to_string_lossy().into_owned() }),
        }
    }

    /// The device of a name. Spaces around it are ignored.
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
    ///   [`Number`](ChooseError::Number): the name.
    /// - [`Open`](ChooseError::Open): the device did not open.
    /// - As [`best`](Self::best).
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

/// A number in digits alone.
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

/// The first GPU that opens; if none does, what is wrong with the first.
#[cfg(feature = "cuda")]
fn first_gpu() -> Result<AnyDevice, ChooseError> {
    let first = match cuda(0) {
        Ok(device) => return Ok(device),
        Err(error) => error,
    };
    let others = 1..devarray_cuda::devices().map_or(0, |devices| devices.len());
    others.map(cuda).find_map(Result::ok).ok_or(first)
}

#[cfg(not(feature = "cuda"))]
fn first_gpu() -> Result<AnyDevice, ChooseError> {
    cuda(0)
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
