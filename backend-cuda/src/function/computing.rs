//! A place to compute functions: a stream, with the objects that it and its context keep for them.

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use super::{
    modules::{Functions, LoadedKernel},
    parameter::Parameter,
    prepared::PreparedLaunches,
    text::BLOCK,
};
use crate::{
    context::Context,
    driver::{Answer, Driver},
    handle::locked,
    stream::RawStream,
};

/// Functions that a stream computes, and their kernels.
#[derive(Debug, Default)]
pub(crate) struct StreamFunctions {
    /// Whether it ever computed any, so that their kernels may run until it ends.
    begun: AtomicBool,
    prepared: Mutex<PreparedLaunches>,
}

impl StreamFunctions {
    pub(crate) fn is_begun(&self) -> bool {
        self.begun.load(Relaxed)
    }
}

/// The place of one call.
#[derive(Clone, Copy)]
pub(crate) struct Computing<'a> {
    pub(super) functions: &'a Functions,
    pub(crate) context: &'a Arc<Context>,
    pub(crate) stream: &'a RawStream,
    stream_functions: &'a StreamFunctions,
}

impl Functions {
    /// Computing these functions on a stream of their context, with the objects that the stream
    /// keeps for them.
    pub(crate) fn computing<'a>(
        &'a self,
        context: &'a Arc<Context>,
        stream: &'a RawStream,
        stream_functions: &'a StreamFunctions,
    ) -> Computing<'a> {
        Computing { functions: self, context, stream, stream_functions }
    }
}

impl<'a> Computing<'a> {
    /// The last functions of the stream, which computes from now on.
    pub(super) fn begin(self) -> MutexGuard<'a, PreparedLaunches> {
        self.stream_functions.begun.store(true, Relaxed);
        locked(&self.stream_functions.prepared)
    }

    /// Launches a kernel of the usual number of threads a block: blocks, and bytes of shared memory. The context is
    /// bound. Does not synchronize.
    pub(super) fn launch(
        self,
        driver: &Driver,
        loaded: &Arc<LoadedKernel>,
        (grid, dynamic_bytes): (u32, u32),
        parameter: &Parameter,
    ) -> Answer {
        self.launch_of(driver, loaded, [grid, BLOCK, dynamic_bytes], parameter)
    }

    /// Launches a kernel: blocks, threads of each, and bytes of shared memory. A stream that captures keeps it
    /// loaded. The context is bound. Does not synchronize.
    pub(super) fn launch_of(
        self,
        driver: &Driver,
        loaded: &Arc<LoadedKernel>,
        sizes: [u32; 3],
        parameter: &Parameter,
    ) -> Answer {
        self.stream.keep_captured(loaded);
        self.functions.launch(driver, self.stream.raw(), loaded, sizes, parameter)
    }
}
