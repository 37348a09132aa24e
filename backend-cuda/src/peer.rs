//! Memory of other devices that a device reaches.
#![allow(unsafe_code)] // calls the driver with two contexts that are alive

use std::{
    ffi::c_int,
    sync::{Arc, Mutex, Weak},
};

use devarray::Result;

use crate::{
    context::Context,
    driver::{Failure, MemAccess},
    handle::locked,
};

/// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`: by other code of the process.
const ALREADY_ENABLED: Failure = Failure::Code(704);

/// The contexts whose memory another reaches.
#[derive(Debug, Default)]
pub(crate) struct Peers(Mutex<Vec<Weak<Context>>>);

impl Peers {
    pub(crate) fn has(&self, peer: &Arc<Context>) -> bool {
        locked(&self.0).iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(peer)))
    }

    pub(crate) fn insert(&self, peer: &Arc<Context>) {
        let mut peers = locked(&self.0);
        peers.retain(|known| known.strong_count() > 0);
        peers.push(Arc::downgrade(peer));
    }
}

impl Context {
    /// Lets kernels and copies of this context reach the memory of another context, in two calls: one for
    /// memory outside the pool, one for the pool, which has its own list of devices with access (CUDA
    /// C++ Programming Guide, "Stream Ordered Memory Allocator", "Peer Access"). If one of the two
    /// calls fails, the effect of the other stays, and harms nobody.
    pub(crate) fn reach_into(&self, peer: &Arc<Self>) -> Result<()> {
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
        })
    }

    pub(crate) fn can_reach(&self, peer: &Self) -> Result<bool> {
        let mut can: c_int = 0;
        self.call("can_access_peer", |driver| {
            // SAFETY: the pointer is to a local of the right type; both devices were named by the
            // driver.
            unsafe { driver.device_can_access_peer(&raw mut can, self.device(), peer.device()) }
        })?;
        Ok(can != 0)
    }
}
