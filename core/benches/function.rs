//! Elements a second that the interpreter computes on one core.
#![allow(unsafe_code)] // interprets programs on memory of its own

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use devarray::{
    Layout, Order,
    function::{
        ElementType, Function,
        interpreter::{InputElements, ResultElements, interpret},
    },
};

const LEN: usize = 1 << 20;

const CASES: [(&str, &str, ElementType); 11] = [
    (
        "10 operations",
        "fma(fma(fma(fma(x0, x1, x0), x1, k0) * x0 - x1, x0, x1), k0, x1) * x0 + x1",
        ElementType::F32,
    ),
    ("axpy", "x0 * k0 + x1", ElementType::F32),
    ("relu", "maximum(x0, 0)", ElementType::F32),
    ("clip", "clip(x0, -1, 1)", ElementType::F32),
    ("floor division", "x0 // x1", ElementType::F32),
    ("floor division of f64", "x0 // x1", ElementType::F64),
    ("axpy of f16", "x0 * k0 + x1", ElementType::F16),
    ("exp", "exp(x0)", ElementType::F32),
    ("sin", "sin(x0)", ElementType::F32),
    ("exp of f64", "exp(x0)", ElementType::F64),
    ("power of i32", "x0 ** x1", ElementType::I32),
];

fn interpreted(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("interpreter");
    group.throughput(Throughput::Elements(LEN as u64));
    for (name, text, element_type) in CASES {
        let function = Function::parse(text, &[element_type; 2], &[element_type]).expect("it parses");
        let program = function.expand();
        let layout = Layout::contiguous(&[LEN], Order::C).expect("it fits");
        // Numbers near 1 in every float type, and small integers.
        let inputs: [Vec<u64>; 2] = [0, 1].map(|nth| {
            let bits = |at: usize| (at * 7 + nth * 3) as u64 % 128;
            (0..LEN)
                .map(|at| match element_type {
                    ElementType::F32 => (0x3f80_0000 + (bits(at) << 14)) * 0x1_0000_0001,
                    ElementType::F64 => 0x3ff0_0000_0000_0000 + (bits(at) << 42),
                    ElementType::F16 => (0x3c00 + bits(at)) * 0x1_0001_0001_0001,
                    _ => bits(at) * 0x1_0000_0001,
                })
                .collect()
        });
        let mut result = vec![0_u64; LEN];
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let operands =
                    [0, 1].map(|nth| InputElements { start: inputs[nth].as_ptr().cast(), layout: &layout });
                let out = ResultElements { start: result.as_mut_ptr().cast(), layout: &layout };
                // SAFETY: every operand has 8 bytes an element
                unsafe { interpret(black_box(&program), &operands, &[0x3c00], out) };
            });
        });
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    interpreted(&mut criterion);
    criterion.final_summary();
}
