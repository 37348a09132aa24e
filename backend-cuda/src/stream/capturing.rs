//! Streams that capture operations, and the order of the calls that they are captured for.
//!
//! The driver puts the next node of a capturing stream behind the nodes of the stream's dependency set. Before each
//! call the set becomes the last nodes of the calls that it comes behind; within a call the driver continues from
//! node to node. Nodes that leave the set need not be joined before the capture ends (cuda.h,
//! `cuStreamUpdateCaptureDependencies`). No kernel of a capture begins before those that it depends on are done
//! ([`RawStream::share`]), so all edges are plain ones.

use std::{any::Any, ptr, slice, sync::Arc};

use devarray::Result;

use super::{Mutex, RawStream, branches::Node, held::Held};
use crate::{
    driver::{Answer, CaptureEdges, Driver, Failure, sys},
    handle::locked,
};

impl RawStream {
    /// Opens a stream whose operations are captured. Memory that they need is allocated here.
    pub(crate) fn open_to_capture(self: &Arc<Self>) -> Result<Arc<Self>> {
        let stream = Self::open_holding(&self.context, &self.streams, Some(Mutex::new(Held::new(self))))?;
        // No copy of a graph begins while the one before it runs.
        stream.share();
        Ok(stream)
    }

    /// Whether this stream was opened to capture. Nothing ever runs on it.
    pub(crate) fn captures(&self) -> bool {
        self.held.is_some()
    }

    /// Keeps a kernel that is captured as long as this stream. Does nothing on any other stream.
    pub(crate) fn keep_captured<K: Any + Send + Sync>(&self, kernel: &Arc<K>) {
        if let Some(held) = &self.held {
            locked(held).keep(Arc::<K>::clone(kernel));
        }
    }

    /// Begins the next call of a capture, behind earlier ones. A driver that cannot say or change what comes next
    /// leaves all in order.
    pub(crate) fn next_behind(&self, calls: &[usize]) {
        let Some(held) = &self.held else { return };
        let mut held = locked(held);
        if !held.tells() {
            return;
        }
        let begun = self.context.bind().and_then(|driver| {
            let last = self.last_nodes(driver)?;
            let nodes = held.branches.begin(&last, calls);
            if is_same(&nodes, &last) {
                return Ok(());
            }
            self.depend_on(driver, &nodes, CaptureEdges::Set)
        });
        held.note(begun);
    }

    /// Why the capture cannot be used, if it cannot. The calls are over.
    pub(crate) fn capture_failure(&self) -> Option<Failure> {
        self.held.as_ref().and_then(|held| locked(held).end())
    }

    /// Puts what is captured next behind more nodes.
    pub(super) fn come_behind(&self, nodes: &[Node]) -> Answer {
        self.context.bind().and_then(|driver| self.depend_on(driver, nodes, CaptureEdges::Add))
    }

    /// The nodes that the next one would come behind.
    fn last_nodes(&self, driver: &Driver) -> Answer<Vec<Node>> {
        let (mut status, mut id, mut graph) = (0, 0, ptr::null_mut());
        let (mut nodes, mut count) = (ptr::null(), 0);
        // SAFETY: the stream is alive and its context bound; the pointers are to locals of the right types.
        unsafe {
            driver.stream_get_capture_info(
                self.raw(),
                &raw mut status,
                &raw mut id,
                &raw mut graph,
                &raw mut nodes,
                &raw mut count,
            )
        }?;
        if count == 0 || nodes.is_null() {
            return Ok(Vec::new());
        }
        // SAFETY: the driver says that there are `count`, which stay until the next call for this stream.
        let nodes = unsafe { slice::from_raw_parts(nodes, count) };
        Ok(nodes.iter().map(|&node| Node::new(node)).collect())
    }

    fn depend_on(&self, driver: &Driver, nodes: &[Node], how: CaptureEdges) -> Answer {
        let mut nodes: Vec<sys::CUgraphNode> = nodes.iter().map(|node| node.raw()).collect();
        let first = if nodes.is_empty() { ptr::null_mut() } else { nodes.as_mut_ptr() };
        // SAFETY: the stream is alive and captures, and its context is bound. The pointer is to that number of
        // nodes of its graph, which the driver copies.
        unsafe { driver.stream_update_capture_dependencies(self.raw(), first, nodes.len(), how as u32) }
    }
}

/// Whether both are the same nodes; `sorted` are sorted by address.
fn is_same(sorted: &[Node], other: &[Node]) -> bool {
    let mut other: Vec<_> = other.iter().map(|node| node.raw()).collect();
    other.sort_unstable();
    sorted.iter().map(|node| node.raw()).eq(other)
}
