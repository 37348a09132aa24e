//! Several devices in one simulator, and their access to each other's memory.
#![allow(unsafe_code)] // implements an unsafe trait; performs no unsafe operation

use std::sync::Arc;

use devarray::{
    Error, Result,
    backend::{Capability, CopyOp, Device, PeerAccess},
};

use super::{
    MockDevice, buffer::MockBuffer, event::MockEvent, properties::properties, shared::Shared,
    stream::MockStream,
};
use crate::{backend::BACKEND, fault::Site};

impl MockDevice {
    /// Another device of the same machine, with the next number, like a second device of one
    /// process.
    ///
    /// Both are one simulator: they share the schedule, the judge, the report, planned faults,
    /// statistics and the limit of memory. They do not share memory until one is [let
    /// into](PeerAccess::enable_peer_access) the memory of the other.
    #[must_use]
    pub fn sibling(&self) -> Self {
        let mut info = self.info().clone();
        info.ordinal = self.shared().engine().next_ordinal(info.ordinal);
        info.properties = properties(info.ordinal, info.properties.total_memory_bytes);
        self.beside(info, self.shared().process())
    }

    /// Whether both are devices of one machine, in one process.
    fn is_beside(&self, other: &Shared) -> bool {
        self.shared().is_beside(other) && self.shared().process() == other.process()
    }
}

// SAFETY: devices that reach each other are one simulator: one judge, one set of lanes. A copy from
// a peer is enqueued like any other, and an event of a peer is an event of the same simulator.
unsafe impl PeerAccess for MockDevice {
    fn can_access_peer(&self, peer: &Self) -> Result<bool> {
        self.shared().engine().enter(Site::PeerAccess)?;
        let has = |device: &Self| device.info().capabilities.extras.has(Capability::PeerAccess);
        let same = Arc::ptr_eq(self.shared(), peer.shared());
        Ok(same || self.is_beside(peer.shared()) && has(self) && has(peer))
    }

    fn enable_peer_access(&self, peer: &Self) -> Result<()> {
        if !self.can_access_peer(peer)? {
            let (operation, capability) = ("enable_peer_access", Capability::PeerAccess);
            return Err(Error::Unsupported { backend: BACKEND, operation, capability });
        }
        self.shared().engine().let_into(self.info().ordinal, peer.info().ordinal);
        Ok(())
    }

    fn reaches_peer(&self, peer: &Self) -> bool {
        let let_in = || self.shared().engine().is_let_into(self.info().ordinal, peer.info().ordinal);
        Arc::ptr_eq(self.shared(), peer.shared()) || self.is_beside(peer.shared()) && let_in()
    }

    #[track_caller]
    fn copy_from_peer(&self, stream: &MockStream, op: &CopyOp<'_, MockBuffer>) -> Result<()> {
        let peer = &op.src().shared;
        // The peer may be of another rank, whose turn is not passed on here.
        let let_in = |peer: &Shared| {
            let own = || self.shared().engine();
            self.is_beside(peer) && own().is_let_into(self.info().ordinal, peer.info().ordinal)
        };
        if !Arc::ptr_eq(peer, self.shared()) && !let_in(peer) {
            return Err(Error::DeviceMismatch { backend: BACKEND, operation: "copy_from_peer" });
        }
        stream.copy_of(op, Site::CopyFromPeer, &[op.dst()])
    }

    #[track_caller]
    fn wait_for_peer(&self, stream: &MockStream, event: &MockEvent) -> Result<()> {
        if !self.is_beside(&event.shared) {
            return Err(Error::DeviceMismatch { backend: BACKEND, operation: "wait_for_peer" });
        }
        stream.wait_at(event, Site::WaitForPeer, devarray::backend::call_location())
    }
}
