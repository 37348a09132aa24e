//! Products on host memory, from any layouts to any layout.
#![allow(unsafe_code)] // hands on what a caller promises of memory

use std::{marker::PhantomData, ops::Range};

use devarray_function::{
    ElementType, FloatEnvironment, Workers, each_piece,
    interpreter::{InputElements, ResultElements},
};

use crate::{
    Machine,
    block::{Block, Room},
    kind::{Kind, by_kind},
    lanes::{Lanes, Work},
    machine::Compiled,
    operands::Products,
    pack::Elements,
    plan::Plan,
};

/// Writes the product a @ b of arrays of one type, whose shape is
/// [`product_shape`](crate::product_shape()), over the result.
///
/// Blocks until done. Without k the elements are 0; an empty result is left alone. Bits do not depend on
/// the workers, the layouts or the processor.
///
/// # Panics
///
/// Shapes that do not fit, and bool, which has no products.
///
/// # Safety
///
/// The elements of the operands may be read and those of the result be written, and no other thread
/// writes the former or touches the latter meanwhile. The former are initialized. No two elements of the
/// result share a byte, and none shares one with an operand.
pub unsafe fn execute(
    element_type: ElementType,
    a: InputElements<'_>,
    b: InputElements<'_>,
    result: ResultElements<'_>,
    workers: &dyn Workers,
) {
    // SAFETY: as the caller promises
    unsafe { execute_with(Machine::detected(), element_type, [a, b], result, false, workers) }
}

/// As [`execute()`], but the (first) chain of an element starts from what is in the result.
///
/// # Panics
///
/// As [`execute()`].
///
/// # Safety
///
/// As [`execute()`], and the elements of the result are initialized and may be read.
pub unsafe fn accumulate(
    element_type: ElementType,
    a: InputElements<'_>,
    b: InputElements<'_>,
    result: ResultElements<'_>,
    workers: &dyn Workers,
) {
    // SAFETY: as the caller promises
    unsafe { execute_with(Machine::detected(), element_type, [a, b], result, true, workers) }
}

/// With chosen instructions, for tests.
///
/// # Safety
///
/// As [`execute()`], and as [`accumulate()`] if `onto`. The processor has the instructions.
pub unsafe fn execute_with(
    machine: Machine,
    element_type: ElementType,
    [a, b]: [InputElements<'_>; 2],
    result: ResultElements<'_>,
    onto: bool,
    workers: &dyn Workers,
) {
    let products = Products::new(a, b, result, element_type.len_bytes());
    by_kind!(element_type, K => {
        if !result.layout.is_empty() {
            // SAFETY: as the caller promises
            unsafe { run::<K>(machine, products, onto, workers) };
        }
    });
}

/// The work of a call.
struct Run {
    products: Products,
    plan: Plan,
    onto: bool,
}

// SAFETY: the elements behind the pointers are used as the caller promises, each of the result by one thread
unsafe impl Sync for Run {}

/// # Safety
///
/// As [`execute_with`], of elements of the kind.
unsafe fn run<K: Kind>(machine: Machine, mut products: Products, onto: bool, workers: &dyn Workers) {
    let plan = Plan::new::<K>(&mut products, workers);
    let run = Run { products, plan, onto };
    let compiled: unsafe fn(&Run, Range<usize>) = match machine {
        Machine::Plain => compiled::<<K::Number as Compiled>::Plain, K>,
        #[cfg(target_arch = "x86_64")]
        Machine::Avx2 => compiled::<<K::Number as Compiled>::Avx2, K>,
        #[cfg(target_arch = "x86_64")]
        Machine::Avx512 => compiled::<<K::Number as Compiled>::Avx512, K>,
    };
    if run.plan.pieces == 1 {
        let _standard = FloatEnvironment::standard();
        // SAFETY: as the caller promises
        return unsafe { compiled(&run, run.plan.blocks(0)) };
    }
    each_piece(workers, run.plan.pieces, |piece| {
        // SAFETY: as the caller promises; no other piece has these blocks
        unsafe { compiled(&run, run.plan.blocks(piece)) };
    });
}

/// # Safety
///
/// The processor has the instructions of the lanes; of the blocks as [`execute_with`].
unsafe fn compiled<L: Lanes, K: Kind<Number = L::Number>>(run: &Run, numbers: Range<usize>) {
    // SAFETY: as the caller promises
    unsafe { L::compiled(Blocks::<L, K> { run, numbers, kind: PhantomData }) }
}

/// Some blocks, one after the other.
struct Blocks<'a, L, K> {
    run: &'a Run,
    numbers: Range<usize>,
    kind: PhantomData<(L, K)>,
}

impl<L: Lanes, K: Kind<Number = L::Number>> Work for Blocks<'_, L, K> {
    #[inline(always)]
    unsafe fn run(self) {
        let mut room = Room::new();
        let products = &self.run.products;
        for number in self.numbers {
            let (product, [rows, columns]) = self.run.plan.block(number, products.extents);
            let places = products.places(product);
            let start =
                |operand: usize| products.starts[operand].cast::<K::Bits>().wrapping_offset(places[operand]);
            let [[a_rows, a_k], [b_k, b_columns], strides] = products.strides;
            let a = Elements { start: start(0).cast_const(), across: a_rows, along: a_k };
            let b = Elements { start: start(1).cast_const(), across: b_columns, along: b_k };
            let place = rows.start.cast_signed() * strides[0] + columns.start.cast_signed() * strides[1];
            let block = Block {
                extents: [rows.len(), products.extents[1], columns.len()],
                a: a.from(rows.start, 0),
                b: b.from(columns.start, 0),
                result: start(2).wrapping_offset(place),
                strides,
                onto: self.run.onto,
            };
            // SAFETY: as the caller promises
            unsafe { block.compute::<L, K>(&mut room) };
        }
    }
}
