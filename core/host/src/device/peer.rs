//! Peer access: each device reaches its own memory, also through another context.
#![allow(unsafe_code)] // vouches for the contract of peers

use devarray::{
    Error, Result,
    backend::{Capability, CopyOp, PeerAccess, Stream as _},
};

use super::HostDevice;
use crate::{HostEvent, HostStream, backend::BACKEND, memory::DeviceMemory};

// SAFETY: a copy is a copy of its stream, and a wait is a wait for an event of the device.
unsafe impl PeerAccess for HostDevice {
    fn can_access_peer(&self, peer: &Self) -> Result<bool> {
        Ok(self.is_same(peer))
    }

    fn enable_peer_access(&self, peer: &Self) -> Result<()> {
        if self.is_same(peer) {
            return Ok(());
        }
        let (operation, capability) = ("enable_peer_access", Capability::PeerAccess);
        Err(Error::Unsupported { backend: BACKEND, operation, capability })
    }

    fn reaches_peer(&self, peer: &Self) -> bool {
        self.is_same(peer)
    }

    fn copy_from_peer(&self, stream: &HostStream, op: &CopyOp<'_, DeviceMemory>) -> Result<()> {
        stream.copy(op)
    }

    fn wait_for_peer(&self, stream: &HostStream, event: &HostEvent) -> Result<()> {
        stream.wait(event)
    }
}
