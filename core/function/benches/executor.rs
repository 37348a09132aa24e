//! Compares the executor with the interpreter, on one core: times, ratios, and how long a small call
//! takes. On Linux the thread's own time is measured, so that a busy machine disturbs less.
//!
//! `cargo bench -p devarray-function --bench executor`; names of cases select cases.
#![allow(unsafe_code)] // computes on memory of its own

use std::{hint::black_box, ops::Range};

use devarray_function::{
    Combine,
    ElementType::{self, F16, F32, F64, I32, U8},
    Function, ReduceForm,
    executor::{execute, execute_reduction},
    interpreter::{InputElements, Reducing, ResultElements, interpret, interpret_reduction},
    primitive::Program,
};
use devarray_layout::{Layout, Order};

const SIDE: usize = 4096;

/// Maps: a name, a text, the type, and whether the first input is transposed.
const MAPS: [(&str, &str, ElementType, bool); 20] = [
    ("add", "x0 + x1", F32, false),
    (
        "8 x mul-add",
        "(((((((x0 * 0.1 + 0.2) * x0 + 0.3) * x0 + 0.4) * x0 + 0.5) * x0 + 0.6) * x0 + 0.7) * x0 + 0.8)",
        F32,
        false,
    ),
    ("exp", "exp(x0)", F32, false),
    ("log", "log(x0)", F32, false),
    ("sin", "sin(x0)", F32, false),
    ("tanh", "tanh(x0)", F32, false),
    ("atan", "atan(x0)", F32, false),
    ("erf", "erf(x0)", F32, false),
    ("sigmoid", "sigmoid(x0)", F32, false),
    ("sqrt", "sqrt(x0)", F32, false),
    ("pow", "x0 ** x1", F32, false),
    ("modulo", "x0 % x1", F32, false),
    ("exp of f64", "exp(x0)", F64, false),
    ("sin of f64", "sin(x0)", F64, false),
    ("f16 add", "x0 + x1", F16, false),
    ("u8 add", "x0 + x1", U8, false),
    ("i32 floor division", "x0 // x1", I32, false),
    ("where", "where(x0 < x1, x0, x1 * 2)", F32, false),
    ("x.T + y", "x0 + x1", F32, true),
    ("copy of x.T", "x0 * 1", F32, true),
];

/// Reductions of `x0` or of a function: a name, a text, the type, the number of kept axes of (rows,
/// columns), whether the first axis is reduced, and the form.
const REDUCTIONS: [(&str, &str, Combine, usize, bool, ReduceForm); 12] = [
    ("sum", "x0", Combine::Sum, 0, false, ReduceForm::Total),
    ("sum of squares", "x0 * x0", Combine::Sum, 0, false, ReduceForm::Total),
    ("sum of x.T", "x0", Combine::Sum, 0, true, ReduceForm::Total),
    ("sum axis 0", "x0", Combine::Sum, 1, true, ReduceForm::Total),
    ("sum axis 1", "x0", Combine::Sum, 1, false, ReduceForm::Total),
    ("min", "x0", Combine::Minimum, 0, false, ReduceForm::Total),
    ("min axis 0", "x0", Combine::Minimum, 1, true, ReduceForm::Total),
    ("argmin", "x0", Combine::ArgMinimum, 0, false, ReduceForm::Total),
    ("argmin axis 0", "x0", Combine::ArgMinimum, 1, true, ReduceForm::Total),
    ("cumsum", "x0", Combine::Sum, 0, false, ReduceForm::Inclusive),
    ("cumsum axis 0", "x0", Combine::Sum, 1, true, ReduceForm::Inclusive),
    ("var, second pass", "(x0 - 0.5) * (x0 - 0.5)", Combine::Sum, 0, false, ReduceForm::Total),
];

/// The seconds for which the thread has run.
#[cfg(target_os = "linux")]
fn now() -> f64 {
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
    }
    const CLOCK_THREAD_CPUTIME_ID: i32 = 3;
    let mut time = [0, 0];
    // SAFETY: seconds and nanoseconds are written, 64 bits each on 64-bit systems
    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time[0] as f64 + time[1] as f64 * 1e-9
}

#[cfg(not(target_os = "linux"))]
fn now() -> f64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0.0, |time| time.as_secs_f64())
}

/// The least time of several calls, in ms.
fn least(at_least: usize, mut call: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    let begun = now();
    let mut calls = 0;
    while calls < at_least || now() - begun < 0.15 {
        let start = now();
        call();
        best = best.min((now() - start) * 1e3);
        calls += 1;
    }
    best
}

/// Makes numbers near 1 of a type, as bytes.
fn numbers(of: ElementType, len: usize, seed: u64) -> Vec<u64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 40) as f64 / f64::from(1 << 24) * 4.0 + 0.1
    };
    let mut bytes = Vec::with_capacity(len * of.len_bytes() + 8);
    for _ in 0..len {
        let value = next();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]
        match of {
            F32 => bytes.extend((value as f32).to_le_bytes()),
            F64 => bytes.extend(value.to_le_bytes()),
            F16 => bytes.extend(half::f16::from_f64(value).to_bits().to_le_bytes()),
            U8 => bytes.push((value * 20.0) as u8),
            _ => bytes.extend(((value * 1000.0) as i32).to_le_bytes()),
        }
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes.chunks_exact(8).map(|bytes| u64::from_ne_bytes(bytes.try_into().expect("8 bytes"))).collect()
}

