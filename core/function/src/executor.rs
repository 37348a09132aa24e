//! Runs programs on memory that the host reaches, as fast as the processor allows. For backends on the
//! CPU.
//!
//! The bits equal the bits of the [`interpreter`](crate::interpreter), which computes primitive by
//! primitive. The two share only the language: the functions that programs were expanded from, the
//! source of the elementary functions, the rounding of `f16` where a processor has no instruction
//! for it, and the guard of the rounding mode. So each can be checked against the other.
//!
//! # Why it is fast
//!
//! - It computes a function **as it is written**. A program carries the function that it was
//!   expanded from; each operation of the function is one loop, compiled for its type and
//!   vectorized. So the sine is one loop instead of 80, and a sum of `i8` has 64 lanes instead of
//!   16. Programs that were built without a function are computed by their primitives, with the
//!   same loops.
//! - Loops are compiled from one source for several sets of instructions, and chosen at run time:
//!   plain ones, AVX2 with FMA and F16C, AVX-512. On aarch64 plain loops use NEON.
//! - The values of a block are in **slots**, which hold 256 to 1,024 elements, as wide as their
//!   type, in the first cache. Slots begin with a cache line, belong to the thread, and are not
//!   cleared. Inputs whose elements lie side by side are read in place, and the last operation
//!   writes the result in place, so a program of one operation needs no slot.
//! - A repeated element is written into its slot once, and read from any position. Other short runs are
//!   moved many at a time, without a call for each.
//! - Transposed operands are read by tiles, whole cache lines at a time. A map may compute its
//!   elements in any order, so axes are taken in the order of the result's memory. Results that
//!   exceed the caches are written past them.
//! - The rare parts of elementary functions (the sine of a huge number) are a branch for each block.
//!   With AVX-512 the exponential, logarithms, the power and the hyperbolic tangent of `f32` use
//!   tables in registers, and fewer steps than their definitions. Where that could round to the
//!   other side, 16 elements are computed as defined.
//! - A stored NaN is always the canonical one, which is put in where the result is stored. With
//!   AVX-512 one loop does a sum, a product or a quotient together with this step and the store past
//!   the caches.
//! - Reductions keep the order that [`Combine`](crate::Combine) says. A row is added to 1,024 lanes
//!   while it is read. If rows are not contiguous, a strip of neighbouring rows is combined at once,
//!   with a binary counter in place of lanes. Short rows are strips wherever they are, and the
//!   elements that fit the lanes are added in one loop for all rows of a block. Running sums go up
//!   and down the tree of aligned blocks.
//! - The steps of a program are made once and kept with it.
//!
//! ```
//! use devarray_function::{
//!     ElementType::F32,
//!     Function,
//!     executor::execute,
//!     interpreter::{InputElements, ResultElements},
//! };
//! use devarray_layout::{Layout, Order};
//!
//! let double = Function::parse("x0 * 2.0", &[F32], &[])?.expand();
//! let (x, mut y) = ([1.0_f32, 2.0, 3.0], [0.0_f32; 3]);
//! let layout = Layout::contiguous(&[3], Order::C)?;
//! let input = InputElements { start: x.as_ptr().cast(), layout: &layout };
//! let result = ResultElements { start: y.as_mut_ptr().cast(), layout: &layout };
//! // SAFETY: both arrays have the layout's 3 elements, and nothing else uses them
//! unsafe { execute(&double, &[input], &[], result) };
//! assert_eq!(y, [2.0, 4.0, 6.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Threads share the work by ranges of elements, of rows, or of the segments of a long row. The
//! bits do not depend on the ranges.
#![allow(unsafe_code)] // declares what a caller promises of memory

mod casts;
mod code;
mod extremes;
mod fills;
mod floats;
mod functions;
mod integers;
mod kernels;
mod last;
mod lower;
mod machine;
mod map;
mod moves;
mod nest;
mod placed;
mod primitives;
mod raw;
mod reduce;
mod rows;
mod runner;
mod running;
mod scan_parts;
mod scans;
mod stream;
mod strips;
mod sums;
#[cfg(target_arch = "x86_64")]
mod tables;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod wide;
mod written;

use std::{any::Any, ops::Range};

use crate::{
    interpreter::{InputElements, ResultElements, environment::FloatEnvironment},
    primitive::Program,
};
use code::Code;
use machine::Machine;
use nest::Nest;
pub use placed::PlacedMap;
pub use reduce::{Partial, execute_reduction, execute_segments, finish_segments};
pub use scan_parts::{execute_scan_part, execute_scan_total};
use written::WrittenFunction;
pub(crate) use written::written;

