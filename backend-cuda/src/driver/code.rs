//! The driver's codes, and the errors that they become.
//!
//! The numbers come from `cuda.h`, where each is documented.

use std::fmt::Display;

use devarray::{Error, backend::MemoryInfo};

use super::{Driver, Failure};

/// The name errors carry.
pub(crate) const BACKEND: &str = "cuda";

pub(crate) const INVALID_VALUE: Failure = Failure::Code(1);
pub(crate) const OUT_OF_MEMORY: Failure = Failure::Code(2);
pub(crate) const INVALID_IMAGE: Failure = Failure::Code(200);
pub(crate) const NOT_FOUND: Failure = Failure::Code(500);
pub(crate) const NOT_READY: Failure = Failure::Code(600);

/// Codes after which the process, or the context, can do no further work on the device.
///
/// `cuda.h` says of 226, 702, 714 to 719, 721 and 911, and of 700: "leaves the process in an
/// inconsistent state and any further CUDA work will return the same error"; of 710 that the
/// context must be destroyed. 3 and 4 mean that the driver of this process is not initialized
/// (after a fork) or shuts down; 201 and 709, that somebody destroyed the context bound a moment
/// ago. 214 and 220 are memory and link errors during execution.
const LOST: [i32; 18] =
    [3, 4, 201, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 911];

impl Failure {
    fn is_lost(self) -> bool {
        matches!(self, Self::Code(code) if LOST.contains(&code))
    }
}

impl Driver {
    /// The error to return for a call that failed during `operation`, a name of the caller's
    /// choice: out of memory, a lost device, or the driver's code and its name for it.
    ///
    /// ```no_run
    /// use devarray_cuda::{CudaDevice, driver::Failure};
    ///
    /// let device = CudaDevice::open(0)?;
    /// let launched: Result<(), Failure> = Err(Failure::Code(1)); // what a call of the driver answered
    /// launched.map_err(|failure| device.driver().error("my_kernel", failure))?;
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[must_use]
    pub fn error(&self, operation: &'static str, failure: Failure) -> Error {
        let code = match failure {
            Failure::Code(code) => code,
            Failure::Missing(function) => {
                let reason = format!("{operation}: the driver is too old: it has no {}", function.symbol());
                return Error::Unavailable { backend: BACKEND, reason };
            }
        };
        if failure == OUT_OF_MEMORY {
            return out_of_memory(operation, 0, None);
        }
        let name = self.code_name(code);
        if failure.is_lost() {
            Error::DeviceLost { backend: BACKEND, operation, code, name }
        } else {
            Error::Driver { backend: BACKEND, operation, code, name }
        }
    }
}

/// The error if there is no driver, no device, or none that this backend can use.
pub(crate) fn unavailable(reason: impl Display) -> Error {
    Error::Unavailable { backend: BACKEND, reason: reason.to_string() }
}

/// The error of memory that is used up. `room` is (free, total) in bytes if known;
/// `requested_bytes` is 0 if the driver did not say what the memory was for.
pub(crate) fn out_of_memory(
    operation: &'static str,
    requested_bytes: usize,
    room: Option<(usize, usize)>,
) -> Error {
    let room = room.map(|(free, total)| MemoryInfo::new(free, total));
    Error::out_of_memory(BACKEND, operation, requested_bytes, room)
}
