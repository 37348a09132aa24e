//! Proves on a real device that functions give the bits that their primitives are defined to give,
//! and times them.
//!
//! Needs a CUDA device, so each test is ignored by default:
//! `cargo test --release -p devarray-cuda --test card -- --ignored hardware_functions:: --nocapture
//! --test-threads 1`. Each random function is computed on `LAYOUTS` random sets of layouts. The test
//! compares every byte with the interpreter's and the CPU's. `CASES` sets the number of functions, and
//! `FIRST` sets the number of the first one: 12,500 functions make 100,000 pairs of a function and
//! layouts. `SPEED` selects the timed cases whose names contain it.
#![allow(unsafe_code)] // hands operations to a stream below core, and waits before any memory goes away
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "common/small.rs"]
mod small;

use super::{cases, maps, shards};
use std::time::Instant;

use cases::{alloc, free, read};
use devarray::{
    Layout, Order,
    backend::{Device, Event, MapOp, Maps, Operand, Quiesced, Stream, Timing},
    function::{
        ElementType::{self, BF16, Bool, F16, F32, F64, U8},
        Function,
        primitive::Program,
    },
};
use devarray_conformance::Rng;
use devarray_cuda::{CudaBuffer, CudaDevice, CudaStream};
use maps::Case;
use shards::{every_case, number};

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn random_functions_on_random_layouts() {
    let layouts = number("LAYOUTS", 8);
    every_case("hardware_functions::random_functions_on_random_layouts", 300, |device, stream, which| {
        let rng = &mut Rng::new(which);
        let mut case = Case::random(rng, 12_000);
        for nth in 0..layouts {
            let expected = case.interpreted();
            let is_checked = which % 64 == 0 && nth == 0;
            assert!(!is_checked || expected == case.expected(), "case {which} interpreted: {case}");
            case.compare(&case.run(device, stream), &expected, which);
            assert!(case.executed() == expected, "case {which} on the CPU: {case}");
            case = case.on_other_layouts(rng, 12_000);
        }
        layouts
    });
}

/// Computes every function of floats, on bits that often are special values.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn functions_of_floats() {
    let device = CudaDevice::open(0).expect("a CUDA device is needed");
    let stream = device.open_stream().unwrap();
    let began = Instant::now();
    for (nth, text) in texts_of_floats().into_iter().enumerate() {
        for of in [F16, BF16, F32, F64] {
            let case = Case::of(&mut Rng::new(nth as u64), program(&text, &[of, of]), &[100_003]);
            println!("{text} of {of}");
            case.compare(&case.run(&device, &stream), &case.interpreted(), nth as u64);
        }
    }
    println!("functions of floats in {:.1} s", began.elapsed().as_secs_f64());
}

fn texts_of_floats() -> Vec<String> {
    const ONE: &str = "sqrt rsqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh \
        asinh acosh atanh erf erfc sigmoid floor ceil trunc rint abs sign square reciprocal";
    const TWO: &str = "atan2 hypot copysign minimum maximum fmin fmax fmod nextafter logaddexp";
    let one = ONE.split_whitespace().map(|name| format!("{name}(x0)"));
    let two = TWO.split_whitespace().map(|name| format!("{name}(x0, x1)"));
    let operators = ["x0 ** x1", "x0 / x1", "x0 // x1", "x0 % x1"].map(str::to_owned);
    one.chain(two).chain(operators).collect()
}

/// Needs no device: every text in this file is a valid function.
#[test]
fn every_text_here_is_a_function() {
    for text in texts_of_floats() {
        for of in [F16, BF16, F32, F64] {
            assert_eq!(program(&text, &[of, of]).result_type(), of);
        }
    }
    assert!(speeds().iter().all(|speed| speed.layouts.len() == speed.program.inputs().len() + 1));
    assert_eq!(hashed().result_type(), U8);
}

/// Makes bytes that depend on their position.
fn hashed() -> Program {
    program("cast((i0 * 2654435761) >> 24, u8)", &[])
}

