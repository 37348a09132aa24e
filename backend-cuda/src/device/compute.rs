//! Functions, reductions and gathers, on the streams of a device.
#![allow(unsafe_code)] // vouches for the contracts of the traits

use devarray::{
    Result,
    backend::{
        Capability, FreeOp, FusedOp, Fuses, GatherOp, Gathers, MapOp, Maps, OrderOp, Orders, ProductOp,
        Products, ReduceOp, Reduces,
    },
    gather::{Finished, IndexError},
};

use super::{CudaDevice, CudaStream};
use crate::{
    fast_product,
    function::{Computing, FunctionStatistics},
    gather,
    memory::CudaBuffer,
    order, product,
};

// SAFETY: the launches are enqueued on the stream, which runs them in order. They compute every
// element of the result once: tests run the text thread by thread on random layouts. They read
// elements of the inputs and gaps inside their rows, and write the elements of the result and no
// other byte.
unsafe impl Maps for CudaDevice {
    fn map(&self, stream: &CudaStream, op: &MapOp<'_, CudaBuffer>) -> Result<()> {
        self.computing(stream).map(op)
    }
}

// SAFETY: as for functions.
unsafe impl Reduces for CudaDevice {
    fn reduce(&self, stream: &CudaStream, op: &ReduceOp<'_, CudaBuffer>) -> Result<()> {
        self.computing(stream).reduce(op)
    }
}

// SAFETY: as for functions; a launch that computes all passes gives the results that the passes
// would.
unsafe impl Fuses for CudaDevice {
    fn fuse(&self, stream: &CudaStream, op: &FusedOp<'_, CudaBuffer>) -> Result<()> {
        let fuse = |last| self.computing(stream).fuse(op.reductions(), last);
        if fuse(op.last())? {
            return Ok(());
        }
        stream.raw.enqueue_or_wait("reduce", |_| match op.last() {
            Some(last) if fuse(None)? => self.map(stream, last),
            _ => op.one_by_one(self, stream),
        })
    }
}

// SAFETY: as for functions.
unsafe impl Gathers for CudaDevice {
    fn gather(&self, stream: &CudaStream, op: &GatherOp<'_, CudaBuffer>) -> Result<()> {
        self.check("gather", Capability::Gathers)?;
        gather::enqueue(&self.open.gathers, self.context(), &stream.raw, op)
    }

    fn take_index_error(&self, gather: Finished) -> Option<IndexError> {
        self.open.gathers.index_reports.take(gather.number())
    }
}

impl CudaDevice {
    pub(super) fn computing<'a>(&'a self, stream: &'a CudaStream) -> Computing<'a> {
        self.open.functions.computing(self.context(), &stream.raw, &stream.computed)
    }

    /// Counts of functions that were compiled for this device, or found in its cache. Does not
    /// synchronize.
    #[must_use]
    pub fn function_statistics(&self) -> FunctionStatistics {
        self.open.functions.statistics()
    }
}

// SAFETY: as for functions: a thread computes elements of its own, and reads inside the operands.
unsafe impl Products for CudaDevice {
    fn product(&self, stream: &CudaStream, op: &ProductOp<'_, CudaBuffer>) -> Result<()> {
        self.check("matmul", Capability::Products)?;
        let is_plain = op.function().is_none() && !op.is_onto();
        let may_be_fast = op.precision().differs(op.element_type()) && is_plain;
        if may_be_fast && fast_product::enqueue(&self.open.fast_products, self.context(), &stream.raw, op)? {
            return Ok(());
        }
        if product::enqueue(&self.open.products, self.computing(stream), op)? {
            return Ok(());
        }
        let between = op.between_len_bytes().map(|len_bytes| stream.raw.alloc(len_bytes)).transpose()?;
        let done = stream.raw.enqueue_or_wait("matmul", |_| {
            // SAFETY: memory of the length that it asks for, which is freed behind the function.
            unsafe { op.one_by_one(self, stream, between.as_ref()) }
        });
        if let Some(buffer) = between {
            // SAFETY: allocated above in this stream; everything that uses it is earlier in the stream.
            let freed = stream.raw.free(unsafe { FreeOp::new_unchecked(buffer) });
            // Returning this error would say that nothing was enqueued, so it is only reported.
            freed.unwrap_or_else(|error| self.context().driver().report(error));
        }
        done
    }
}

// SAFETY: as for functions. Bytes that a call writes beside its results are in memory that belongs
// to it.
unsafe impl Orders for CudaDevice {
    fn order(&self, stream: &CudaStream, op: &OrderOp<'_, CudaBuffer>) -> Result<()> {
        self.check(op.call().name(), Capability::Orders)?;
        order::enqueue((&self.open.orders, &self.open.gathers), self.context(), &stream.raw, op)
    }
}
