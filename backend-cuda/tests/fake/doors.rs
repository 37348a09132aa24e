//! A program that uses every driver function of the doors to other code.
#![allow(unsafe_code)] // stands for other code

use devarray::{Array, Context, Result, StreamHandle};
use devarray_cuda::CudaDevice;

/// One step after another, each checked.
pub(crate) fn program(context: &Context<CudaDevice>, stream: &StreamHandle<CudaDevice>) -> Result<()> {
    adopted(context, stream)
}

/// Memory that is lent to a second array.
fn adopted(_: &Context<CudaDevice>, stream: &StreamHandle<CudaDevice>) -> Result<()> {
    let array = Array::from_slice(stream, &[3], &[1_u32, 2, 3])?;
    // SAFETY: the memory outlives the second array, which is read only, and used on one stream.
    let again = unsafe { Array::<u32, _>::adopt(stream, array.view().address(), array.layout(), ()) }?;
    assert_eq!(again.to_vec(stream)?, [1, 2, 3]);
    Ok(())
}
