//! The program's own kernels, on the streams of a device.
#![allow(unsafe_code)] // vouches for the contract of the trait

use devarray::{
    Result,
    backend::{Launch, LaunchOp},
};

use super::{CudaDevice, CudaStream};
use crate::memory::CudaBuffer;

// SAFETY: the launch is enqueued on the stream, which runs its work in order. The entry gets the
// addresses of the arguments' elements; the declaration vouches for what it does with them.
unsafe impl Launch for CudaDevice {
    fn launch(&self, stream: &CudaStream, op: &LaunchOp<'_, CudaBuffer>) -> Result<()> {
        self.open.images.launch(self.context(), stream.raw.raw(), op)
    }
}

impl CudaDevice {
    /// The number of kernels' images that are loaded on this device. Does not synchronize.
    #[must_use]
    pub fn loaded_images(&self) -> usize {
        self.open.images.len()
    }
}
