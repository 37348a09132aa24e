//! Kernels of the program's own: images loaded on first use, launched with their parameters by
//! value.
#![allow(unsafe_code)] // vouches for the contract of the trait, and launches

use std::{ffi::c_void, ptr};

use devarray::{
    Result,
    backend::{Launch, LaunchOp, Parameter},
};
use smallvec::SmallVec;

use crate::{CudaDevice, CudaStream, driver::LaunchAttribute, memory::CudaBuffer};

/// Most parameters that need no memory of the heap.
const INLINE: usize = 24;

// SAFETY: the launch is enqueued on the stream, which runs its work in order. The entry is given
// the addresses of the arguments' elements; what it does with them is what the declaration vouches
// for.
unsafe impl Launch for CudaDevice {
    fn launch(&self, stream: &CudaStream, op: &LaunchOp<'_, CudaBuffer>) -> Result<()> {
        let (context, name) = (self.context(), op.declaration().name());
        let driver = context.bound(name)?;
        let kernel = context.images.kernel(context, op.declaration())?;
        kernel.admit(context, op)?;
        let mut arguments: SmallVec<[Parameter<'_>; INLINE]> = SmallVec::new();
        op.each_parameter(|parameter| arguments.push(parameter));
        // They stay where they are from now on.
        let address = |parameter: &Parameter<'_>| match parameter {
            Parameter::Number(number) => ptr::from_ref(number).cast_mut().cast(),
            Parameter::Value(bytes) => bytes.as_ptr().cast_mut().cast(),
        };
        let mut parameters: SmallVec<[*mut c_void; INLINE]> = arguments.iter().map(address).collect();
        let grid = op.grid();
        // `admit` let no more pass than there is.
        let shared_bytes = u32::try_from(grid.dynamic_shared_bytes()).unwrap_or(u32::MAX);
        let shape = (grid.blocks(), grid.threads(), shared_bytes);
        let mut attributes: SmallVec<[LaunchAttribute; 2]> = SmallVec::new();
        attributes.extend(grid.is_cooperative().then_some(LaunchAttribute::COOPERATIVE));
        attributes.extend(grid.cluster_blocks().map(LaunchAttribute::cluster));
        // SAFETY: the parameters are as many, and as large, as the entry's, as far as the driver
        // tells, and otherwise as the declaration vouches. Stream and function are of one context,
        // and the function stays loaded until the context is closed.
        unsafe { driver.launch_with(stream.handle(), kernel.function(), shape, &attributes, &mut parameters) }
            .map_err(|failure| context.error(name, failure))
    }
}

impl CudaDevice {
    /// How many images of kernels are loaded on this device. Does not synchronize.
    #[must_use]
    pub fn loaded_images(&self) -> usize {
        self.context().images.len()
    }
}
