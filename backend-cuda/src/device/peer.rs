//! Memory of other devices of this machine.
#![allow(unsafe_code)] // calls the driver with two contexts that are alive

use std::{
    ffi::c_int,
    sync::{Arc, Mutex, Weak},
};

use devarray::{
    Error, Result,
    backend::{Buffer, Capability, CopyOp, PeerAccess},
    copy::Class,
};

use crate::{
    BACKEND,
    context::Context,
    device::CudaDevice,
    driver::{Failure, MemAccess},
    event::CudaEvent,
    handle::locked,
    memory::CudaBuffer,
    stream::CudaStream,
};

/// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`: by other code of the process.
const ALREADY_ENABLED: Failure = Failure::Code(704);

/// The contexts whose memory another reaches.
#[derive(Debug, Default)]
pub(crate) struct Peers(Mutex<Vec<Weak<Context>>>);

impl Peers {
    fn has(&self, peer: &Arc<Context>) -> bool {
        locked(&self.0).iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(peer)))
    }

    fn insert(&self, peer: &Arc<Context>) {
        let mut peers = locked(&self.0);
        peers.retain(|known| known.strong_count() > 0);
        peers.push(Arc::downgrade(peer));
    }
}

impl Context {
    /// Lets kernels and copies of this context reach the memory of another: what the driver
    /// allocates there by itself, and what comes from the pool, which keeps a list of its own (CUDA
    /// C++ Programming Guide, "Stream Ordered Memory Allocator", "Peer Access"). If one of the two
    /// calls fails, the effect of the other stays, and harms nobody.
    fn reach_into(&self, peer: &Arc<Self>) -> Result<()> {
        let operation = "enable_peer_access";
        self.call(operation, |driver| {
            // SAFETY: this context is bound and the other is alive.
            match unsafe { driver.ctx_enable_peer_access(peer.raw(), 0) } {
                Err(ALREADY_ENABLED) => Ok(()),
                answer => answer,
            }
        })?;
        let access = MemAccess::read_write(self.device());
        self.call(operation, |driver| {
            // SAFETY: the pool is the other device's own; the pointer is to one local of the right
            // type.
            unsafe { driver.mem_pool_set_access(peer.pool().raw(), &raw const access, 1) }
        })?;
        self.peers.insert(peer);
        Ok(())
    }

    fn can_reach(&self, peer: &Self) -> Result<bool> {
        let mut can: c_int = 0;
        self.call("can_access_peer", |driver| {
            // SAFETY: the pointer is to a local of the right type; both devices were named by the
            // driver.
            unsafe { driver.device_can_access_peer(&raw mut can, self.device(), peer.device()) }
        })?;
        Ok(can != 0)
    }
}

// SAFETY: the address space is one for the process, and the driver lets a stream wait for events of
// any context of it (cuda.h, `cuStreamWaitEvent`). Copies are enqueued on the stream as any other;
// they reach what both calls of `reach_into` opened.
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
        self.context().reach_into(peer.context())
    }

    fn reaches_peer(&self, peer: &Self) -> bool {
        Arc::ptr_eq(self.context(), peer.context()) || self.context().peers.has(peer.context())
    }

    fn copy_from_peer(&self, stream: &CudaStream, op: &CopyOp<'_, CudaBuffer>) -> Result<()> {
        let (plan, dst, src) = (op.plan(), op.dst(), op.src());
        let linear = matches!(plan.class(), Class::Linear);
        if !linear || Arc::ptr_eq(dst.context(), src.context()) {
            return stream.copy_reachable("copy_from_peer", op);
        }
        let to = dst.address() + plan.dst_offset_bytes() as u64;
        let from = src.address() + plan.src_offset_bytes() as u64;
        let (to_context, from_context) = (dst.context().raw(), src.context().raw());
        stream.enqueue("copy_from_peer", |driver, raw| {
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
        stream.wait_on(operation, event.raw())
    }
}
