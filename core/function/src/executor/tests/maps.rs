//! Tests maps of random functions.
#![allow(unsafe_code)] // lends memory of its own

use std::ops::Range;

use devarray_layout::{Layout, Order};

use super::random::Random;
use crate::{
    ElementType, Function,
    executor::{Machine, PlacedMap, Prepared, primitives},
    interpreter::{InputElements, ResultElements, interpret},
    primitive::Program,
};

/// Memory of an operand.
pub(super) struct Memory {
    pub(super) bytes: Vec<u8>,
    pub(super) layout: Layout,
}

impl Memory {
    pub(super) fn random(random: &mut Random, of: ElementType, shape: &[usize], shared: bool) -> Self {
        let (layout, len) = random.layout(shape, shared);
        let width = of.len_bytes();
        let bytes = (0..len).flat_map(|_| random.element(of).to_le_bytes()[..width].to_vec()).collect();
        Self { bytes, layout }
    }

    pub(super) fn input(&self) -> InputElements<'_> {
        InputElements { start: self.bytes.as_ptr(), layout: &self.layout }
    }
}

/// A map: a function and its operands. The first input may be the result's own elements.
pub(super) struct Case {
    pub(super) function: Function,
    inputs: Vec<Memory>,
    scalars: Vec<u64>,
    result: Memory,
    in_place: bool,
}

impl Case {
    fn random(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let shape = random.shape();
        let function = random.function(shape.len(), None);
        let inputs: Vec<Memory> =
            function.inputs().iter().map(|&of| Memory::random(&mut random, of, &shape, true)).collect();
        let of = function.result_type();
        let mut result = Memory::random(&mut random, of, &shape, false);
        let scalars = function.scalars().iter().map(|&of| random.element(of)).collect();
        let same_size = function.inputs()[0].len_bytes() == of.len_bytes();
        let in_place = same_size && random.one_in(4);
        if in_place {
            let own = Memory::random(&mut random, function.inputs()[0], &shape, false);
            result = own;
        }
        Self { function, inputs, scalars, result, in_place }
    }

