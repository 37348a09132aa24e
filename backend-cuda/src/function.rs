//! Computes functions. The program and the kind of layouts determine a PTX text, which the driver
//! compiles; the compiled kernel is kept.
//!
//! | family | takes | idea |
//! |---|---|---|
//! | lines | flat arrays, rows, broadcast rows and columns, pixels of a few channels; everything else one by one | a thread computes elements side by side, with accesses of up to 16 bytes |
//! | tiles | inputs that are fastest along another axis than the result | those go through shared memory |
//!
//! [`operands`] reduces the operands to few axes; [`lines`] and [`tiles`] choose a
//! [`class`](class::Class). Program and class determine the text. Addresses, extents, strides and
//! scalars are in the kernel's parameter.

mod access;
mod axes;
mod body;
mod class;
mod computing;
mod families;
mod fetch;
mod follow;
mod follow_text;
mod index;
mod kernel_cache;
mod lines;
mod modules;
mod operands;
mod parameter;
mod prepared;
mod product_kernel;
mod products;
mod reduce;
mod regions;
mod shared_divisor;
mod shipped;
mod text;
mod tiles;
mod truth;

use devarray::{
    Layout, Result,
    backend::{Buffer, MapOp, ReduceOp},
    function::primitive::Program,
    layout::Order,
};

pub(crate) use computing::{Computing, StreamFunctions};
pub(crate) use fetch::{MARK, WORDS};
pub(crate) use follow::ProductLaunch;
pub use modules::FunctionStatistics;
pub(crate) use modules::Functions;
pub(crate) use product_kernel::ProductKernel;

use crate::{driver::INVALID_VALUE, memory::CudaBuffer};
use operands::MapOperands;

impl Computing<'_> {
    /// Enqueues a function of elements. Does not synchronize.
    pub(crate) fn map(self, op: &MapOp<'_, CudaBuffer>) -> Result<()> {
        let Self { functions, context, .. } = self;
        let driver = context.bound("map")?;
        let mut launches = self.begin();
        if let Some(prepared) = launches.map(op) {
            return self
                .launch(driver, &prepared.loaded, (prepared.grid, 0), &prepared.parameter)
                .map_err(|failure| context.error("map", failure));
        }
        let operands = MapOperands::new(op.program(), |input| {
            let operand = match input {
                None => op.result(),
                Some(at) => op.inputs().get(at)?,
            };
            Some((operand.buffer().address(), operand.layout()))
        });
        let invalid = || context.error("map", INVALID_VALUE);
        let operands = operands.ok_or_else(invalid)?;
        let elements = operands.elements();
        let mut each = |part: &MapOperands| {
            let launch = families::choose(op.program(), part, op.scalars()).ok_or_else(invalid)?;
            let loaded = functions.kernel(context, driver, op.program(), &launch.class)?;
            self.launch(driver, &loaded, (launch.grid, 0), &launch.parameter)
                .map_err(|failure| context.error("map", failure))?;
            if part.elements() == elements {
                launches.keep_map(op, (part.kinds.clone(), loaded, launch.grid, launch.parameter));
            }
            Ok(())
        };
        // If a later launch fails, earlier ones are already enqueued.
        let all = |_: &_| operands.for_each_launch(op.scalars().len(), &mut each);
        self.stream.enqueue_or_wait("map", all)
    }

    /// Enqueues a function of contiguous elements, by the addresses of the result and of the inputs. An input is
    /// the result, or shares no byte with it. Does not synchronize.
    pub(crate) fn map_contiguous(
        self,
        operation: &'static str,
        program: &Program,
        (result, inputs): (u64, &[u64]),
        count: usize,
    ) -> Result<()> {
        let Self { functions, context, .. } = self;
        let driver = context.bound(operation)?;
        let _launches = self.begin();
        let layout = Layout::contiguous(&[count], Order::C)?;
        let operand = |input: Option<usize>| {
            Some((input.map_or(Some(&result), |at| inputs.get(at)).copied()?, &layout))
        };
        let invalid = || context.error(operation, INVALID_VALUE);
        let operands = MapOperands::new(program, operand).ok_or_else(invalid)?;
        let mut each = |part: &MapOperands| {
            let launch = families::choose(program, part, &[]).ok_or_else(invalid)?;
            let loaded = functions.kernel(context, driver, program, &launch.class)?;
            self.launch(driver, &loaded, (launch.grid, 0), &launch.parameter)
                .map_err(|failure| context.error(operation, failure))
        };
        self.stream.enqueue_or_wait(operation, |_| operands.for_each_launch(0, &mut each))
    }

    /// Enqueues a kernel that brings a few bytes to a slot in host memory, given both addresses.
    /// Does not synchronize.
    pub(crate) fn fetch(self, place: u64, source: u64, len_bytes: usize) -> Result<()> {
        let Self { functions, context, .. } = self;
        let (program, class) = fetch::key();
        let driver = context.bound("fetch")?;
        let loaded = functions.kernel(context, driver, program, class)?;
        let _launches = self.begin();
        let parameter = fetch::parameter(place, source, len_bytes);
        let launched = self.launch(driver, &loaded, (1, 0), &parameter);
        launched.map_err(|failure| context.error("fetch", failure))
    }

    /// Enqueues a reduction or a scan. Does not synchronize.
    pub(crate) fn reduce(self, op: &ReduceOp<'_, CudaBuffer>) -> Result<()> {
        reduce::reduce(self, op)
    }

    /// Enqueues one launch that reduces rows several times and computes a function of the results.
    /// Returns false, and enqueues nothing, if no kernel computes all of that at once. Does not
    /// synchronize.
    pub(crate) fn fuse(
        self,
        reductions: &[ReduceOp<'_, CudaBuffer>],
        last: Option<&MapOp<'_, CudaBuffer>>,
    ) -> Result<bool> {
        reduce::fuse(self, reductions, last)
    }
}
