//! Compares elementary functions with their primitives.
#![allow(unsafe_code)] // lends memory of its own

use devarray_layout::{Layout, Order};

use crate::{
    ElementType, Function,
    elementary::Elementary,
    executor::{Machine, Prepared},
    interpreter::{InputElements, ResultElements, interpret},
};

/// The number of inputs that are computed at once.
const AT_ONCE: usize = 1 << 16;

/// Two arguments made from any bits.
fn any(bits: u32) -> [u32; 2] {
    [bits, bits.rotate_left(7) ^ 0x3f80_0000]
}

/// Two arguments made from any bits, whose power is a normal number: a base from 1/16 to 16, and an
/// exponent of magnitude up to 30, often a half or an integer.
#[allow(clippy::cast_precision_loss, reason = "any number will do")]
fn moderate(bits: u32) -> [u32; 2] {
    let stirred = bits.wrapping_mul(0x9e37_79b9);
    let exponent = (stirred >> 8) as f32 / f32::from(1_u16 << 15) / 17.1 - 15.0;
    let exponent = if stirred & 3 == 0 { exponent.round() * 0.5 } else { exponent * 2.0 };
    [0x3d80_0000 + bits % 0x0400_0000, exponent.to_bits()]
}

/// Two arguments made from any bits, whose power has a magnitude up to 2^126: a base from 7/8 to 9/8, other than 1, where
/// a logarithm by a table has its largest relative errors, and an exponent that makes the power so large. A third
/// of the exponents are integers.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "any number will do")]
fn compound(bits: u32) -> [u32; 2] {
    let stirred = bits.wrapping_mul(0x9e37_79b9);
    let base = 0x3f60_0000 + bits % 0x0030_0000;
    let base = base + u32::from(base == 0x3f80_0000);
    let logarithm = f64::from(stirred.cast_signed() >> 8) * (125.9 / f64::from(1_u32 << 23));
    let exponent = (logarithm / f64::from(f32::from_bits(base)).log2()) as f32;
    let exponent = if stirred.is_multiple_of(3) { exponent.round() } else { exponent };
    [base, exponent.to_bits()]
}

/// Tries a function of `f32` with inputs in even steps, on one machine. `spoil` may change a
/// result.
fn try_steps(
    function: Elementary,
    step: u64,
    machine: Machine,
    arguments: impl Fn(u32) -> [u32; 2],
    spoil: impl Fn(&mut [u32]),
) {
    let text = match function.arity() {
        1 => format!("{}(x0)", function.name()),
        _ if function == Elementary::Pow => "x0 ** x1".to_owned(),
        _ => format!("{}(x0, x1)", function.name()),
    };
    let arity = function.arity();
    let program = Function::parse(&text, &[ElementType::F32; 2][..arity], &[]).unwrap().expand();
    let prepared = Prepared::for_machine(&program, machine);
    let layout = Layout::contiguous(&[AT_ONCE], Order::C).unwrap();
    let [mut x, mut y, mut mine, mut others] = [(); 4].map(|()| vec![0_u32; AT_ONCE]);
    let mut first = 0_u64;
    while first < 1 << 32 {
        for (at, (x, y)) in x.iter_mut().zip(&mut y).enumerate() {
            // After the last bits come the first again.
            let bits = (first + at as u64 * step) & 0xffff_ffff;
            [*x, *y] = arguments(u32::try_from(bits).unwrap());
        }
        let inputs = [&x, &y].map(|x| InputElements { start: x.as_ptr().cast(), layout: &layout });
        let result = ResultElements { start: mine.as_mut_ptr().cast(), layout: &layout };
        // SAFETY: every operand has as many elements
        unsafe { prepared.run(&inputs[..arity], &[], result, 0..AT_ONCE) };
        let result = ResultElements { start: others.as_mut_ptr().cast(), layout: &layout };
        // SAFETY: as above
        unsafe { interpret(&program, &inputs[..arity], &[], result) };
        spoil(&mut mine);
        let wrong = (0..AT_ONCE).find(|&at| mine[at] != others[at]);
        let shown = wrong.map(|at| format!("{:#x} gives {:#x}, not {:#x}", x[at], mine[at], others[at]));
        assert!(wrong.is_none(), "{text} on {machine:?}: {shown:?}");
        first += AT_ONCE as u64 * step;
    }
}

#[test]
fn elementary_functions_have_the_bits_of_their_primitives() {
    let machines = Machine::all();
    for (nth, &function) in Elementary::ALL.iter().enumerate() {
        try_steps(function, 64_513, machines[nth % machines.len()], any, |_| {});
    }
}

/// These functions have loops of their own on some machine.
#[test]
fn functions_by_tables_have_the_bits_of_their_primitives() {
    use Elementary as Op;
    for function in [Op::Exp, Op::Log, Op::Log2, Op::Log10, Op::Tanh] {
        try_steps(function, 16_411, Machine::detected(), any, |_| {});
    }
    for arguments in [moderate, compound] {
        try_steps(Op::Pow, 8_209, Machine::detected(), arguments, |_| {});
    }
}

/// Powers that lie close to the middle between two `f32`: a logarithm of 43 bits rounds them to the wrong one.
#[test]
fn powers_close_to_the_middle_have_the_bits_of_their_primitives() {
    let close = [
        [0x3f7c_29b5, 0x4579_a4c7],
        [0x3f82_5d55, 0xc549_db4f],
        [0x3f81_ca7d, 0x45bf_902e],
        [0x3f83_5a86, 0xc451_0000],
        [0x3f83_7e91, 0x44b0_c000],
        [0x3f83_6ae8, 0xc4d9_2000],
        [0x3f83_4d6a, 0x4548_3000],
    ];
    for machine in Machine::all() {
        try_steps(
            Elementary::Pow,
            1 << 16,
            machine,
            |bits| close[(bits >> 16) as usize % close.len()],
            |_| {},
        );
    }
}

/// The twin: a wrong result is found.
#[test]
#[should_panic(expected = "exp(x0)")]
fn a_wrong_result_of_a_function_is_found() {
    try_steps(Elementary::Exp, 64_513, Machine::detected(), any, |found| found[AT_ONCE / 2] ^= 1);
}

/// Tries all inputs of each function that `DEVARRAY_FUNCTIONS` names, or of every function. Run
/// with `cargo test --release -p devarray-function --lib all_inputs -- --ignored`.
#[test]
#[ignore = "takes a minute for each function"]
fn all_inputs_have_the_bits_of_their_primitives() {
    let chosen = std::env::var("DEVARRAY_FUNCTIONS").unwrap_or_default();
    for &function in Elementary::ALL.iter().filter(|function| function.arity() == 1) {
        if chosen.is_empty() || chosen.split(',').any(|name| name == function.name()) {
            try_steps(function, 1, Machine::detected(), any, |_| {});
        }
    }
}

/// Tries 2^32 pairs of arguments of each kind; one of `DEVARRAY_STEP` of them, if that is given.
#[test]
#[ignore = "takes minutes"]
fn all_powers_have_the_bits_of_their_primitives() {
    let step = std::env::var("DEVARRAY_STEP").map_or(1, |step| step.parse().unwrap());
    for arguments in [moderate, compound] {
        try_steps(Elementary::Pow, step, Machine::detected(), arguments, |_| {});
    }
}
