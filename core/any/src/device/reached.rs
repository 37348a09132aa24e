//! Memory in place, where it is memory of the host.
#![allow(unsafe_code)] // implements an unsafe trait by forwarding; performs no unsafe operation

use std::ptr::NonNull;

use devarray::backend::HostReachable;

use super::AnyDevice;
use crate::AnyBuffer;

/// The CPU answers its buffers; the others have none that the host reaches.
// SAFETY: forwards to a device whose implementor vouches for it, or answers none.
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
