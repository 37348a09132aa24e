//! Memory of other devices: devices of the same backend.
#![allow(unsafe_code)] // implements an unsafe trait by forwarding

use devarray::{
    Error, Result,
    backend::{Capability, CopyOp, PeerAccess},
};

use super::AnyDevice;
use crate::{AnyBuffer, AnyEvent, AnyStream, project::given, stream::mixed};

// SAFETY: forwards to a device whose implementor vouches for it, or enqueues nothing.
unsafe impl PeerAccess for AnyDevice {
    #[inline]
    #[track_caller]
    fn can_access_peer(&self, peer: &Self) -> Result<bool> {
        on_each!((Self, self, device), (Self, peer, peer) => device.can_access_peer(peer), else Ok(false))
    }

    #[inline]
    #[track_caller]
    fn enable_peer_access(&self, peer: &Self) -> Result<()> {
        on_each!((Self, self, device), (Self, peer, peer) => device.enable_peer_access(peer), else {
            let (backend, operation) = (self.backend(), "enable_peer_access");
            Err(Error::Unsupported { backend, operation, capability: Capability::PeerAccess })
        })
    }

    #[inline]
    fn reaches_peer(&self, peer: &Self) -> bool {
        on_each!((Self, self, device), (Self, peer, peer) => device.reaches_peer(peer), else false)
    }

    #[inline]
    #[track_caller]
    fn copy_from_peer(&self, stream: &AnyStream, op: &CopyOp<'_, AnyBuffer>) -> Result<()> {
        on_each!((AnyDevice, self, device), (AnyStream, stream, stream) => {
            // SAFETY: the operation was given to this stream.
            device.copy_from_peer(stream, unsafe { given(stream, op) })
        }, else Err(mixed(stream.backend(), "copy_from_peer")))
    }

    #[inline]
    #[track_caller]
    fn wait_for_peer(&self, stream: &AnyStream, event: &AnyEvent) -> Result<()> {
        on_each!((AnyDevice, self, device), (AnyStream, stream, stream), (AnyEvent, event, event) => {
            device.wait_for_peer(stream, event)
        }, else Err(mixed(stream.backend(), "wait_for_peer")))
    }
}