    /// The memory of the result after a computation.
    fn after(&self, compute: impl FnOnce(&[InputElements<'_>], ResultElements<'_>)) -> Vec<u8> {
        let mut bytes = self.result.bytes.clone();
        let start = bytes.as_mut_ptr();
        let mut inputs: Vec<_> = self.inputs.iter().map(Memory::input).collect();
        if self.in_place {
            inputs[0] = InputElements { start, layout: &self.result.layout };
        }
        compute(&inputs, ResultElements { start, layout: &self.result.layout });
        bytes
    }

    fn interpreted(&self, program: &Program) -> Vec<u8> {
        // SAFETY: the memory of each operand is as long as its layout reaches
        self.after(|inputs, result| unsafe { interpret(program, inputs, &self.scalars, result) })
    }

    fn executed(&self, prepared: &Prepared, pieces: usize) -> Vec<u8> {
        let len = self.result.layout.len();
        let piece = |at: usize| -> Range<usize> { at * len / pieces..(at + 1) * len / pieces };
        self.after(|inputs, result| {
            for at in 0..pieces {
                // SAFETY: as above
                unsafe { prepared.run(inputs, &self.scalars, result, piece(at)) };
            }
        })
    }
}

/// The result of a map whose operands have their places, computed twice from the same memory.
fn placed(case: &Case, program: &Program, pieces: usize) -> [Vec<u8>; 2] {
    let (len, mut all) = (case.result.layout.len(), Vec::new());
    let last = case.after(|inputs, result| {
        let map = PlacedMap::new(program, inputs, &case.scalars, result);
        assert_eq!(map.len(), len);
        let before = case.result.bytes.clone();
        for _ in 0..2 {
            // SAFETY: the memory is as long, and nobody else uses it
            unsafe { before.as_ptr().copy_to_nonoverlapping(result.start, before.len()) };
            for at in 0..pieces {
                // SAFETY: the memory of each operand is as long as its layout reaches
                unsafe { map.run(at * len / pieces..(at + 1) * len / pieces) };
            }
            // SAFETY: as above
            all.push(unsafe { std::slice::from_raw_parts(result.start, before.len()) }.to_vec());
        }
    });
    assert_eq!(all[1], last);
    [all.swap_remove(0), last]
}

/// The twin is [`a_wrong_bit_is_found`]: the results are compared alike.
#[test]
fn maps_with_places_have_the_interpreters_bits_each_time() {
    for seed in 0..400 {
        let case = Case::random(seed);
        let program = case.function.expand();
        let expected = case.interpreted(&program);
        for found in placed(&case, &program, [1, 2, 7][usize::try_from(seed).unwrap() % 3]) {
            assert!(found == expected, "{seed}: {}", case.function);
        }
    }
}

/// The operation that gives the result may be joined with another one, split, rounded, or stored in
/// one loop. Each case is tried for each float type.
#[test]
fn last_operations_have_the_interpreters_bits() {
    use ElementType as E;
    let texts = [
        "x0 + x0 * x0",
        "x0 * x1 + x2",
        "x2 + x0 * x1",
        "x0 * x1 - x2",
        "x2 - x0 * x1",
        "x0 * x1 + 2",
        "3 - x0 * x1",
        "x0 * x1",
        "x0 / x1",
        "x0 - x1",
        "x0 - 2",
        "2 / x0",
        "sqrt(x0)",
        "sqrt(x0 * x1)",
        "sqrt(x0) + x1 * x2",
        "exp(x0)",
        "log(x0 * x1)",
        "tanh(x0) * x1",
        "x0 ** x1",
        "x1 + exp(x0)",
        "where(x0 < x1, x0 * x1, x2)",
        "maximum(x0 * x1, x2)",
        "abs(x0 * x1)",
    ];
    let (len, layout) = (777, Layout::contiguous(&[777], Order::C).unwrap());
    // If the computed bits are taken as another type, they are not the result of the float
    // operation.
    let taken = [
        (E::I32, "bitcast(x0 + x1, f32)"),
        (E::U64, "bitcast(x0 * x1, f64)"),
        (E::I16, "bitcast(x0 - x1, f16)"),
        (E::U16, "bitcast(x0 + x1, bf16)"),
        (E::F32, "bitcast(bitcast(x0 * x1, i32) + bitcast(x2, i32), f32)"),
    ];
    let floats = [E::F32, E::F64, E::F16, E::BF16].into_iter().flat_map(|of| texts.map(|text| (of, text)));
    for (of, text) in floats.chain(taken) {
        let program = Function::parse(text, &[of; 3], &[]).unwrap().expand();
        // Bits of any value, NaN and infinities among them.
        let bytes = |seed: u64| -> Vec<u64> {
            (0..len).map(|k| (k as u64 + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed << 40).collect()
        };
        let inputs = [bytes(1), bytes(1 << 20), bytes(5)];
        let inputs = inputs.each_ref().map(|x| InputElements { start: x.as_ptr().cast(), layout: &layout });
        let mut due = vec![0_u64; len];
        let result = ResultElements { start: due.as_mut_ptr().cast(), layout: &layout };
        // SAFETY: 8 bytes are there for each element
        unsafe { interpret(&program, &inputs, &[], result) };
        for machine in Machine::all() {
            let mut found = vec![0_u64; len];
            let result = ResultElements { start: found.as_mut_ptr().cast(), layout: &layout };
            // SAFETY: as above
            unsafe { Prepared::for_machine(&program, machine).run(&inputs, &[], result, 0..len) };
            assert!(found == due, "{text} of {of:?} on {machine:?}");
        }
    }
}

/// Tries many functions. `spoil` may change the results.
fn try_all(seeds: Range<u64>, spoil: impl Fn(u64, &mut Vec<u8>)) {
    let machines = Machine::all();
    for seed in seeds {
        let case = Case::random(seed);
        let program = case.function.expand();
        let expected = case.interpreted(&program);
        let nth = usize::try_from(seed).unwrap();
        let machine = machines[nth % 16 % machines.len()];
        let written = Prepared::for_machine(&program, machine);
        let expanded = Prepared { code: primitives::program(machine, &program), machine };
        for (name, prepared) in [("written", &written), ("expanded", &expanded)] {
            let mut found = case.executed(prepared, [1, 2, 7, 16][nth / 3 % 4]);
            spoil(seed, &mut found);
            assert!(
                found == expected,
                "{seed}: {name} {} of {:?} on {machine:?}, {:?}, in place: {}",
                case.function,
                case.function.inputs(),
                case.result.layout,
                case.in_place,
            );
        }
    }
}

#[test]
fn random_functions_have_the_interpreters_bits() {
    try_all(0..800, |_, _| {});
}

/// Run with `cargo test --release -p devarray-function --lib executor -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn many_random_functions_have_the_interpreters_bits() {
    try_all(10_000..110_000, |_, _| {});
}

/// The twin: a bit that is wrong is found.
#[test]
#[should_panic(expected = "117: ")]
fn a_wrong_bit_is_found() {
    try_all(0..800, |seed, found| {
        if seed == 117 {
            found.last_mut().into_iter().for_each(|byte| *byte ^= 1);
        }
    });
}
