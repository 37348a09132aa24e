//! Captures operations into a graph of the driver, which launches them as one.
//!
//! They are enqueued on a stream of their own, which the driver captures. Calls that do not conflict are branches of
//! the graph. Memory that operations need while they run is allocated outside the capture and kept with the
//! graph. No other work uses it, and neither do two calls that may run at once.
#![allow(unsafe_code)] // calls the driver with graphs that it owns

use std::{
    any::Any,
    fmt,
    ops::Range,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use devarray::{
    Error, Result,
    backend::{Captured, Captures},
};

use crate::{
    CudaStream,
    context::Context,
    driver::{BACKEND, CaptureMode, Failure, INVALID_VALUE, sys},
    gather::params::SendParams,
    handle::Handle,
    stream::{CapturedReports, PAGE_REPORTS},
};

/// A graph that can be launched. It keeps the stream that it was captured on, which keeps the graph's memory
/// and kernels.
struct CapturedWork {
    executable: Handle<sys::CUgraphExec_st>,
    context: Arc<Context>,
    reports: CapturedReports,
    /// Whether a launch failed, so that reports of it may be left.
    is_unclear: AtomicBool,
    _stream: CudaStream,
}

impl Captured for CapturedWork {}

impl fmt::Debug for CapturedWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CapturedWork({:?} on {:?})", self.executable, self.context)
    }
}

// SAFETY: the driver puts what is enqueued on a capturing stream into a graph, behind the last nodes of the calls
// that come before it, and a launch runs it in the order of its stream (CUDA C++ Programming Guide, "CUDA Graphs").
// The stream holds memory that operations allocate meanwhile, for calls that come one behind the other, and the
// captured work holds the stream.
unsafe impl Captures for CudaStream {
    fn capture(&self) -> Result<Option<Self>> {
        let stream = self.open_to_capture()?;
        // The capture is relaxed, so that modules may be loaded, and memory allocated on other
        // streams.
        let begun = self.context().bound("capture").map(|driver| {
            // SAFETY: the stream is alive, and its context bound.
            unsafe { driver.stream_begin_capture(stream.raw.raw(), CaptureMode::Relaxed as i32) }
        })?;
        match begun {
            Ok(()) => Ok(Some(stream)),
            Err(Failure::Missing(_)) => Ok(None),
            Err(failure) => Err(self.context().error("capture", failure)),
        }
    }

    fn captures_reports(&self) -> bool {
        true
    }

    fn next_behind(&self, calls: &[usize]) {
        self.raw.next_behind(calls);
    }

    fn end_capture(self) -> Result<Box<dyn Captured>> {
        let context = Arc::clone(self.context());
        let (failure, reports) = (self.raw.capture_failure(), self.raw.take_reports());
        let mut graph = ptr::null_mut();
        context.call("capture", |driver| {
            // SAFETY: the stream is alive and captures, and its context is bound; the pointer is to a local.
            unsafe { driver.stream_end_capture(self.raw.raw(), &raw mut graph) }
        })?;
        let mut executable = ptr::null_mut();
        let made = context.call("capture", |driver| {
            if let Some(failure) = failure {
                return Err(failure);
            }
            if !reports.pages.is_empty() {
                // Loads the kernel that sends reports now. If it failed to load after a launch, the reports
                // of that launch would be lost.
                self.gathers().load_send(driver)?;
            }
            // SAFETY: the graph is alive; the pointer is to a local.
            unsafe { driver.graph_instantiate(&raw mut executable, graph, 0) }
        });
        context.release("capture", |driver| {
            // SAFETY: the graph was made above and is destroyed once; the instantiated graph does
            // not need it.
            unsafe { driver.graph_destroy(graph) }
        });
        made?;
        let (executable, is_unclear) = (Handle::new(executable), AtomicBool::new(false));
        Ok(Box::new(CapturedWork { executable, context, reports, is_unclear, _stream: self }))
    }

    unsafe fn launch_captured(&self, captured: &dyn Captured, reports: Range<u64>) -> Result<()> {
        const OPERATION: &str = "launch";
        let captured: &dyn Any = captured;
        let Some(work) = captured.downcast_ref::<CapturedWork>() else {
            return Err(Error::DeviceMismatch { backend: BACKEND, operation: OPERATION });
        };
        let CapturedReports { pages, errors } = &work.reports;
        if !Arc::ptr_eq(&work.context, self.context()) || reports.end - reports.start != errors.len() as u64 {
            return Err(self.context().error(OPERATION, INVALID_VALUE));
        }
        // Kernels in a graph do not signal their dependents, so later copies must wait until the graph has
        // ended.
        let stream = self.raw.share();
        if work.is_unclear.load(Relaxed) {
            pages.iter().try_for_each(|&page| self.raw.clear_reports(page))?;
            work.is_unclear.store(false, Relaxed);
        }
        let gathers = self.gathers();
        let to = gathers.index_reports.begin_launch(self.context(), reports.clone(), errors)?;
        let launched = self.raw.enqueue(OPERATION, |driver, _| {
            // SAFETY: the graph is alive, and the caller vouches for the memory of its operations.
            unsafe { driver.graph_launch(work.executable.raw(), stream) }?;
            let mut pages = pages.iter().zip(to.chunks(PAGE_REPORTS));
            pages.try_for_each(|(&page, to)| gathers.send(driver, stream, &SendParams::new(page, to)))
        });
        launched.inspect_err(|_| {
            work.is_unclear.store(true, Relaxed);
            gathers.index_reports.forget_launch(reports);
        })
    }
}

impl Drop for CapturedWork {
    fn drop(&mut self) {
        self.context.release("capture", |driver| {
            // SAFETY: made by `end_capture`, destroyed once; no launch of it runs.
            unsafe { driver.graph_exec_destroy(self.executable.raw()) }
        });
    }
}
