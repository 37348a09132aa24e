//! The simulator: other code sees its memory as host memory.
#![allow(unsafe_code)] // vouches for the contract of a door

use std::ffi::c_void;

use devarray::{ErasedView, Result, backend::DeclaredAccess};
use devarray_mock::{MockDevice, MockEvent, MockStream};

use crate::{Door, device::DeviceId};

// SAFETY: the simulator tells at which host address its memory lies, from the allocation to the
// free; there are no events.
unsafe impl Door for MockDevice {
    fn id(&self) -> DeviceId {
        DeviceId::new(DeviceId::CPU, 0)
    }

    fn reaches(&self, other: DeviceId) -> bool {
        matches!(other.device_type, DeviceId::CPU | DeviceId::CUDA_HOST | DeviceId::CUDA_MANAGED)
    }

    fn is_host(&self) -> bool {
        true
    }

    fn address_outside(&self, address: u64) -> Option<u64> {
        self.host_address(address)
    }

    #[track_caller]
    fn lend_to_host(&self, elements: &ErasedView<'_, Self>, write: bool) {
        if let Some(buffer) = elements.buffer() {
            let access = DeclaredAccess::new(buffer, elements.layout(), elements.item_bytes(), write);
            Self::lend_to_host(self, &access);
        }
    }

    fn finish(&self) -> Result<()> {
        Self::finish(self);
        Ok(())
    }

    fn stream_number(_: &MockStream) -> Option<u64> {
        None
    }

    fn event_handle(_: &MockEvent) -> Option<*mut c_void> {
        None
    }

    unsafe fn wait_for_event(_: &MockStream, _: *mut c_void) -> Result<()> {
        // The host's own work runs in the order of the program.
        Ok(())
    }
}
