//! The one error type of the library.

mod call_site;

use std::panic::Location;

pub(crate) use call_site::made_again;
pub use call_site::{CallSite, call_location};
use thiserror::Error;

use crate::{
    backend::{Capability, MemoryInfo},
    collective::CollectiveError,
    function::FunctionError,
    gather::IndexError,
    hazards::Hazard,
    kernel::KernelError,
    layout::LayoutError,
    memory::LiveByTag,
    order::OrderError,
    product::ProductError,
    recorded::RecordingError,
};

/// The error of a call. Messages name the operation and the backend.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The backend or device is not there: no driver, no device, a driver too old.
    #[error("{backend}: open: not available: {reason}")]
    Unavailable {
        /// The backend that was asked.
        backend: &'static str,
        /// The reason, in words a person can act on.
        reason: String,
    },
    /// Memory of the device or of the host is exhausted. Returned only when that is certain.
    #[error(
        "{backend}: {operation}: out of memory: {requested_bytes} bytes requested{}{}",
        display_room(*free_bytes, *total_bytes, *limited), display_live(live)
    )]
    OutOfMemory {
        /// The backend that was asked.
        backend: &'static str,
        /// The operation that needed the memory.
        operation: &'static str,
        /// The size of the request in bytes.
        requested_bytes: usize,
        /// The bytes that were free when it failed, if the backend knows.
        free_bytes: Option<usize>,
        /// The bytes of the device, if the backend knows.
        total_bytes: Option<usize>,
        /// Whether a limit of the program refused the request. Then `total_bytes` is the limit, and
        /// `free_bytes` the rest below it.
        limited: bool,
        /// The memory of that kind held by the context's program, by tag, the tag with the most
        /// bytes first. It is empty if the program holds none, and in errors of a backend itself.
        live: Vec<LiveByTag>,
    },
    /// A mistake in shapes, strides, indices or aliasing. It is found before any backend call, and
    /// nothing happened.
    #[error("{0}{1}")]
    Layout(LayoutError, CallSite),
    /// A function was refused for its text, its types or its size.
    #[error(transparent)]
    Function(#[from] FunctionError),
    /// A call of [`order`](crate::order) was refused: the types or shapes of its inputs do not fit,
    /// or a quantile of no elements is asked for. Nothing was enqueued.
    #[error("{0}{1}")]
    Order(OrderError, CallSite),
    /// Arrays whose shapes have no [product](crate::product). Nothing was enqueued.
    #[error("{0}{1}")]
    Product(ProductError, CallSite),
    /// A kernel was not launched, because of its arguments, its image or its demands on the device.
    /// Nothing was enqueued.
    #[error("{backend}: {kernel}: {error}")]
    Kernel {
        /// The backend of the stream.
        backend: &'static str,
        /// The name of the kernel.
        kernel: &'static str,
        /// The mistake.
        error: KernelError,
    },
    /// The device found an index out of range, some time before the wait that returns this.
    /// Everything else was done.
    #[error("{backend}: {error}{call}")]
    Index {
        /// The backend of the device.
        backend: &'static str,
        /// The index, and the operation.
        error: IndexError,
        /// The call that enqueued the operation.
        call: CallSite,
    },
    /// [Recorded work](crate::recorded) does not take the call, or a launch does not fit its
    /// recording. Nothing was recorded or enqueued.
    #[error("{operation}: {error}{call}")]
    Recording {
        /// The call refused.
        operation: &'static str,
        /// What is wrong.
        error: RecordingError,
        /// The line of the call.
        call: CallSite,
    },
    /// A call of several [ranks](crate::collective) that failed: calls that do not fit, or a rank that is
    /// gone. Nothing was enqueued.
    #[error("{backend}: {operation}: {error}{call}")]
    Collective {
        /// The backend of the rank.
        backend: &'static str,
        /// The call of this rank.
        operation: &'static str,
        /// What is wrong.
        error: CollectiveError,
        /// The line of the call.
        call: CallSite,
    },
    /// Arrays, streams or events of two contexts were mixed.
    #[error("{backend}: {operation}: an array, stream or event of another context was given")]
    DeviceMismatch {
        /// The backend of the stream.
        backend: &'static str,
        /// The operation refused.
        operation: &'static str,
    },
    /// A strict stream met an access that is not ordered before its operation.
    #[error("{backend}: {operation}: {hazard}")]
    Hazard {
        /// The backend of the stream.
        backend: &'static str,
        /// The operation refused.
        operation: &'static str,
        /// The race that was refused.
        hazard: Hazard,
    },
    /// A [`MemoryHook`](crate::memory::MemoryHook) panicked. The allocation or free that it was
    /// told of is not affected.
    #[error("{backend}: {operation}: a memory hook panicked: {message}")]
    HookPanicked {
        /// The backend of the context.
        backend: &'static str,
        /// The method of the hook.
        operation: &'static str,
        /// The message of the panic.
        message: String,
    },
    /// The owner of [adopted](crate::Array::adopt) memory panicked when it was dropped. The memory is
    /// given up all the same.
    #[error("{backend}: drop: the owner of adopted memory panicked: {message}")]
    OwnerPanicked {
        /// The backend of the context.
        backend: &'static str,
        /// The message of the panic.
        message: String,
    },
    /// The backend or device lacks a capability.
    #[error("{backend}: {operation}: not supported: {capability}")]
    Unsupported {
        /// The backend that was asked.
        backend: &'static str,
        /// The operation refused.
        operation: &'static str,
        /// The capability that is missing.
        capability: Capability,
    },
    /// A library that the operation needs is not on this machine, or lacks what it needs. Nothing was
    /// enqueued.
    #[error("{backend}: {operation}: {library} is not available: {reason}")]
    Library {
        /// The backend that was asked.
        backend: &'static str,
        /// The operation refused.
        operation: &'static str,
        /// The name of the library.
        library: &'static str,
        /// The reason: what was looked for, and where, in words a person can act on.
        reason: String,
    },
    /// The host does not read and write the memory in place: it is the device's, or others may write it.
    #[error(
        "{backend}: {operation}: the host does not reach this memory in place; `to_vec` and `to_host` copy its \
         elements, and `copy_from_slice` copies them back"
    )]
    OutOfReach {
        /// The backend of the device.
        backend: &'static str,
        /// The operation refused.
        operation: &'static str,
    },
    /// The memory or event that a handle of another process names cannot be opened here.
    #[error("{backend}: {operation}: the handle cannot be opened: {reason}")]
    Handle {
        /// The backend that was asked.
        backend: &'static str,
        /// The operation refused.
        operation: &'static str,
        /// The reason, in words.
        reason: &'static str,
    },
    /// The device failed permanently: every later call returns this error, and contents are
    /// undefined.
    #[error("{backend}: {operation}: device lost: {name} ({code})")]
    DeviceLost {
        /// The backend of the device.
        backend: &'static str,
        /// The operation that noticed.
        operation: &'static str,
        /// The driver's code.
        code: i32,
        /// The driver's name for it.
        name: String,
    },
    /// The driver refused the operation; the device stays usable.
    #[error("{backend}: {operation}: driver error {name} ({code})")]
    Driver {
        /// The backend of the device.
        backend: &'static str,
        /// The operation that failed.
        operation: &'static str,
        /// The driver's code. It is an integer, because a newer driver may return a code without a
        /// name.
        code: i32,
        /// The driver's name for it; the number again if there is none.
        name: String,
    },
}

