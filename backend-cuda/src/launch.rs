//! Kernels of the program's own: images loaded on first use, launched with their parameters by
//! value.
#![allow(unsafe_code)] // vouches for the contract of the trait, and launches

#[cfg(feature = "cudarc")]
mod cudarc_function;
mod images;
mod ptx;
mod ready;

use std::ptr;

use devarray::{
    Error, Result,
    backend::{Launch, LaunchOp, Parameter},
    kernel::Grid,
};
use smallvec::SmallVec;

pub(crate) use images::Images;
use ready::Ready;

use crate::{
    BACKEND, CudaDevice, CudaStream,
    context::Context,
    driver::{Answer, Driver, LaunchAttribute, LaunchConfig, sys},
    memory::CudaBuffer,
};

/// Most parameters, and most numbers among them, that need no memory of the heap.
const INLINE: usize = 24;

// SAFETY: the launch is enqueued on the stream, which runs its work in order. The entry is given
// the addresses of the arguments' elements; what it does with them is what the declaration vouches
// for.
unsafe impl Launch for CudaDevice {
    fn launch(&self, stream: &CudaStream, op: &LaunchOp<'_, CudaBuffer>) -> Result<()> {
        let (context, name) = (self.context(), op.declaration().name());
        let driver = context.bind().map_err(|failure| context.error(name, failure))?;
        let kernel = context.images().kernel(context, driver, op.declaration())?;
        kernel.admit(context, driver, op)?;
        let mut numbers: SmallVec<[u64; INLINE]> = SmallVec::new();
        let mut values: SmallVec<[Option<*const u8>; INLINE]> = SmallVec::new();
        op.each_parameter(|parameter| match parameter {
            Parameter::Number(number) => {
                numbers.push(number);
                values.push(None);
            }
            Parameter::Value(bytes) => values.push(Some(bytes.as_ptr())),
        });
        // The numbers stay where they are from now on.
        let mut numbers = numbers.iter();
        let mut parameters: SmallVec<[*mut std::ffi::c_void; INLINE]> = values
            .iter()
            .map(|value| match value {
                Some(value) => value.cast_mut().cast(),
                None => {
                    numbers.next().map_or(ptr::null_mut(), |number| ptr::from_ref(number).cast_mut().cast())
                }
            })
            .collect();
        enqueue(driver, stream.handle(), &kernel, op.grid(), &mut parameters)
            .map_err(|failure| context.error(name, failure))
    }
}

/// Launches, in the way that the grid asks for.
fn enqueue(
    driver: &Driver,
    stream: sys::CUstream,
    kernel: &Ready,
    grid: &Grid,
    parameters: &mut [*mut std::ffi::c_void],
) -> Answer {
    let (blocks, threads) = (grid.blocks(), grid.threads());
    // `admit` let no more pass than there is.
    let shared_bytes = u32::try_from(grid.dynamic_shared_bytes()).unwrap_or(u32::MAX);
    let mut attributes: SmallVec<[LaunchAttribute; 2]> = SmallVec::new();
    attributes.extend(grid.is_cooperative().then_some(LaunchAttribute::COOPERATIVE));
    attributes.extend(grid.cluster_blocks().map(LaunchAttribute::cluster));
    if attributes.is_empty() {
        // SAFETY: the parameters are as many, and as large, as the entry's, as far as the driver
        // tells, and otherwise as the declaration vouches; the driver copies them before it
        // returns. Stream and function are of one context, and the function stays loaded until the
        // context is closed.
        return unsafe {
            driver.launch_kernel(
                kernel.function(),
                blocks[0],
                blocks[1],
                blocks[2],
                threads[0],
                threads[1],
                threads[2],
                shared_bytes,
                stream,
                parameters.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
    }
    let config = LaunchConfig {
        grid: blocks,
        block: threads,
        shared_bytes,
        stream,
        attributes: attributes.as_ptr(),
        attribute_count: u32::from(grid.is_cooperative()) + u32::from(grid.cluster_blocks().is_some()),
    };
    // SAFETY: as above; configuration and attributes are locals that the driver reads before it
    // returns.
    unsafe {
        driver.launch_kernel_ex(
            &raw const config,
            kernel.function(),
            parameters.as_mut_ptr(),
            ptr::null_mut(),
        )
    }
}

/// The error of a kernel that is not launched.
fn refused(name: &'static str, error: devarray::kernel::KernelError) -> Error {
    Error::Kernel { backend: BACKEND, kernel: name, error }
}

impl CudaDevice {
    /// How many images of kernels are loaded on this device. Does not synchronize.
    #[must_use]
    pub fn loaded_images(&self) -> usize {
        self.context().images().len()
    }
}

/// What the driver says of a function, or the error of the operation.
fn attribute(
    context: &Context,
    driver: &Driver,
    name: &'static str,
    function: sys::CUfunction,
    attribute: u32,
) -> Result<usize> {
    let mut value = 0;
    // SAFETY: the pointer is to a local of the right type; the function is loaded, and its context
    // bound.
    unsafe { driver.func_get_attribute(&raw mut value, attribute, function) }
        .map_err(|failure| context.error(name, failure))?;
    Ok(usize::try_from(value).unwrap_or(0))
}