/// A program in prepared steps: the compiled loops, their operands, and the slots of the operands.
#[derive(Debug)]
pub struct Prepared {
    code: Code,
    machine: Machine,
}

impl Prepared {
    /// Prepares the steps of a program. [`of`](Self::of) also keeps them with the program.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        Self::for_machine(program, Machine::detected())
    }

    fn for_machine(program: &Program, machine: Machine) -> Self {
        let written: Option<&dyn Any> = program.kept().written.as_deref().map(|written| written as _);
        let code = match written.and_then(|written| written.downcast_ref::<WrittenFunction>()) {
            Some(WrittenFunction { function, is_stored }) => lower::function(machine, function, *is_stored),
            None => primitives::program(machine, program),
        };
        Self { code, machine }
    }

    /// The steps of a program, which are kept with it.
    ///
    /// # Panics
    ///
    /// This never happens, because only this module keeps prepared data with programs.
    #[must_use]
    pub fn of(program: &Program) -> &Self {
        let prepared = program.kept().prepared.get_or_init(|| Box::new(Self::new(program)));
        prepared.downcast_ref().expect("only the executor prepares")
    }

    /// Computes a range of the elements of a result, counted in row-major order.
    ///
    /// # Panics
    ///
    /// The conditions of [`execute`].
    ///
    /// # Safety
    ///
    /// The conditions of [`execute`], for the elements in the range.
    pub unsafe fn run(
        &self,
        inputs: &[InputElements<'_>],
        scalars: &[u64],
        result: ResultElements<'_>,
        range: Range<usize>,
    ) {
        let nest = self.nest(inputs, scalars, result);
        assert!(range.end <= result.layout.len(), "the range lies in the result");
        if range.is_empty() {
            return;
        }
        let _standard = FloatEnvironment::standard();
        // SAFETY: as the caller promises
        unsafe { map::map(&self.code, &nest, result.layout.shape(), scalars, range) };
    }

    /// The places of the operands: the inputs, then the result.
    fn nest(&self, inputs: &[InputElements<'_>], scalars: &[u64], result: ResultElements<'_>) -> Nest {
        let code = &self.code;
        assert_eq!(scalars.len(), code.scalars.len(), "as many scalars as the program has");
        let shape = result.layout.shape();
        self.check_inputs(inputs, shape);
        let operands = inputs
            .iter()
            .zip(&code.inputs)
            .map(|(input, of)| (input.start, of.len_bytes(), input.layout.offset(), input.layout.strides()));
        let written = (
            result.start.cast_const(),
            code.result_type.len_bytes(),
            result.layout.offset(),
            result.layout.strides(),
        );
        Nest::new(shape, operands.chain([written]))
    }

    fn check_inputs(&self, inputs: &[InputElements<'_>], shape: &[usize]) {
        assert_eq!(inputs.len(), self.code.inputs.len(), "as many inputs as the program has");
        assert!(
            inputs.iter().all(|input| input.layout.shape() == shape),
            "inputs have the shape of the result"
        );
        let has_axis = |&(axis, _): &(usize, usize)| axis < shape.len();
        assert!(
            self.code.positions.iter().all(has_axis),
            "the result has the axes whose positions are taken"
        );
    }
}

/// Computes a program for every element of a result, in the calling thread: the bits of
/// [`interpret`](crate::interpreter::interpret).
///
/// # Panics
///
/// There are not as many inputs or scalars as the program takes, a shape differs from the result's,
/// or there are fewer axes than the program takes positions along.
///
/// # Safety
///
/// The elements of the inputs may be read, the elements of the result may be written, and meanwhile
/// no other thread writes inputs or touches the result. An input shares no byte with the result.
/// Only the result's own elements may be an input: the same memory, layout and element size.
pub unsafe fn execute(
    program: &Program,
    inputs: &[InputElements<'_>],
    scalars: &[u64],
    result: ResultElements<'_>,
) {
    // SAFETY: as the caller promises
    unsafe { execute_range(program, inputs, scalars, result, 0..result.layout.len()) }
}

/// Computes a program for a range of the elements of a result, counted in row-major order. Several
/// threads can share the work by ranges.
///
/// # Panics
///
/// The conditions of [`execute`]; also if the range reaches beyond the result.
///
/// # Safety
///
/// The conditions of [`execute`], for the elements in the range.
pub unsafe fn execute_range(
    program: &Program,
    inputs: &[InputElements<'_>],
    scalars: &[u64],
    result: ResultElements<'_>,
    range: Range<usize>,
) {
    // SAFETY: as the caller promises
    unsafe { Prepared::of(program).run(inputs, scalars, result, range) }
}
