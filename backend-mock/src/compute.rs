//! Functions on simulated memory.
#![allow(unsafe_code)] // implements an unsafe trait; performs no unsafe operation

use devarray::{
    Result,
    backend::{Compute, MapOp},
};

use crate::{
    buffer::MockBuffer,
    device::MockDevice,
    engine::{Map, Work},
    fault::Site,
    stream::MockStream,
};

// SAFETY: the operation goes to the end of the stream's lane, as every other; the interpreter touches the elements of the
// operands and no other byte.
unsafe impl Compute for MockDevice {
    #[track_caller]
    fn map(&self, stream: &MockStream, op: &MapOp<'_, MockBuffer>) -> Result<()> {
        let mut buffers: Vec<&MockBuffer> = op.inputs().iter().map(|input| input.buffer()).collect();
        buffers.push(op.result().buffer());
        stream.enqueue(Site::Map, "map", &buffers, Work::Map(Box::new(Map::new(op))))
    }
}
