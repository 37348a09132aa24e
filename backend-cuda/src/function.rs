//! Functions. The program and the kind of layouts decide a PTX text, which the driver compiles; the
//! compiled kernel is kept.
//!
//! | family | takes | idea |
//! |---|---|---|
//! | lines | flat arrays, rows, broadcast rows and columns, pixels of a few channels; everything else one by one | a thread computes elements side by side, with accesses of up to 16 bytes |
//! | tiles | inputs that are fastest along another axis than the result | those go through shared memory |
//!
//! [`problem`] brings the operands to few axes; [`lines`] and [`tiles`] choose a
//! [`class`](class::Class). Program and class decide the text. Addresses, extents, strides and
//! scalars are in the kernel's parameter.
#![allow(unsafe_code)] // vouches for the contract of the trait

mod access;
mod axes;
mod body;
mod cache;
mod class;
mod fetch;
mod index;
mod launch;
mod lines;
mod modules;
mod problem;
mod products;
mod quick;
mod recent;
mod reduce;
mod regions;
mod shipped;
mod text;
mod tiles;
mod truth;

use devarray::{
    Result,
    backend::{Buffer, Capability, Compute, GatherOp, MapOp, ReduceOp},
};

pub(crate) use fetch::fetch;
pub use modules::FunctionStatistics;
pub(crate) use modules::Functions;
pub(crate) use recent::Recent;

use crate::{CudaDevice, CudaStream, driver::INVALID_VALUE, gather, memory::CudaBuffer};
use problem::Problem;

// SAFETY: the launches are enqueued on the stream, which runs them in order. They compute every
// element of the result once: tests run the text thread by thread on random layouts. They read
// elements of the inputs and gaps inside their rows, and write the elements of the result and no
// other byte.
unsafe impl Compute for CudaDevice {
    fn map(&self, stream: &CudaStream, op: &MapOp<'_, CudaBuffer>) -> Result<()> {
        let context = self.context();
        let driver = context.bound("map")?;
        let (functions, (raw, mut recent)) = (&context.functions, stream.computing());
        if let Some(prepared) = recent.map(op) {
            return functions
                .launch(driver, raw, &prepared.loaded, (prepared.grid, 0), &prepared.parameter)
                .map_err(|failure| context.error("map", failure));
        }
        let problem = Problem::new(op.program(), |input| {
            let operand = match input {
                None => op.result(),
                Some(at) => op.inputs().get(at)?,
            };
            Some((operand.buffer().address(), operand.layout()))
        });
        let invalid = || context.error("map", INVALID_VALUE);
        let problem = problem.ok_or_else(invalid)?;
        let elements = problem.elements();
        problem.parts(op.scalars().len(), &mut |part| {
            let launch = launch::choose(op.program(), part, op.scalars()).ok_or_else(invalid)?;
            let loaded = functions.kernel(context, driver, op.program(), &launch.class)?;
            functions
                .launch(driver, raw, &loaded, (launch.grid, 0), &launch.parameter)
                .map_err(|failure| context.error("map", failure))?;
            if part.elements() == elements {
                recent.keep_map(op, (part.kinds.clone(), loaded, launch.grid, launch.parameter));
            }
            Ok(())
        })
    }

    fn reduce(&self, stream: &CudaStream, op: &ReduceOp<'_, CudaBuffer>) -> Result<()> {
        reduce::reduce(self.context(), stream, op)
    }

    fn reduce_twice(
        &self,
        stream: &CudaStream,
        first: &ReduceOp<'_, CudaBuffer>,
        second: &ReduceOp<'_, CudaBuffer>,
    ) -> Result<()> {
        if reduce::reduce_twice(self.context(), stream, [first, second], None)? {
            return Ok(());
        }
        self.reduce(stream, first)?;
        self.reduce(stream, second)
    }

    fn normalize(
        &self,
        stream: &CudaStream,
        reductions: [&ReduceOp<'_, CudaBuffer>; 2],
        last: &MapOp<'_, CudaBuffer>,
    ) -> Result<()> {
        if reduce::reduce_twice(self.context(), stream, reductions, Some(last))? {
            return Ok(());
        }
        let [first, second] = reductions;
        self.reduce_twice(stream, first, second)?;
        self.map(stream, last)
    }

    fn gather(&self, stream: &CudaStream, op: &GatherOp<'_, CudaBuffer>) -> Result<()> {
        self.check("gather", Capability::Gathers)?;
        gather::enqueue(self.context(), stream, op)
    }
}

impl CudaDevice {
    /// How often functions were compiled for this device, and found again. Does not synchronize.
    #[must_use]
    pub fn function_statistics(&self) -> FunctionStatistics {
        self.context().functions.statistics()
    }
}
