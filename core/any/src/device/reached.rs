//! Memory that host code uses in place, if the device's memory is host memory.
#![allow(unsafe_code)] // implements an unsafe trait by forwarding; performs no unsafe operation

use std::ptr::NonNull;

use devarray::backend::HostReachable;

use super::AnyDevice;
use crate::AnyBuffer;

/// The CPU returns its buffers; the other devices have none that the host reaches.
// SAFETY: forwards to a device whose implementor vouches for it, or returns none.
unsafe impl HostReachable for AnyDevice {
    #[inline]
    fn host_address(&self, buffer: &AnyBuffer) -> Option<NonNull<u8>> {
        #[allow(unreachable_patterns)] // if there is one backend
        match (self, buffer.one()) {
            #[cfg(feature = "host")]
            (Self::Host(device), crate::buffer::BufferRef::Host(buffer)) => device.host_address(buffer),
            _ => None,
        }
    }
}