/// [`std::result::Result`] with this crate's [`enum@Error`] unless said otherwise.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Makes [`OutOfMemory`](Self::OutOfMemory) in a backend, with the free memory if it is known.
    #[must_use]
    pub fn out_of_memory(
        backend: &'static str,
        operation: &'static str,
        requested_bytes: usize,
        room: Option<MemoryInfo>,
    ) -> Self {
        let (free_bytes, total_bytes) = (room.map(|room| room.free_bytes), room.map(|room| room.total_bytes));
        let (limited, live) = (false, Vec::new());
        Self::OutOfMemory { backend, operation, requested_bytes, free_bytes, total_bytes, limited, live }
    }

    /// Adds the live memory by tag, if memory was short.
    pub(crate) fn with_live(mut self, held: impl FnOnce() -> Vec<LiveByTag>) -> Self {
        if let Self::OutOfMemory { live, .. } = &mut self {
            *live = held();
        }
        self
    }

    /// The line of the program's call that a [`Layout`](Self::Layout), [`Order`](Self::Order),
    /// [`Product`](Self::Product), [`Recording`](Self::Recording), [`Collective`](Self::Collective) or
    /// [`Index`](Self::Index) error is about; for `Index` it is the call that enqueued the operation, not the
    /// wait. Messages end with it. `None` for other errors, and where the [line is not known](CallSite).
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let error = Array::full(&stream, &[2, 3], 7)?.permute(&[0, 2]).unwrap_err();
    /// let at = error.location().unwrap();
    /// assert_eq!(error.to_string(), format!("axis 2 is out of range for rank 2, at {at}"));
    /// assert_eq!(error.without_location().to_string(), "axis 2 is out of range for rank 2");
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[must_use]
    pub fn location(&self) -> Option<&'static Location<'static>> {
        match self {
            Self::Layout(_, call)
            | Self::Order(_, call)
            | Self::Product(_, call)
            | Self::Recording { call, .. }
            | Self::Collective { call, .. }
            | Self::Index { call, .. } => call.location(),
            _ => None,
        }
    }

    /// Returns the message without the line, for messages to people who do not know the source.
    #[must_use]
    pub fn without_location(mut self) -> Self {
        if let Self::Layout(_, call)
        | Self::Order(_, call)
        | Self::Product(_, call)
        | Self::Recording { call, .. }
        | Self::Collective { call, .. }
        | Self::Index { call, .. } = &mut self
        {
            *call = CallSite::UNKNOWN;
        }
        self
    }

    /// Whether every later call on the device will fail too.
    #[must_use]
    pub fn is_sticky(&self) -> bool {
        matches!(self, Self::DeviceLost { .. })
    }

    /// Whether the same call may succeed later if only time passes or memory is freed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::OutOfMemory { .. })
    }
}