/// Uses more elements, and greater distances, than 32 bits can count.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn beyond_32_bits() {
    let device = CudaDevice::open(0).expect("a CUDA device is needed");
    let stream = device.open_stream().unwrap();
    let far = (1_usize << 32) + 48;
    let len = far + 5_000;
    let (large, small) = (alloc(&stream, len), alloc(&stream, 3_000));
    let hashed = hashed();
    let all = Layout::new(&[len], &[1], 0).unwrap();
    // SAFETY: the layout lies inside the buffer.
    let op = unsafe { MapOp::new_unchecked(&hashed, &[], &[], Operand::new(&large, &all)) };
    device.map(&stream, &op).unwrap();
    let expected = |at: usize| ((at as u64).wrapping_mul(2_654_435_761) >> 24).to_le_bytes()[0];
    for from in [0, (1 << 30) - 500, (1 << 31) - 500, 3 << 30, (1 << 32) - 500, len - 1_000] {
        let found = read(&stream, &large, from, 1_000);
        assert!((from..from + 1_000).map(expected).eq(found), "from {from}");
    }
    // Copies rows that are more than 32 bits apart, forwards and backwards, and columns.
    for (strides, offset) in [([far.cast_signed(), 1], 7), ([-far.cast_signed(), 1], far + 3)] {
        for turned in [false, true] {
            let shape = if turned { [1_500, 2] } else { [2, 1_500] };
            let strides = if turned { [strides[1], strides[0]] } else { strides };
            let (from, to) = (
                Layout::new(&shape, &strides, offset).unwrap(),
                Layout::contiguous(&shape, Order::C).unwrap(),
            );
            let copied = program("x0 + x0", &[U8]);
            let inputs = [Operand::new(&large, &from)];
            // SAFETY: both layouts lie inside their buffers.
            let op = unsafe { MapOp::new_unchecked(&copied, &inputs, &[], Operand::new(&small, &to)) };
            device.map(&stream, &op).unwrap();
            let doubled = |at: usize| expected(at).wrapping_mul(2);
            let found = read(&stream, &small, 0, 3_000);
            assert!(cases::positions(&from).into_iter().map(doubled).eq(found), "{from:?}");
        }
    }
    free(&stream, large);
    free(&stream, small);
    assert_eq!(stream.synchronize(), Quiesced::Done);
}

/// A timed function with its shape, and the strides and offset of its result and of each input.
struct Speed {
    name: &'static str,
    program: Program,
    shape: Vec<usize>,
    /// The result's strides and offset come first.
    layouts: Vec<(Vec<isize>, usize)>,
}

fn program(text: &str, inputs: &[ElementType]) -> Program {
    Function::parse(text, inputs, &[]).unwrap().expand()
}

fn speeds() -> Vec<Speed> {
    const N: usize = 1 << 28;
    const M: usize = 16_384;
    let m = M.cast_signed();
    let flat = || (vec![1], 0);
    let one = |name, inputs: &[ElementType], n, text| Speed {
        name,
        program: program(text, inputs),
        shape: vec![n],
        layouts: vec![flat(); inputs.len() + 1],
    };
    let square = |name, of: ElementType, strides: &[[isize; 2]], text| Speed {
        name,
        program: program(text, &vec![of; strides.len() - 1]),
        shape: vec![M, M],
        layouts: strides.iter().map(|strides| (strides.to_vec(), 0)).collect(),
    };
    let add = "x0 + x1";
    let turned = [[m, 1], [1, m], [m, 1]];
    let gelu = "0.5 * x0 * (1 + tanh(0.7978845608 * (x0 + 0.044715 * (x0 * x0 * x0))))";
    let (h, w) = (512_isize, 512_isize);
    vec![
        one("add-f32", &[F32, F32], N, add),
        one("axpy-f32", &[F32, F32], N, "x0 * 2.5 + x1"),
        Speed { layouts: vec![(vec![1], 1); 3], ..one("add-f32-offset", &[F32, F32], N - 7, add) },
        Speed {
            layouts: vec![flat(), (vec![1], 1), flat()],
            ..one("add-f32-apart", &[F32, F32], N - 7, add)
        },
        Speed {
            layouts: vec![flat(), (vec![-1], N - 1), flat()],
            ..one("add-f32-reversed", &[F32, F32], N, add)
        },
        one("exp-f32", &[F32], N, "exp(x0)"),
        one("sin-f32", &[F32], N, "sin(x0)"),
        one("log-f32", &[F32], N, "log(x0)"),
        one("tanh-f32", &[F32], N, "tanh(x0)"),
        one("gelu-f32", &[F32], N, gelu),
        one("exp-f64", &[F64], N / 2, "exp(x0)"),
        one("less-f32", &[F32, F32], N, "x0 < x1"),
        one("cast-f32-f16", &[F32], N, "cast(x0, f16)"),
        one("add-f16", &[F16, F16], N, add),
        one("add-bf16", &[BF16, BF16], N, add),
        one("add-u8", &[U8, U8], N, add),
        one("add-f64", &[F64, F64], N / 2, add),
        one("where-f32", &[Bool, F32, F32], N, "where(x0, x1, x2)"),
        square("rowadd-f32", F32, &[[m, 1], [m, 1], [0, 1]], add),
        square("coladd-f32", F32, &[[m, 1], [m, 1], [1, 0]], add),
        square("outer-f32", F32, &[[m, 1], [0, 1], [1, 0]], "x0 * x1"),
        square("tadd-f32", F32, &turned, add),
        square("tadd-f16", F16, &turned, add),
        square("tadd-u8", U8, &turned, add),
        square("tadd-f64", F64, &turned, add),
        square("everyadd-f32", F32, &[[m, 1], [2 * m, 2], [2 * m, 2]], add),
        Speed { shape: vec![M, M - 1], ..square("odd-rows-f32", F32, &[[m - 1, 1], [m, 1], [m, 1]], add) },
        Speed {
            name: "imagenorm-u8-f32",
            program: program("(cast(x0, f32) / 255.0 - x1) / x2", &[U8, F32, F32]),
            shape: vec![256, 3, 512, 512],
            layouts: vec![
                (vec![3 * h * w, h * w, w, 1], 0),
                (vec![3 * h * w, 1, 3 * w, 3], 0),
                (vec![0, 1, 0, 0], 0),
                (vec![0, 1, 0, 0], 0),
            ],
        },
        Speed {
            name: "planes-to-pixels-f32",
            program: program(add, &[F32, F32]),
            shape: vec![256, 512, 512, 3],
            layouts: vec![
                (vec![3 * h * w, 3 * w, 3, 1], 0),
                (vec![3 * h * w, w, 1, h * w], 0),
                (vec![0, 0, 0, 1], 0),
            ],
        },
    ]
}

