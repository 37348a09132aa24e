//! The program's own kernels, run by their host functions.
#![allow(unsafe_code)] // implements an unsafe trait; performs no unsafe operation

use devarray::{
    Result,
    backend::{Capability, Launch, LaunchArgument, LaunchOp},
};

use super::{MockDevice, buffer::MockBuffer, stream::MockStream};
use crate::{
    engine::{LaunchedKernel, Work},
    fault::Site,
};

// SAFETY: the operation goes to the end of the stream's lane, like every other; the host function
// gets copies of the elements of the arguments, and the elements that it may write are copied back.
unsafe impl Launch for MockDevice {
    #[track_caller]
    fn launch(&self, stream: &MockStream, op: &LaunchOp<'_, MockBuffer>) -> Result<()> {
        let kernel = op.declaration().name();
        self.check(kernel, Capability::Kernels)?;
        let buffers: Vec<&MockBuffer> = op.arguments().iter().filter_map(buffer).collect();
        let work = Work::Launch(Box::new(LaunchedKernel::of(op, devarray::backend::call_location())));
        stream.enqueue(Site::Launch, kernel, op.is_checked(), &buffers, work)
    }
}

fn buffer<'a>(argument: &LaunchArgument<'a, MockBuffer>) -> Option<&'a MockBuffer> {
    match argument {
        LaunchArgument::Elements { buffer, .. } => *buffer,
        LaunchArgument::Value(_) => None,
    }
}