fn chosen(name: &str) -> bool {
    let names: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    names.is_empty() || names.iter().any(|chosen| chosen == name)
}

fn print(name: &str, executor: f64, interpreter: f64) {
    println!("{name:<20} {executor:>9.2} ms {interpreter:>9.2} ms  ratio {:.3}", executor / interpreter);
}

fn maps() {
    for (name, text, of, turned) in MAPS {
        if !chosen(name) {
            continue;
        }
        let layout = Layout::contiguous(&[SIDE, SIDE], Order::C).expect("it fits");
        let other = if turned { layout.transpose() } else { layout.clone() };
        let (a, b) = (numbers(of, layout.len(), 1), numbers(of, layout.len(), 2));
        let function = Function::parse(text, &[of; 2], &[]).expect("it parses");
        let program = function.expand();
        let inputs = [
            InputElements { start: a.as_ptr().cast(), layout: &other },
            InputElements { start: b.as_ptr().cast(), layout: &layout },
        ];
        let (mut mine, mut others) = (vec![1_u64; a.len()], vec![1_u64; a.len()]);
        let result = ResultElements { start: mine.as_mut_ptr().cast(), layout: &layout };
        let executor = least(5, || {
            // SAFETY: every operand has as many elements
            unsafe { execute(&program, &inputs, &[], result) }
        });
        let result = ResultElements { start: others.as_mut_ptr().cast(), layout: &layout };
        let interpreter = least(1, || {
            // SAFETY: every operand has as many elements
            unsafe { interpret(&program, &inputs, &[], result) }
        });
        assert!(mine == others, "{name}: other bits");
        print(name, executor, interpreter);
    }
}

fn reductions() {
    let x = numbers(F32, SIDE * SIDE, 3);
    let layout = Layout::contiguous(&[SIDE, SIDE], Order::C).expect("it fits");
    for (name, text, combine, kept, turned, form) in REDUCTIONS {
        if !chosen(name) {
            continue;
        }
        let layout = if turned { layout.transpose() } else { layout.clone() };
        let program = Function::parse(text, &[F32], &[]).expect("it parses");
        let program: Program = program.combined_program().clone();
        let of = combine.result_type(F32);
        let finish = Function::parse("x0", &[of], &[]).expect("it parses").expand();
        let shape = if form == ReduceForm::Total || kept == 1 { vec![SIDE, SIDE] } else { vec![SIDE * SIDE] };
        let layout =
            if shape.len() == 1 { Layout::contiguous(&shape, Order::C).expect("it fits") } else { layout };
        let result_shape = if form == ReduceForm::Total { &shape[..kept] } else { &shape };
        let mut result = Layout::contiguous(result_shape, Order::C).expect("it fits");
        if form != ReduceForm::Total && turned {
            result = result.transpose();
        }
        let rows: Range<usize> = match form {
            ReduceForm::Total => 0..result.len(),
            _ => 0..shape[..shape.len() - 1].iter().product(),
        };
        let inputs = [InputElements { start: x.as_ptr().cast(), layout: &layout }];
        let work =
            Reducing { program: &program, scalars: &[], combine, finish: &finish, finish_scalars: &[] };
        let (mut mine, mut others) = (vec![1_u64; result.len()], vec![1_u64; result.len()]);
        let into = ResultElements { start: mine.as_mut_ptr().cast(), layout: &result };
        let executor = least(5, || {
            // SAFETY: every operand has as many elements
            unsafe { execute_reduction(&work, form, &inputs, &shape, into, rows.clone()) }
        });
        let into = ResultElements { start: others.as_mut_ptr().cast(), layout: &result };
        let interpreter = least(1, || {
            // SAFETY: every operand has as many elements
            unsafe { interpret_reduction(&work, form, &inputs, &shape, into, rows.clone()) }
        });
        assert!(mine == others, "{name}: other bits");
        print(name, executor, interpreter);
    }
}

/// Times calls of 1,000 elements, in µs.
fn small() {
    for (name, text) in
        [("add of 1,000", "x0 + x1"), ("exp of 1,000", "exp(x0)"), ("x * 2 + 1 of 1,000", "x0 * 2 + 1")]
    {
        if !chosen(name) {
            continue;
        }
        let layout = Layout::contiguous(&[1000], Order::C).expect("it fits");
        let (a, b, mut out) = (numbers(F32, 1000, 1), numbers(F32, 1000, 2), vec![0_u64; 500]);
        let program = Function::parse(text, &[F32; 2], &[]).expect("it parses").expand();
        let inputs = [&a, &b].map(|x| InputElements { start: x.as_ptr().cast(), layout: &layout });
        let result = ResultElements { start: out.as_mut_ptr().cast(), layout: &layout };
        let executor = least(5, || {
            for _ in 0..1000 {
                // SAFETY: every operand has 1,000 elements
                unsafe { execute(black_box(&program), &inputs, &[], result) }
            }
        });
        let interpreter = least(1, || {
            for _ in 0..1000 {
                // SAFETY: every operand has 1,000 elements
                unsafe { interpret(black_box(&program), &inputs, &[], result) }
            }
        });
        println!("{name:<20} {executor:>9.2} µs {interpreter:>9.2} µs  ratio {:.3}", executor / interpreter);
    }
}

fn main() {
    println!("{:<20} {:>12} {:>12}", "", "executor", "interpreter");
    small();
    maps();
    reductions();
}
