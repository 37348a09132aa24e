//! Functions, reductions and gathers, on the streams of a device.
#![allow(unsafe_code)] // vouches for the contract of the trait

use devarray::{
    Result,
    backend::{Capability, Compute, GatherOp, MapOp, ReduceOp},
};

use super::{CudaDevice, CudaStream};
use crate::{
    function::{Computing, FunctionStatistics},
    gather,
    memory::CudaBuffer,
};

// SAFETY: the launches are enqueued on the stream, which runs them in order. They compute every
// element of the result once: tests run the text thread by thread on random layouts. They read
// elements of the inputs and gaps inside their rows, and write the elements of the result and no
// other byte.
unsafe impl Compute for CudaDevice {
    fn map(&self, stream: &CudaStream, op: &MapOp<'_, CudaBuffer>) -> Result<()> {
        self.computing(stream).map(op)
    }

    fn reduce(&self, stream: &CudaStream, op: &ReduceOp<'_, CudaBuffer>) -> Result<()> {
        self.computing(stream).reduce(op)
    }

    fn reduce_twice(
        &self,
        stream: &CudaStream,
        first: &ReduceOp<'_, CudaBuffer>,
        second: &ReduceOp<'_, CudaBuffer>,
    ) -> Result<()> {
        self.computing(stream).reduce_twice(first, second)
    }

    fn normalize(
        &self,
        stream: &CudaStream,
        reductions: [&ReduceOp<'_, CudaBuffer>; 2],
        last: &MapOp<'_, CudaBuffer>,
    ) -> Result<()> {
        self.computing(stream).normalize(reductions, last)
    }

    fn gather(&self, stream: &CudaStream, op: &GatherOp<'_, CudaBuffer>) -> Result<()> {
        self.check("gather", Capability::Gathers)?;
        gather::enqueue(&self.open.gathers, self.context(), &stream.raw, op)
    }
}

impl CudaDevice {
    fn computing<'a>(&'a self, stream: &'a CudaStream) -> Computing<'a> {
        self.open.functions.computing(self.context(), &stream.raw, &stream.computed)
    }

    /// How often functions were compiled for this device, and found again. Does not synchronize.
    #[must_use]
    pub fn function_statistics(&self) -> FunctionStatistics {
        self.open.functions.statistics()
    }
}
