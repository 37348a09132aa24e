//! Computes programs on memory that the host reaches. Tests of backends compare with its results.
#![allow(unsafe_code)] // declares what a caller promises of memory, and calls code compiled for more instructions

mod accumulator;
mod elements;
pub(super) mod environment;
pub(super) mod kernels;
mod reduce;
mod schedule;
mod walk;

use std::ops::Range;

use super::primitive::{Instruction, Program, fold};
use devarray_layout::{Layout, Order};
use environment::FloatEnvironment;
use kernels::Slot;
pub use reduce::{Reducing, interpret_reduction};
use schedule::{Schedule, is_fixed, same_bits};
use walk::Walk;

/// Elements that are read: where the memory starts, and their layout in it, which counts elements
/// of the program's type.
#[derive(Debug, Clone, Copy)]
pub struct InputElements<'a> {
    /// The address of position 0 of the layout. Needs no alignment.
    pub start: *const u8,
    /// The layout of the elements, in the shape of the result; strides of 0 repeat one.
    pub layout: &'a Layout,
}

/// Elements that are written: where the memory starts, and their layout in it, which counts
/// elements of the program's type.
#[derive(Debug, Clone, Copy)]
pub struct ResultElements<'a> {
    /// The address of position 0 of the layout. Needs no alignment.
    pub start: *mut u8,
    /// The layout of the elements; no two of them share a byte.
    pub layout: &'a Layout,
}

/// Computes a program for every element of a result, in the calling thread.
///
/// The bits do not depend on the processor, but the speed does. With AVX2 and FMA, or NEON, four
/// `f32` instructions take about a nanosecond; without FMA, one `fma` takes some nanoseconds. An
/// empty result is not touched.
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
pub unsafe fn interpret(
    program: &Program,
    inputs: &[InputElements<'_>],
    scalars: &[u64],
    result: ResultElements<'_>,
) {
    // SAFETY: as the caller promises
    unsafe { interpret_range(program, inputs, scalars, result, 0..result.layout.len()) }
}

/// Computes a program for one element. Inputs, scalars and the result are bits, with zero bits above
/// them.
///
/// # Panics
///
/// The panics of [`interpret`].
pub(crate) fn interpret_one(program: &Program, inputs: &[u64], scalars: &[u64]) -> u64 {
    let one = Layout::contiguous(&[], Order::C).expect("one element");
    let bytes: Vec<[u8; 8]> = inputs.iter().map(|bits| bits.to_le_bytes()).collect();
    let inputs: Vec<_> =
        bytes.iter().map(|bytes| InputElements { start: bytes.as_ptr(), layout: &one }).collect();
    let mut result = [0; 8];
    let out = ResultElements { start: result.as_mut_ptr(), layout: &one };
    // SAFETY: elements of at most 8 bytes are read and written, in arrays of 8 bytes
    unsafe { interpret(program, &inputs, scalars, out) }
    u64::from_le_bytes(result)
}

/// Computes a program for a range of the elements of a result, counted in row-major order. Several
/// threads can share the work by ranges.
///
/// # Panics
///
/// The panics of [`interpret`]; also if the range reaches beyond the result.
///
/// # Safety
///
/// The conditions of [`interpret`], for the elements in the range.
pub unsafe fn interpret_range(
    program: &Program,
    inputs: &[InputElements<'_>],
    scalars: &[u64],
    result: ResultElements<'_>,
    range: Range<usize>,
) {
    assert_eq!(inputs.len(), program.inputs().len(), "as many inputs as the program has");
    assert_eq!(scalars.len(), program.scalars().len(), "as many scalars as the program has");
    let shape = result.layout.shape();
    assert!(inputs.iter().all(|input| input.layout.shape() == shape), "inputs have the shape of the result");
    let has_axis = |&instruction: &Instruction| match instruction {
        Instruction::Position(axis) => usize::from(axis) < shape.len(),
        _ => true,
    };
    assert!(program.instructions().iter().all(has_axis), "the result has the axes whose positions are taken");
    assert!(range.end <= result.layout.len(), "the range lies in the result");
    if range.is_empty() {
        return;
    }
    let layouts: Vec<&Layout> = inputs.iter().map(|input| input.layout).chain([result.layout]).collect();
    let run = Run { schedule: Schedule::of(program), walk: Walk::new(&layouts), inputs, scalars, result };
    let _standard = FloatEnvironment::standard();
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
        // SAFETY: the processor has the instructions; the rest as the caller promises
        unsafe { run.with_avx2_and_fma(range) };
        return;
    }
    // SAFETY: as the caller promises
    unsafe { run.blocks(range) };
}

/// A program with its operands.
struct Run<'a> {
    schedule: Schedule<'a>,
    walk: Walk,
    inputs: &'a [InputElements<'a>],
    scalars: &'a [u64],
    result: ResultElements<'a>,
}

