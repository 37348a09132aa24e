//! Memory of other devices of this machine.
#![allow(unsafe_code)] // copies between the memories of two contexts; vouches for the contract of the trait

use std::sync::Arc;

use devarray::{
    Error, Result,
    backend::{Buffer, Capability, CopyOp, PeerAccess},
    copy::Class,
};

use super::{CudaDevice, CudaStream};
use crate::{driver::BACKEND, event::CudaEvent, memory::CudaBuffer};

// SAFETY: the address space is one for the process, and the driver lets a stream wait for events of
// any context of it (cuda.h, `cuStreamWaitEvent`). Copies are enqueued on the stream like any
// other; they reach only memory that the two calls of `reach_into` opened.
unsafe impl PeerAccess for CudaDevice {
    fn can_access_peer(&self, peer: &Self) -> Result<bool> {
        let (here, there) = (self.context(), peer.context());
        let one_driver = Arc::ptr_eq(self.driver(), peer.driver());
        Ok(Arc::ptr_eq(here, there) || one_driver && here.can_reach(there)?)
    }

    fn enable_peer_access(&self, peer: &Self) -> Result<()> {
        if self.reaches_peer(peer) {
            return Ok(());
        }
        if !self.can_access_peer(peer)? {
            let (operation, capability) = ("enable_peer_access", Capability::PeerAccess);
            return Err(Error::Unsupported { backend: BACKEND, operation, capability });
        }
        self.context().reach_into(peer.context())?;
        self.open.peers.insert(peer.context());
        Ok(())
    }

    fn reaches_peer(&self, peer: &Self) -> bool {
        Arc::ptr_eq(self.context(), peer.context()) || self.open.peers.has(peer.context())
    }

    fn copy_from_peer(&self, stream: &CudaStream, op: &CopyOp<'_, CudaBuffer>) -> Result<()> {
        let (plan, dst, src) = (op.plan(), op.dst(), op.src());
        let linear = matches!(plan.class(), Class::Linear);
        if !linear || Arc::ptr_eq(dst.context(), src.context()) {
            return stream.raw.copy("copy_from_peer", op);
        }
        let to = dst.address() + plan.dst_offset_bytes() as u64;
        let from = src.address() + plan.src_offset_bytes() as u64;
        let (to_context, from_context) = (dst.context().raw(), src.context().raw());
        stream.raw.enqueue("copy_from_peer", |driver, raw| {
            // SAFETY: core made the plan for these buffers, alive in stream order, each of the
            // context named with it.
            unsafe { driver.memcpy_peer_async(to, to_context, from, from_context, plan.len_bytes(), raw) }
        })
    }

    fn wait_for_peer(&self, stream: &CudaStream, event: &CudaEvent) -> Result<()> {
        let operation = "wait_for_peer";
        for other in [stream.context(), event.context()] {
            self.context().check_driver(operation, other)?;
        }
        stream.raw.wait_on(operation, event.raw())
    }
}
