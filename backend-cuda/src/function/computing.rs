//! A place to compute functions: a stream, with the objects that it and its context keep for them.

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use super::{modules::Functions, prepared::PreparedLaunches};
use crate::{context::Context, driver::sys, handle::locked, stream::RawStream};

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
    /// The driver's handle of the stream, which computes from now on; with its last functions.
    pub(super) fn begin(self) -> (sys::CUstream, MutexGuard<'a, PreparedLaunches>) {
        self.stream_functions.begun.store(true, Relaxed);
        (self.stream.raw(), locked(&self.stream_functions.prepared))
    }
}
