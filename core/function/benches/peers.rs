//! Times the maps that are compared with NumPy, PyTorch and JAX, on one core: ms, GB/s of the least
//! traffic, and the ratio to a copy of as many bytes, which is measured beside each case. Operands
//! lie in huge pages where the system has them, because the peers' arrays do.
//!
//! `cargo bench -p devarray-function --features executor --bench peers`; names of cases select
//! cases.
#![allow(unsafe_code)] // computes on memory of its own

use std::{
    alloc::{Layout as Block, alloc, dealloc, handle_alloc_error},
    hint::black_box,
};

use devarray_function::{
    ElementType::{self, F16, F32, F64, U8},
    Function,
    executor::Prepared,
    interpreter::{InputElements, ResultElements},
};
use devarray_layout::{Layout, Order};

const SIDE: usize = 4096;

/// The layouts of the inputs of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inputs {
    Plain,
    /// All inputs are positive.
    Positive,
    /// The second input is one row, for all rows.
    Row,
    /// The first input is transposed.
    Turned,
    /// The inputs are the inner elements, and the elements above, below, left and right of them.
    Heat,
}
use Inputs::{Heat, Plain, Positive, Row, Turned};

/// A name, a text, the type, how many inputs count as traffic, and the layouts of the inputs.
const CASES: [(&str, &str, ElementType, usize, Inputs); 18] = [
    ("add-f32", "x0 + x1", F32, 2, Plain),
    ("axpy-f32", "x0 * 2.5 + x1", F32, 2, Plain),
    (
        "poly8-f32",
        "((((((x0 * .1 + .2) * x0 + .3) * x0 + .4) * x0 + .5) * x0 + .6) * x0 + .7) * x0 + .8",
        F32,
        1,
        Plain,
    ),
    ("exp-f32", "exp(x0)", F32, 1, Plain),
    ("log-f32", "log(x0)", F32, 1, Positive),
    ("sin-f32", "sin(x0)", F32, 1, Plain),
    ("tanh-f32", "tanh(x0)", F32, 1, Plain),
    ("sqrt-f32", "sqrt(x0)", F32, 1, Positive),
    ("pow-f32", "x0 ** x1", F32, 2, Positive),
    ("gelu-f32", "0.5 * x0 * (1 + tanh(0.7978845608 * (x0 + 0.044715 * x0 * x0 * x0)))", F32, 1, Plain),
    ("exp-f64", "exp(x0)", F64, 1, Plain),
    ("add-f16", "x0 + x1", F16, 2, Plain),
    ("add-u8", "x0 + x1", U8, 2, Plain),
    ("less-f32", "x0 < x1", F32, 2, Plain),
    ("where-f32", "where(x0 < x1, x0, x1)", F32, 2, Plain),
    ("rowadd-f32", "x0 + x1", F32, 1, Row),
    ("tadd-f32", "x0 + x1", F32, 2, Turned),
    ("heat-f32", "x0 + 0.1 * (x1 + x2 + x3 + x4 - 4 * x0)", F32, 1, Heat),
];

/// Memory that begins with a huge page.
struct Pages {
    start: *mut u8,
    block: Block,
}

impl Pages {
    fn new(len_bytes: usize) -> Self {
        let block = Block::from_size_align(len_bytes.max(1), 2 << 20).expect("it fits");
        // SAFETY: it is not empty
        let start = unsafe { alloc(block) };
        if start.is_null() {
            handle_alloc_error(block);
        }
        #[cfg(target_os = "linux")]
        {
            unsafe extern "C" {
                fn madvise(start: *mut u8, len: usize, advice: i32) -> i32;
            }
            const MADV_HUGEPAGE: i32 = 14;
            // SAFETY: an advice about memory of this program; a system without huge pages refuses it
            unsafe { madvise(start, block.size(), MADV_HUGEPAGE) };
        }
        // SAFETY: all of it is there
        unsafe { start.write_bytes(0, block.size()) };
        Self { start, block }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: as it was allocated
        unsafe { dealloc(self.start, self.block) };
    }
}

/// The seconds for which the thread has run. Other programs disturb this less than the time that
/// passes.
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

/// The least seconds of several calls: a busy machine makes some slower, and none faster.
fn least(mut call: impl FnMut()) -> f64 {
    call();
    let (begun, mut best) = (now(), f64::INFINITY);
    let mut calls = 0;
    while calls < 9 || now() - begun < 0.3 {
        let start = now();
        call();
        best = best.min(now() - start);
        calls += 1;
    }
    best
}

