//! Where functions are computed: a stream, with the objects that it and its context keep for them.

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

/// The functions that a stream computes, and their kernels.
#[derive(Debug, Default)]
pub(crate) struct StreamFunctions {
    /// Whether it ever computed a function. If so, kernels may run until it ends.
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
    /// Prepares to compute functions on a stream of their context, with the objects that the stream
    /// keeps.
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
    /// The last functions of the stream. From now on the stream counts as computing.
    pub(super) fn begin(self) -> MutexGuard<'a, PreparedLaunches> {
        self.stream_functions.begun.store(true, Relaxed);
        locked(&self.stream_functions.prepared)
    }

    /// Launches a kernel with the usual number of threads per block, given blocks and bytes of shared memory.
    /// The context must be bound. Does not synchronize.
    pub(super) fn launch(
        self,
        driver: &Driver,
        loaded: &Arc<LoadedKernel>,
        (grid, dynamic_bytes): (u32, u32),
        parameter: &Parameter,
    ) -> Answer {
        self.launch_of(driver, loaded, [grid, BLOCK, dynamic_bytes], parameter)
    }

    /// Launches a kernel, given blocks, threads of each, and bytes of shared memory. A stream that captures
    /// keeps the kernel loaded. The context must be bound. Does not synchronize.
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
