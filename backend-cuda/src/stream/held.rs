//! Memory and kernels of operations that a stream captures: kept as long as the stream, since each launch uses them.
//!
//! Calls that come one behind the other use the same memory. Calls that may run side by side have each their own, up
//! to [`MOST_APART_BYTES`] in all; then a call comes behind one more, the last user of the memory that it gets.

use std::{any::Any, num::NonZeroUsize, sync::Arc};

use devarray::{
    Result,
    backend::{Buffer as _, FreeOp},
    gather::IndexError,
};

use super::{RawStream, branches::Branches};
use crate::{
    driver::{Answer, Failure, sys::CUdeviceptr},
    memory::CudaBuffer,
};

/// Most memory that is allocated while other memory of the same length is idle.
const MOST_APART_BYTES: usize = 64 << 20;

/// The use of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// One operation.
    Operation,
    /// Parts of small reductions: each leaves it as it found it.
    Reductions,
    /// Calls of a library. There is one, because it is large.
    Library,
    /// Reports of indices without a place. Never given back.
    Reports,
}

/// Memory, and who uses it.
#[derive(Debug)]
struct Block {
    buffer: CudaBuffer,
    purpose: Purpose,
    /// The call that used it last; none while it is used.
    last_user: Option<usize>,
}

/// The reports of a capture.
#[derive(Debug, Default)]
pub(crate) struct CapturedReports {
    /// The addresses of the pages. When a launch begins, no report has a key.
    pub(crate) pages: Vec<CUdeviceptr>,
    /// The errors that each operation may report, without the device's findings, in the order in which the operations
    /// were captured.
    pub(crate) errors: Vec<[IndexError; 2]>,
}

/// The memory, and the stream that it was allocated on.
pub(super) struct Held {
    of: Arc<RawStream>,
    blocks: Vec<Block>,
    pub(super) branches: Branches,
    /// Why the driver is not told which calls come next.
    failed: Option<Failure>,
    pub(super) reports: CapturedReports,
    /// Each once.
    kernels: Vec<Arc<dyn Any + Send + Sync>>,
}

impl Held {
    pub(super) fn new(of: &Arc<RawStream>) -> Self {
        let (blocks, kernels) = (Vec::new(), Vec::new());
        Self {
            of: Arc::clone(of),
            blocks,
            branches: Branches::default(),
            failed: None,
            reports: CapturedReports::default(),
            kernels,
        }
    }

    /// Memory of exactly this length, for operations that `stream` captures next. Its earlier users come earlier in
    /// the graph. New memory is made ready by `prepare`, on the stream that allocates it.
    pub(super) fn alloc(
        &mut self,
        stream: &RawStream,
        (purpose, len_bytes): (Purpose, NonZeroUsize),
        prepare: impl FnOnce(&RawStream, CUdeviceptr) -> Result<()>,
    ) -> Result<CUdeviceptr> {
        let held_bytes: usize = self.blocks.iter().map(|block| block.buffer.len_bytes()).sum();
        let is_apart = purpose != Purpose::Library && held_bytes + len_bytes.get() <= MOST_APART_BYTES;
        let branches = &self.branches;
        let mut idle = self.blocks.iter().enumerate().filter_map(|(at, block)| {
            let fits = block.purpose == purpose && block.buffer.nonzero_len_bytes() == len_bytes;
            block.last_user.filter(|_| fits).map(|user| (at, user))
        });
        let first = idle.clone().next().filter(|_| !is_apart);
        if let Some((at, user)) = idle.find(|(_, user)| branches.is_behind(*user)).or(first) {
            if !branches.is_behind(user) {
                self.come_behind(stream, user);
            }
            self.blocks[at].last_user = None;
            return Ok(self.blocks[at].buffer.address());
        }
        let buffer = self.of.alloc(len_bytes)?;
        let address = buffer.address();
        self.blocks.push(Block { buffer, purpose, last_user: None });
        // Memory that is not ready stays as if it were used.
        prepare(&self.of, address).map(|()| address)
    }

    /// Puts what `stream` captures next behind a call.
    fn come_behind(&mut self, stream: &RawStream, call: usize) {
        let come = stream.come_behind(self.branches.last_nodes(call));
        self.branches.come_behind(call);
        self.note(come);
    }

    /// Notes whether the driver knows what comes next. After a failure it is told no more.
    pub(super) fn note(&mut self, answer: Answer) {
        if let Err(failure) = answer {
            self.failed.get_or_insert(failure);
        }
    }

    /// Whether the driver is still told which calls come next.
    pub(super) fn tells(&self) -> bool {
        self.failed.is_none()
    }

    /// Forgets the calls. Returns why the capture cannot be used, if it cannot: a driver that lacks a function leaves
    /// all in order.
    pub(super) fn end(&mut self) -> Option<Failure> {
        self.branches = Branches::default();
        self.failed.filter(|failure| !matches!(failure, Failure::Missing(_)))
    }

    /// Gives memory to operations that are captured later.
    pub(super) fn free(&mut self, address: CUdeviceptr) {
        let current = self.branches.current();
        if let Some(block) = self.blocks.iter_mut().find(|block| block.buffer.address() == address) {
            block.last_user = Some(current);
        }
    }

    /// Keeps a kernel loaded.
    pub(super) fn keep(&mut self, kernel: Arc<dyn Any + Send + Sync>) {
        // A recording makes the same few calls: the last kernels are the likely ones.
        if !self.kernels.iter().rev().any(|kept| Arc::ptr_eq(kept, &kernel)) {
            self.kernels.push(kernel);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for Block { buffer, .. } in self.blocks.drain(..) {
            let context = Arc::clone(self.of.context());
            // SAFETY: allocated on that stream and freed once. No launch of the graph runs any more.
            let freed = self.of.free(unsafe { FreeOp::new_unchecked(buffer) });
            freed.unwrap_or_else(|error| context.driver().report(error));
        }
    }
}