/// Makes numbers that are roughly normally distributed around 3 (or 0.5), like the peers' numbers.
fn numbers(of: ElementType, len: usize, around: f64, positive: bool) -> Pages {
    let pages = Pages::new(len * of.len_bytes());
    let mut state = around.to_bits();
    let mut uniform = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 40) as f64 / f64::from(1 << 24)
    };
    for at in 0..len {
        let value = (uniform() + uniform() + uniform() + uniform() - 2.0) * 1.73 + around;
        let value = if positive { value.abs() + 0.1 } else { value };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]
        let bits = match of {
            F32 => (value as f32).to_bits().into(),
            F64 => value.to_bits(),
            F16 => half::f16::from_f64(value).to_bits().into(),
            _ => (value.abs() * 20.0) as u64,
        };
        let to = pages.start.wrapping_add(at * of.len_bytes());
        let bytes = bits.to_le_bytes();
        // SAFETY: inside; the low bytes come first
        unsafe { bytes.as_ptr().copy_to_nonoverlapping(to, of.len_bytes()) };
    }
    pages
}

fn chosen(name: &str) -> bool {
    let names: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    names.is_empty() || names.iter().any(|chosen| chosen == name)
}

/// Times a copy that reads and writes this many bytes together.
fn copied(len_bytes: usize) -> f64 {
    let (from, to) = (Pages::new(len_bytes / 2), Pages::new(len_bytes / 2));
    least(|| {
        // SAFETY: both have as many bytes
        unsafe { black_box(from.start).copy_to_nonoverlapping(black_box(to.start), len_bytes / 2) }
    })
}

fn maps() {
    for (name, text, of, counted, lie) in CASES {
        if !chosen(name) {
            continue;
        }
        let rows = if of == F64 { SIDE / 2 } else { SIDE };
        let whole = Layout::contiguous(&[rows, SIDE], Order::C).expect("it fits");
        let strides = [SIDE.cast_signed(), 1];
        let of_view = |offset, strides: [isize; 2]| {
            Layout::new(&[rows - 2, SIDE - 2], &strides, offset).expect("a view")
        };
        let (x, y) = (numbers(of, whole.len(), 3.0, lie == Positive), numbers(of, whole.len(), 0.5, false));
        let operands: Vec<(&Pages, Layout)> = match lie {
            Plain | Positive => vec![(&x, whole.clone()), (&y, whole.clone())],
            Row => {
                let row = Layout::new(&[rows, SIDE], &[0, 1], 0).expect("a view");
                vec![(&x, whole.clone()), (&y, row)]
            }
            Turned => vec![(&x, whole.transpose()), (&y, whole.clone())],
            Heat => [SIDE + 1, 1, 2 * SIDE + 1, SIDE, SIDE + 2]
                .map(|offset| (&x, of_view(offset, strides)))
                .to_vec(),
        };
        let shape = operands[0].1.shape().to_vec();
        let result = Layout::contiguous(&shape, Order::C).expect("it fits");
        let function = Function::parse(text, &vec![of; operands.len()], &[]).expect("it parses");
        let written = function.result_type().len_bytes();
        let program = function.expand();
        let out = Pages::new(result.len() * written);
        let inputs: Vec<_> = operands
            .iter()
            .map(|(pages, layout)| InputElements { start: pages.start.cast_const(), layout })
            .collect();
        let into = ResultElements { start: out.start, layout: &result };
        let prepared = Prepared::of(&program);
        let seconds = least(|| {
            // SAFETY: every operand has as many elements
            unsafe { prepared.run(&inputs, &[], into, 0..result.len()) }
        });
        let bytes = result.len() * (counted * of.len_bytes() + written);
        let copy = copied(bytes);
        let speed = bytes as f64 / seconds / 1e9;
        println!(
            "{name:<16} {:>8.2} ms {speed:>7.2} GB/s {:>8.2} ms copy {:>6.2} x copy",
            seconds * 1e3,
            copy * 1e3,
            seconds / copy
        );
    }
}

/// Times a call of 1,000 elements into an existing array.
fn small() {
    if !chosen("small-add-1000") {
        return;
    }
    let layout = Layout::contiguous(&[1000], Order::C).expect("it fits");
    let (x, y, out) = (numbers(F32, 1000, 3.0, false), numbers(F32, 1000, 0.5, false), Pages::new(4000));
    let program = Function::parse("x0 + x1", &[F32; 2], &[]).expect("it parses").expand();
    let inputs = [&x, &y].map(|pages| InputElements { start: pages.start.cast_const(), layout: &layout });
    let into = ResultElements { start: out.start, layout: &layout };
    let seconds = least(|| {
        for _ in 0..1000 {
            // SAFETY: every operand has 1,000 elements
            unsafe { Prepared::of(black_box(&program)).run(&inputs, &[], into, 0..1000) }
        }
    });
    println!("small-add-1000   {:>8.3} µs a call", seconds * 1e3);
}

fn main() {
    small();
    maps();
}
