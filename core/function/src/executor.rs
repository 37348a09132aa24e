//! Programs on memory that the host reaches, as fast as the processor allows.
#![allow(unsafe_code)] // declares what a caller promises of memory

mod casts;
mod code;
mod extremes;
mod floats;
mod integers;
mod kernels;
mod lower;
mod machine;
mod map;
mod moves;
mod nest;
mod primitives;
mod raw;
mod reduce;
mod rows;
mod runner;
mod scans;
mod stream;
mod strips;
mod sums;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::{
    interpreter::{InputElements, ResultElements, environment::FloatEnvironment},
    primitive::Program,
};
use code::Code;
use machine::Machine;
use nest::Nest;
pub use reduce::{Partial, execute_reduction, execute_segments, finish_segments};

/// A program as steps, made once: which compiled loop computes what, and where.
#[derive(Debug)]
pub struct Prepared {
    code: Code,
    machine: Machine,
}

impl Prepared {
    /// The steps of a program; [`of`](Self::of) keeps them with it.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        Self::for_machine(program, Machine::detected())
    }

    fn for_machine(program: &Program, machine: Machine) -> Self {
        let code = match program.written().function() {
            Some((function, is_stored)) => lower::function(machine, function, *is_stored),
            None => primitives::program(machine, program),
        };
        Self { code, machine }
    }

    /// The steps that are kept with a program.
    #[must_use]
    pub fn of(program: &Program) -> &Self {
        program.written().prepared(|| Self::new(program))
    }

    /// Computes a range of the elements of a result, counted in row-major order.
    ///
    /// # Panics
    ///
    /// As [`execute`].
    ///
    /// # Safety
    ///
    /// As [`execute`], of the elements in the range.
    pub unsafe fn run(
        &self,
        inputs: &[InputElements<'_>],
        scalars: &[u64],
        result: ResultElements<'_>,
        range: Range<usize>,
    ) {
        let code = &self.code;
        assert_eq!(scalars.len(), code.scalars.len(), "as many scalars as the program has");
        let shape = result.layout.shape();
        self.check_inputs(inputs, shape);
        assert!(range.end <= result.layout.len(), "the range lies in the result");
        if range.is_empty() {
            return;
        }
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
        let nest = Nest::new(shape, operands.chain([written]));
        let _standard = FloatEnvironment::standard();
        // SAFETY: as the caller promises
        unsafe { map::map(code, &nest, shape, scalars, range) };
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
/// Counts of inputs or scalars that are not the program's, shapes that are not the result's, or
/// fewer axes than the program takes positions along.
///
/// # Safety
///
/// The elements of the inputs may be read and those of the result be written, and no other thread
/// writes the former or touches the latter meanwhile. An input shares no byte with the result, but
/// the result's own elements may be an input: the same memory, layout and element size.
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
/// As [`execute`], and if the range reaches beyond the result.
///
/// # Safety
///
/// As [`execute`], of the elements in the range.
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