impl Speed {
    fn layout(&self, at: usize) -> Layout {
        let (strides, offset) = &self.layouts[at];
        Layout::new(&self.shape, strides, *offset).unwrap()
    }

    fn element_type(&self, at: usize) -> ElementType {
        if at == 0 { self.program.result_type() } else { self.program.inputs()[at - 1] }
    }

    /// The number of elements of an operand, where repeated elements count once.
    fn elements(&self, at: usize) -> usize {
        let strides = &self.layouts[at].0;
        self.shape.iter().zip(strides).filter(|(_, stride)| **stride != 0).map(|(extent, _)| extent).product()
    }

    fn time(&self, device: &CudaDevice, stream: &CudaStream) {
        let count = self.layouts.len();
        let layouts: Vec<Layout> = (0..count).map(|at| self.layout(at)).collect();
        let len = |at: usize| (layouts[at].span().end + 8) * self.element_type(at).len_bytes();
        let buffers: Vec<CudaBuffer> = (0..count).map(|at| alloc(stream, len(at))).collect();
        for (at, buffer) in buffers.iter().enumerate().skip(1) {
            fill(device, stream, buffer, len(at) / 4);
        }
        let operand = |at: usize| Operand::new(&buffers[at], &layouts[at]);
        let inputs: Vec<Operand<'_, CudaBuffer>> = (1..count).map(operand).collect();
        // SAFETY: the layouts lie inside the buffers, which are apart.
        let op = unsafe { MapOp::new_unchecked(&self.program, &inputs, &[], operand(0)) };
        let began = Instant::now();
        device.map(stream, &op).unwrap();
        let enqueued = began.elapsed().as_secs_f64() * 1e3;
        assert_eq!(stream.synchronize(), Quiesced::Done, "{}", self.name);
        let first = began.elapsed().as_secs_f64() * 1e3;
        let mut seconds: Vec<f64> = (0..9)
            .map(|_| {
                let start = device.record_timed(stream).unwrap();
                for _ in 0..4 {
                    device.map(stream, &op).unwrap();
                }
                let end = device.record_timed(stream).unwrap();
                assert_eq!(end.synchronize(), Quiesced::Done);
                device.elapsed(&start, &end).unwrap().unwrap().as_secs_f64() / 4.0
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        let bytes: usize = (0..count).map(|at| self.elements(at) * self.element_type(at).len_bytes()).sum();
        println!(
            "{:22} {:8.1} GB/s (best {:8.1}); first call {enqueued:.1} ms, done after {first:.1} ms",
            self.name,
            bytes as f64 / seconds[4] / 1e9,
            bytes as f64 / seconds[0] / 1e9,
        );
        buffers.into_iter().for_each(|buffer| free(stream, buffer));
        assert_eq!(stream.synchronize(), Quiesced::Done);
    }
}

/// Writes numbers that look random and are never a NaN as `f32`. A short buffer gets deviations of channels.
fn fill(device: &CudaDevice, stream: &CudaStream, buffer: &CudaBuffer, words: usize) {
    let noise = "(cast(i0 * 2654435761, u32) ^ cast(i0 * 2654435761, u32) >> 14) & 1069531071";
    let program = program(if words < 16 { "cast(i0 + 1, f32) * 0.23" } else { noise }, &[]);
    let layout = Layout::new(&[words], &[1], 0).unwrap();
    // SAFETY: the layout lies inside the buffer.
    let op = unsafe { MapOp::new_unchecked(&program, &[], &[], Operand::new(buffer, &layout)) };
    device.map(stream, &op).unwrap();
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn speed() {
    let device = CudaDevice::open(0).expect("a CUDA device is needed");
    let stream = device.open_stream().unwrap();
    let wanted = std::env::var("SPEED").unwrap_or_default();
    for speed in speeds().into_iter().filter(|speed| speed.name.contains(&wanted)) {
        speed.time(&device, &stream);
    }
    small::of_operations(&device, &stream);
    small::of_arrays();
    assert_eq!(device.take_errors(), []);
}
