//! A program that uses every driver function of the doors to other code.
#![allow(unsafe_code)] // stands for other code

use devarray::{
    Array, Context, Result, StreamHandle,
    ipc::{RemoteArray, RemoteEvent},
};
use devarray_cuda::CudaDevice;

use super::ipc::of_another_process;

/// One step after another, each checked.
pub(crate) fn program(context: &Context<CudaDevice>, stream: &StreamHandle<CudaDevice>) -> Result<()> {
    adopted(context, stream)?;
    peers(context, stream)?;
    processes(stream)?;
    constants(context, stream)
}

/// Memory that is lent to a second array.
fn adopted(_: &Context<CudaDevice>, stream: &StreamHandle<CudaDevice>) -> Result<()> {
    let array = Array::from_slice(stream, &[3], &[1_u32, 2, 3])?;
    // SAFETY: the memory outlives the second array, which is read only, and used on one stream.
    let again = unsafe { Array::<u32, _>::adopt(stream, array.view().address(), array.layout(), ()) }?;
    assert_eq!(again.to_vec(stream)?, [1, 2, 3]);
    Ok(())
}

/// Elements of the second device, in place.
fn peers(context: &Context<CudaDevice>, stream: &StreamHandle<CudaDevice>) -> Result<()> {
    let peer = Context::new(CudaDevice::open_with(context.device().driver(), 1)?)?;
    let copied = copied(context, stream, &peer);
    // Errors of drops, too.
    copied.and(peer.take_errors().pop().map_or(Ok(()), Err))
}

fn copied(
    context: &Context<CudaDevice>,
    stream: &StreamHandle<CudaDevice>,
    peer: &Context<CudaDevice>,
) -> Result<()> {
    let there = peer.stream()?;
    let source = Array::from_slice(&there, &[3], &[4_u32, 5, 6])?;
    let mut target = Array::<u32, _>::zeros(stream, &[3])?;
    context.enable_peer_access(peer)?;
    target.view_mut().copy_from_peer(stream, &there, &source.view())?;
    assert_eq!(target.to_vec(stream)?, [4, 5, 6]);
    // Leaves no staging memory busy: a context that closes tells nobody of a wait that fails.
    assert_eq!(source.to_vec(&there)?, [4, 5, 6]);
    Ok(())
}

/// Memory and an event that are exported, and opened as if by another process.
fn processes(stream: &StreamHandle<CudaDevice>) -> Result<()> {
    let array = Array::<u32, _>::zeros_exportable(stream, &[3])?;
    let (exported, event) = (array.export(stream)?, stream.record_exported()?);
    let remote = RemoteArray::from_bytes(&of_another_process(exported.array().to_bytes())).unwrap();
    let later = RemoteEvent::from_bytes(&of_another_process(event.event().to_bytes())).unwrap();
    // SAFETY: both are exported until the end.
    let opened = unsafe { Array::<u32, _>::open(stream, &remote) }?;
    // SAFETY: as above.
    unsafe { stream.wait_exported(&later) }?;
    assert_eq!(opened.to_vec(stream)?, [0; 3]);
    Ok(())
}

/// A variable of a module.
fn constants(context: &Context<CudaDevice>, stream: &StreamHandle<CudaDevice>) -> Result<()> {
    // SAFETY: a whole image.
    let module = unsafe { context.load_module(super::symbols::IMAGE) }?;
    let mut scale = module.symbol::<u32>("scale")?;
    scale.write(stream, 1, &[7, 8])?;
    assert_eq!(scale.to_vec(stream)?, [0, 7, 8, 0]);
    Ok(())
}
