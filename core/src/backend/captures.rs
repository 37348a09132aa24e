//! Operations that a backend records once and launches again and again, as one.
#![allow(unsafe_code)] // declares an unsafe trait; performs no unsafe operation

use std::{any::Any, fmt::Debug, ops::Range};

use crate::Result;

/// [Captured](Captures) operations. Dropped when no launch of them runs.
pub trait Captured: Any + Debug + Send + Sync {}

/// A stream that can record operations instead of running them.
///
/// Core captures [recorded work](crate::recorded) again for each set of addresses that it is launched with, up to
/// a few. A stream without this has its calls made one by one at each launch.
///
/// # Safety
///
/// Operations that were enqueued on a stream of [`capture`](Self::capture) run at each launch with the effects that
/// they have elsewhere, in the order in which they were enqueued; calls that do not come behind each other
/// ([`next_behind`](Self::next_behind)) may run in any order and side by side. They run in the order of the stream
/// that they are launched on (S1 to S6), and use no memory of their own that others use meanwhile. If reports are
/// [captured](Self::captures_reports), each launch reports what its own operations find.
pub unsafe trait Captures: Sized {
    /// Opens a stream that records copies, fills and operations of the device instead of running them. No
    /// event is recorded on it or waited for. None if the device cannot do this. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Any device error.
    fn capture(&self) -> Result<Option<Self>>;

    /// Whether operations that report an index without a place are captured too: gathers with
    /// [`OutOfRange::Error`](crate::gather::OutOfRange::Error), and operations of [`order`](crate::order) whose call
    /// [finds indices](crate::order::Call::finds_indices). Elsewhere their calls are made one by one at
    /// each launch. Does not synchronize.
    fn captures_reports(&self) -> bool {
        false
    }

    /// Begins the next call of a capture. Operations that are enqueued from here to the next call of this
    /// method run after the earlier calls `calls`, and after all calls that those run after; the order to
    /// other calls is free. Calls are counted from 0. Core calls this before each call, or never. If it is
    /// never called, or not implemented, all calls run in the order in which they were enqueued. Does not
    /// synchronize.
    fn next_behind(&self, calls: &[usize]) {
        let _ = calls;
    }

    /// The order in which the calls of a launch are made one by one, where they are not captured: all of them, each
    /// after the earlier ones that it comes behind. `None` for the order in which they were recorded. Does not
    /// synchronize.
    fn order_of_calls(&self, behind: &[Box<[usize]>]) -> Option<Vec<usize>> {
        let _ = behind;
        None
    }

    /// Ends the capture. Called once, on a stream that [`capture`](Self::capture) returned. Does not
    /// synchronize.
    ///
    /// # Errors
    ///
    /// The operations cannot be launched as one; or any device error.
    fn end_capture(self) -> Result<Box<dyn Captured>>;

    /// Enqueues all operations. Does not synchronize.
    ///
    /// `reports` has a number for each captured operation that reports, in the order in which they were captured: a
    /// finding of the operation in this launch is kept until
    /// [`take_index_error`](super::Gathers::take_index_error) takes it by that number. The numbers that operations had
    /// when they were captured are not asked for.
    ///
    /// # Errors
    ///
    /// They were captured by another backend, or another number of them reports; or any device error. Nothing was
    /// enqueued.
    ///
    /// # Safety
    ///
    /// The promises of each operation when it was enqueued hold for the time of this launch, too. No other launch of
    /// it is running that is not in front of this in order.
    unsafe fn launch_captured(&self, captured: &dyn Captured, reports: Range<u64>) -> Result<()>;
}
