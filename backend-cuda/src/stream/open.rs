//! The open streams of a context, and the kernels with which all of them copy.

use std::{
    ptr,
    sync::{Arc, Mutex, Weak},
};

use super::RawStream;
use crate::{context::Context, handle::locked, kernels::CopyKernels};

/// The objects that the streams of one context share.
#[derive(Debug)]
pub(crate) struct Streams {
    kernels: CopyKernels,
    /// Each stream from its opening until it is closed. It holds this list, so not the other way.
    known: Mutex<Vec<Weak<RawStream>>>,
}

impl Streams {
    pub(crate) fn new(kernels: CopyKernels) -> Self {
        Self { kernels, known: Mutex::default() }
    }

    pub(crate) fn kernels(&self) -> &CopyKernels {
        &self.kernels
    }

    pub(super) fn remember(&self, stream: &Arc<RawStream>) {
        locked(&self.known).push(Arc::downgrade(stream));
    }

    /// A stream was closed, and the work that it may still run is known.
    pub(super) fn forget(&self, stream: &RawStream) {
        locked(&self.known).retain(|known| !ptr::eq(known.as_ptr(), stream));
    }

    /// The streams that are open.
    pub(crate) fn open(&self) -> Vec<Arc<RawStream>> {
        self.open_of_all().0
    }

    /// The streams that are open, and whether the list is complete: it is not while a stream is
    /// being closed.
    pub(crate) fn open_of_all(&self) -> (Vec<Arc<RawStream>>, bool) {
        let known = locked(&self.known);
        // Upgraded first: the last owner of a stream must not be dropped under the lock.
        let open: Vec<_> = known.iter().filter_map(Weak::upgrade).collect();
        let are_all = open.len() == known.len();
        (open, are_all)
    }

    /// Unloads the kernels. Nothing of the context runs any more.
    pub(crate) fn close(&self, context: &Context) {
        self.kernels.close(context);
    }
}
