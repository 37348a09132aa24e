//! One launch of a kernel, with its parameters by value.
#![allow(unsafe_code)] // launches

use std::{ffi::c_void, ptr};

use devarray::{
    Result,
    backend::{LaunchOp, Parameter},
};
use smallvec::SmallVec;

use super::Images;
use crate::{
    context::Context,
    driver::{LaunchAttribute, sys},
    memory::CudaBuffer,
};

/// Most parameters that need no memory of the heap.
const INLINE: usize = 24;

impl Images {
    /// Launches the kernel of a declaration on a stream of the context. Loads its image if need be,
    /// and waits for that.
    pub(crate) fn launch(
        &self,
        context: &Context,
        stream: sys::CUstream,
        op: &LaunchOp<'_, CudaBuffer>,
    ) -> Result<()> {
        let name = op.declaration().name();
        let driver = context.bound(name)?;
        let kernel = self.kernel(context, op.declaration())?;
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
        unsafe { driver.launch_with(stream, kernel.function(), shape, &attributes, &mut parameters) }
            .map_err(|failure| context.error(name, failure))
    }
}