impl Run<'_> {
    /// # Safety
    ///
    /// The conditions of [`interpret_range`], on a processor with these instructions.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn with_avx2_and_fma(&self, range: Range<usize>) {
        // SAFETY: as the caller promises
        unsafe { self.blocks(range) }
    }

    /// # Safety
    ///
    /// The conditions of [`interpret_range`].
    #[inline(always)]
    unsafe fn blocks(&self, range: Range<usize>) {
        let block_len = self.schedule.block_len().min(range.len());
        let mut slots = self.schedule.slots(block_len);
        self.fill_fixed(&mut slots, block_len);
        let mut from = range.start;
        while from < range.end {
            let to = range.end.min(from + block_len);
            // SAFETY: as the caller promises
            unsafe { self.block(&mut slots, from..to) };
            from = to;
        }
    }

    /// Fills in constants and scalars, once for all blocks.
    fn fill_fixed(&self, slots: &mut [Slot], len: usize) {
        let program = self.schedule.program;
        for (at, &instruction) in program.instructions().iter().enumerate() {
            let slot = &mut slots[self.schedule.places[at]];
            match instruction {
                Instruction::Constant(constant) => {
                    kernels::fill(program.types()[at], fold::bits_of(constant), slot, len);
                }
                Instruction::Scalar(number) => {
                    let number = usize::from(number);
                    let held = fold::held(program.scalars()[number], self.scalars[number]);
                    kernels::fill(program.types()[at], fold::bits_of(held), slot, len);
                }
                _ => {}
            }
        }
    }

    /// All inputs of a block are read before its elements are written, so the result can be one of
    /// them.
    ///
    /// # Safety
    ///
    /// Like [`interpret_range`].
    #[inline(always)]
    unsafe fn block(&self, slots: &mut [Slot], range: Range<usize>) {
        let (program, len) = (self.schedule.program, range.len());
        for (at, &instruction) in program.instructions().iter().enumerate() {
            if is_fixed(instruction) || same_bits(instruction).is_some() {
                continue;
            }
            // The slot is taken out while it is written; no operand uses it.
            let place = self.schedule.places[at];
            let mut out = std::mem::take(&mut slots[place]);
            let slot = |register| &slots[self.schedule.place(register)];
            match instruction {
                Instruction::Constant(_) | Instruction::Scalar(_) => {}
                Instruction::Input(number) => {
                    let number = usize::from(number);
                    let (element_type, start) = (program.inputs()[number], self.inputs[number].start);
                    // SAFETY: as the caller promises of this input
                    unsafe {
                        elements::load(element_type, start, (&self.walk, number), range.clone(), &mut out)
                    };
                }
                Instruction::Position(axis) => {
                    let out = kernels::write(&mut out, len);
                    walk::positions(self.result.layout.shape(), usize::from(axis), range.clone(), out);
                }
                Instruction::Unary(op, a) => {
                    kernels::unary(op, program.register_type(a), slot(a), &mut out, len);
                }
                Instruction::Binary(op, a, b) => {
                    kernels::binary(op, program.register_type(a), slot(a), slot(b), &mut out, len);
                }
                Instruction::Fma(a, b, c) => {
                    kernels::fma(program.register_type(a), [a, b, c].map(slot), &mut out, len);
                }
                Instruction::Select(condition, a, b) => {
                    kernels::select(program.register_type(a), [condition, a, b].map(slot), &mut out, len);
                }
            }
            slots[place] = out;
        }
        let (result, out) = (&slots[self.schedule.place(program.result())], self.result.start);
        let operand = (&self.walk, self.inputs.len());
        // SAFETY: as the caller promises of the result
        unsafe { elements::store(program.result_type(), out, operand, range, result) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ElementType, Function};
    use devarray_layout::Order;

    /// Compares with results of code without the instructions, for operations that are compiled
    /// differently: fused, rounded, converted.
    #[test]
    fn the_bits_do_not_depend_on_the_instructions_of_the_processor() {
        let texts = [
            (ElementType::F32, "fma(x0, x1, x0) * k0 - floor(x0) // x1 + rint(exp(x1))"),
            (ElementType::F64, "fma(x0, x1, x0) % x1 + cast(cast(x0, i64), f64) * sin(x1)"),
            (ElementType::F16, "where(x0 < x1, x0 * k0, x1) + tanh(x0)"),
            (ElementType::I64, "x0 ** (x1 & 7) // k0 - bitwise_count(x0 >> 3) + cast(cast(x0, f32), i64)"),
        ];
        const LEN: usize = 5000;
        let layout = Layout::contiguous(&[LEN], Order::C).expect("it fits");
        let bits: Vec<u64> = (1..=LEN as u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        for (of, text) in texts {
            let program = Function::parse(text, &[of; 2], &[of]).expect("it parses").expand();
            let mut results = [vec![0_u64; LEN], vec![0_u64; LEN]];
            let inputs =
                [0, 1].map(|nth| InputElements { start: bits[nth..].as_ptr().cast(), layout: &layout });
            let layouts = [&layout; 3];
            let [detected, plain] = &mut results;
            let result = ResultElements { start: plain.as_mut_ptr().cast(), layout: &layout };
            let run = Run {
                schedule: Schedule::of(&program),
                walk: Walk::new(&layouts),
                inputs: &inputs,
                scalars: &[3],
                result,
            };
            // SAFETY: the operands have 8 bytes an element; the second input starts one element
            // later; the last element is left out
            unsafe { run.blocks(0..LEN - 1) };
            let result = ResultElements { start: detected.as_mut_ptr().cast(), layout: &layout };
            // SAFETY: as before
            unsafe { interpret_range(&program, &inputs, &[3], result, 0..LEN - 1) };
            assert!(plain.iter().any(|&bits| bits != 0));
            assert_eq!(plain, detected, "{text}");
        }
    }
}
