//! Where functions are computed: a stream, with what it and its context keep for them.

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use super::{modules::Functions, prepared::PreparedLaunches};
use crate::{context::Context, driver::sys, handle::locked, stream::RawStream};

/// What a stream keeps for the functions that it computes.
#[derive(Debug, Default)]
pub(crate) struct OfStream {
    /// Whether it ever computed any, so that their kernels may run until it ends.
    begun: AtomicBool,
    prepared: Mutex<PreparedLaunches>,
}

impl OfStream {
    pub(crate) fn is_begun(&self) -> bool {
        self.begun.load(Relaxed)
    }
}

/// The place of one call.
#[derive(Clone, Copy)]
pub(crate) struct Computing<'a> {
    pub(super) functions: &'a Functions,
    pub(crate) context: &'a Arc<Context>,
    pub(super) stream: &'a RawStream,
    kept: &'a OfStream,
}

impl Functions {
    /// Computing these functions on a stream of their context, which keeps what it `kept`.
    pub(crate) fn computing<'a>(
        &'a self,
        context: &'a Arc<Context>,
        stream: &'a RawStream,
        kept: &'a OfStream,
    ) -> Computing<'a> {
        Computing { functions: self, context, stream, kept }
    }
}

impl<'a> Computing<'a> {
    /// The driver's handle of the stream, which computes from now on; with its last functions.
    pub(super) fn begin(self) -> (sys::CUstream, MutexGuard<'a, PreparedLaunches>) {
        self.kept.begun.store(true, Relaxed);
        (self.stream.raw(), locked(&self.kept.prepared))
    }
}