impl From<LayoutError> for Error {
    #[track_caller]
    fn from(error: LayoutError) -> Self {
        Self::Layout(error, CallSite::here())
    }
}

impl From<OrderError> for Error {
    #[track_caller]
    fn from(error: OrderError) -> Self {
        Self::Order(error, CallSite::here())
    }
}

impl From<ProductError> for Error {
    #[track_caller]
    fn from(error: ProductError) -> Self {
        Self::Product(error, CallSite::here())
    }
}

impl RecordingError {
    #[track_caller]
    pub(crate) fn of(self, operation: &'static str) -> Error {
        Error::Recording { operation, error: self, call: CallSite::here() }
    }
}

impl CollectiveError {
    /// The error of a call.
    #[must_use]
    #[track_caller]
    pub fn of(self, backend: &'static str, operation: &'static str) -> Error {
        Error::Collective { backend, operation, error: self, call: CallSite::here() }
    }
}

fn display_room(free: Option<usize>, total: Option<usize>, limited: bool) -> String {
    match (free, total) {
        (Some(free), Some(total)) if limited => format!(", {free} left of a limit of {total}"),
        (Some(free), Some(total)) => format!(", {free} free of {total}"),
        (Some(free), None) => format!(", {free} free"),
        _ => String::new(),
    }
}

fn display_live(live: &[LiveByTag]) -> String {
    let live: Vec<_> = live.iter().map(LiveByTag::to_string).collect();
    if live.is_empty() { String::new() } else { format!("; live: {}", live.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error is small, because every call of the library moves its result.
    #[test]
    fn an_error_is_small() {
        assert!(size_of::<LayoutError>() <= 40, "{}", size_of::<LayoutError>());
        assert!(size_of::<Error>() <= 112, "{}", size_of::<Error>());
        assert_eq!(size_of::<CallSite>(), size_of::<usize>());
    }
}
