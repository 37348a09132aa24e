//! Computes a function after a product in the same launch. The function's text replaces a marker in the
//! text of the product's kernel. The driver compiles that kernel alone when the function first follows it.
//!
//! The kernel calls the function pack by pack, in a loop that contains the function once, whatever
//! tile a thread has. `ptxas` takes 0.1 to 0.6 s for a kernel with a bias and a `maximum` (version
//! 12.9, one core of a virtual machine), and spills nothing for 9.0.

use devarray::{Result, backend::ProductOp};

use super::{
    Computing,
    class::{Class, Family},
    fetch,
    follow_text::{WORDS, class},
    parameter::Parameter,
    product_kernel::ProductKernel,
};
use crate::{driver::INVALID_VALUE, memory::CudaBuffer};

/// The launch of a product.
#[derive(Debug)]
pub(crate) struct ProductLaunch<'a> {
    pub(crate) kernel: ProductKernel,
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
    /// The parameter of the product itself.
    pub(crate) own: &'a [u64],
    /// Whether rows and columns of the result are exchanged.
    pub(crate) is_turned: bool,
}

impl Computing<'_> {
    /// Enqueues a product with the function that follows it, or a product that is added to the
    /// elements of its result. Returns false, and enqueues nothing, if there is no kernel for both.
    /// Does not synchronize.
    pub(crate) fn follow(self, launch: &ProductLaunch<'_>, op: &ProductOp<'_, CudaBuffer>) -> Result<bool> {
        const NAME: &str = "matmul";
        if !ProductKernel::is_there(launch.kernel.major) {
            return Ok(false);
        }
        let family = Family::Product(launch.kernel.clone());
        let mut words = launch.own.to_vec();
        words.push(u64::from(op.is_onto()));
        let (program, class) = match op.function() {
            Some(function) => {
                let Some((class, parameter)) = class(family, op, function, launch.is_turned) else {
                    return Ok(false);
                };
                words.extend(parameter.words());
                (function.program(), class)
            }
            None => {
                let class = Class { family, outer: 0, wide: true, operands: Vec::new() };
                (&fetch::key().0, class)
            }
        };
        // The kernel's parameter has all these words, even if they are unused.
        words.resize(launch.own.len() + 1 + WORDS, 0);
        let Self { functions, context, .. } = self;
        let driver = context.bound(NAME)?;
        let loaded = functions.kernel(context, driver, program, &class)?;
        let _launches = self.begin();
        let sizes = [launch.blocks, launch.threads, launch.kernel.shared_bytes];
        let launched = self.launch_of(driver, &loaded, sizes, &Parameter::from_words(words));
        launched.map_err(|failure| context.error(NAME, failure))?;
        Ok(true)
    }

    /// The error of a launch that cannot be made.
    pub(crate) fn invalid_product(self) -> devarray::Error {
        self.context.error("matmul", INVALID_VALUE)
    }
}
