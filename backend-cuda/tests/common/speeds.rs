//! Reductions to time.
#![allow(unsafe_code)] // hands operations to a stream below core, and waits before any memory goes away

use std::time::Instant;

use devarray::{
    Layout,
    backend::{
        Buffer, Event, FusedOp, Fuses, MapOp, Maps, Operand, Quiesced, ReduceForm, ReduceOp, Reduces, Stream,
        Timing,
    },
    function::{
        Combine,
        ElementType::{self, Bool, F16, F32, F64, I64, U8, U32, U64},
        interpreter::Reducing,
        primitive::{Binary, Constant, Instruction, Program, ProgramBuilder, Register, Unary},
    },
};
use devarray_cuda::{CudaBuffer, CudaDevice, CudaStream};

use super::{
    cases::{alloc, free},
    reductions::{canonical, same},
};

/// One reduction of some buffers into another.
struct Pass {
    program: Program,
    combine: Combine,
    form: ReduceForm,
    finish: Program,
    finish_scalars: Vec<u64>,
    shape: Vec<usize>,
    /// Numbers of buffers, and layouts.
    inputs: Vec<(usize, Layout)>,
    result: (usize, Layout),
}

/// Reductions one after another that are timed together.
pub(crate) struct Speed {
    pub(crate) name: &'static str,
    /// Least traffic.
    bytes: usize,
    calls: u32,
    /// Bytes of buffers; those that are results are last.
    buffers: Vec<usize>,
    passes: Vec<Pass>,
}

type Make<'a> = &'a dyn Fn(&mut ProgramBuilder, &[Register]) -> Register;

fn program(inputs: &[ElementType], result: ElementType, make: Make<'_>) -> Program {
    let mut builder = ProgramBuilder::new(inputs, &[]);
    let registers: Vec<Register> =
        (0..inputs.len()).map(|at| builder.push(Instruction::Input(u8::try_from(at).unwrap()))).collect();
    let register = make(&mut builder, &registers);
    builder.finish(register, result)
}

fn to_half(b: &mut ProgramBuilder, x: &[Register]) -> Register {
    let half = b.unary(Unary::F32ToHalf, x[0]);
    let number = b.binary(Binary::Equal, x[0], x[0]);
    let nan = b.constant(Constant::B32(0x7e00));
    b.select(number, half, nan)
}

fn contiguous(shape: &[usize]) -> Layout {
    let mut strides = vec![1_isize; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].cast_signed();
    }
    Layout::new(shape, &strides, 0).unwrap()
}

/// A reduction of one input, whose axes `shape` has in the order kept, reduced.
fn one(
    name: &'static str,
    program: Program,
    combine: Combine,
    finish: Program,
    (shape, strides, kept): (&[usize], &[isize], usize),
) -> Speed {
    let input = program.inputs()[0];
    let layout = Layout::new(shape, strides, 0).unwrap();
    let result = contiguous(&shape[..kept]);
    let read = shape.iter().zip(strides).filter(|(_, stride)| **stride != 0).map(|(extent, _)| extent);
    let out = result.len() * finish.result_type().len_bytes();
    Speed {
        name,
        bytes: read.product::<usize>() * input.len_bytes() + out,
        calls: 4,
        buffers: vec![layout.span().end * input.len_bytes(), out],
        passes: vec![Pass {
            program,
            combine,
            form: ReduceForm::Total,
            finish,
            finish_scalars: Vec::new(),
            shape: shape.to_vec(),
            inputs: vec![(0, layout)],
            result: (1, result),
        }],
    }
}

fn sum(name: &'static str, axes: (&[usize], &[isize], usize)) -> Speed {
    one(name, same(F32), Combine::Sum, canonical(F32), axes)
}

fn half_sum(name: &'static str, axes: (&[usize], &[isize], usize)) -> Speed {
    let widened = program(&[F16], F32, &|b, x| b.unary(Unary::HalfToF32, x[0]));
    one(name, widened, Combine::Sum, program(&[F32], F16, &to_half), axes)
}

fn variance(m: usize) -> Speed {
    let stride = m.cast_signed();
    let mut speed = sum("var1-f32", (&[m, m], &[stride, 1], 1));
    let divided = |name: &[ElementType]| {
        let mut b = ProgramBuilder::new(name, &[F32]);
        let (x, n) = (b.push(Instruction::Input(0)), b.push(Instruction::Scalar(0)));
        let mean = b.binary(Binary::Divide, x, n);
        b.finish(mean, F32)
    };
    let count = vec![u64::from((m as f32).to_bits())];
    speed.passes[0].finish = divided(&[F32]);
    speed.passes[0].finish_scalars = count.clone();
    let squares = program(&[F32, F32], F32, &|b, x| {
        let deviation = b.binary(Binary::Subtract, x[0], x[1]);
        b.binary(Binary::Multiply, deviation, deviation)
    });
    let mean = Layout::new(&[m, m], &[1, 0], 0).unwrap();
    speed.buffers.push(4 * m);
    let second = Pass {
        program: squares,
        combine: Combine::Sum,
        form: ReduceForm::Total,
        finish: divided(&[F32]),
        finish_scalars: count,
        shape: vec![m, m],
        inputs: vec![(0, speed.passes[0].inputs[0].1.clone()), (1, mean)],
        result: (2, contiguous(&[m])),
    };
    speed.passes.push(second);
    speed
}

fn dot(n: usize) -> Speed {
    let mut speed = sum("dot-f32", (&[n], &[1], 0));
    speed.passes[0].program = program(&[F32, F32], F32, &|b, x| b.binary(Binary::Multiply, x[0], x[1]));
    speed.passes[0].inputs.push((1, contiguous(&[n])));
    speed.passes[0].result.0 = 2;
    speed.buffers.insert(1, 4 * n);
    speed.bytes += 4 * n;
    speed
}

fn running(name: &'static str, shape: &[usize], strides: &[isize]) -> Speed {
    let mut speed = sum(name, (shape, strides, 0));
    let pass = &mut speed.passes[0];
    pass.form = ReduceForm::Inclusive;
    pass.result.1 = pass.inputs[0].1.clone();
    speed.buffers[1] = speed.buffers[0];
    speed.bytes = 2 * speed.buffers[0];
    speed
}

pub(crate) fn speeds() -> Vec<Speed> {
    const N: usize = 1 << 28;
    const M: usize = 16_384;
    let m = M.cast_signed();
    let of = |name, element_type: ElementType, combine: Combine, axes: (&[usize], &[isize], usize)| {
        one(name, same(element_type), combine, canonical(combine.result_type(element_type)), axes)
    };
    let small = |name, n: usize| Speed { calls: 2_000, ..sum(name, (&[n], &[1], 0)) };
    let count = program(&[U8], U64, &|b, x| b.unary(Unary::ZeroExtend, x[0]));
    vec![
        sum("sum-f32", (&[N], &[1], 0)),
        half_sum("sum-f16", (&[N], &[1], 0)),
        of("sum-f64", F64, Combine::Sum, (&[N / 2], &[1], 0)),
        of("max-f32", F32, Combine::Maximum, (&[N], &[1], 0)),
        of("argmax-f32", F32, Combine::ArgMaximum, (&[N], &[1], 0)),
        sum("sum0-f32", (&[M, M], &[1, m], 1)),
        sum("sum1-f32", (&[M, M], &[m, 1], 1)),
        sum("summid-f32", (&[256, 1024, 1024], &[1 << 20, 1, 1024], 2)),
        sum("sum1-tall-f32", (&[N / 16, 16], &[16, 1], 1)),
        sum("sum0-tall-f32", (&[16, N / 16], &[1, 16], 1)),
        variance(M),
        of("argmax1-f32", F32, Combine::ArgMaximum, (&[M, M], &[m, 1], 1)),
        of("all-bool", Bool, Combine::Minimum, (&[N], &[1], 0)),
        dot(N),
        running("cumsum-f32", &[N], &[1]),
        small("small-sum-100k", 100_000),
        small("small-sum-1k", 1_000),
        // Shapes that are hard.
        sum("hard-3-f32", (&[N / 3, 3], &[3, 1], 1)),
        sum("hard-7-f32", (&[N / 7, 7], &[7, 1], 1)),
        sum("hard-33-f32", (&[N / 33, 33], &[33, 1], 1)),
        sum("hard-100-f32", (&[N / 100, 100], &[100, 1], 1)),
        sum("hard-1000-f32", (&[N / 1000, 1000], &[1000, 1], 1)),
        sum("hard-5000-f32", (&[N / 5000, 5000], &[5000, 1], 1)),
        sum("hard-20000-f32", (&[N / 20_000, 20_000], &[20_000, 1], 1)),
        sum("hard-columns-3-f32", (&[3, N / 3], &[1, 3], 1)),
        sum("hard-columns-100-f32", (&[100, N / 100], &[1, 100], 1)),
        sum("hard-columns-512-f32", (&[512, N / 512], &[1, 512], 1)),
        sum("hard-few-rows-f32", (&[N / 16, 16], &[1, (N / 16).cast_signed()], 1)),
        sum("hard-middle-f32", (&[64, 8192, 512], &[512 * 8192, 1, 8192], 2)),
        sum("hard-middle-16-f32", (&[N / 1024, 64, 16], &[1024, 1, 64], 2)),
        sum("hard-middle-4-f32", (&[N / 64, 4, 16], &[64, 1, 4], 2)),
        sum("hard-step-f32", (&[M, M / 2], &[m, 2], 1)),
        sum("hard-turned-f32", (&[M, M], &[1, m], 0)),
        sum("hard-offset-f32", (&[M, M - 1], &[m - 1, 1], 1)),
        half_sum("hard-columns-f16", (&[M, M], &[1, m], 1)),
        half_sum("hard-1000-f16", (&[N / 1000, 1000], &[1000, 1], 1)),
        of("hard-columns-f64", F64, Combine::Sum, (&[M, M / 2], &[1, m], 1)),
        of("hard-1000-f64", F64, Combine::Sum, (&[N / 2000, 1000], &[1000, 1], 1)),
        one("hard-u8", count.clone(), Combine::Sum, same(U64), (&[N], &[1], 0)),
        one("hard-columns-u8", count, Combine::Sum, same(U64), (&[M, M], &[1, m], 1)),
        of("hard-sum-i64", I64, Combine::Sum, (&[N / 2], &[1], 0)),
        of("hard-max0-f32", F32, Combine::Maximum, (&[M, M], &[1, m], 1)),
        running("running-rows-f32", &[M, M], &[m, 1]),
        running("running-short-f32", &[N / 64, 64], &[64, 1]),
        running("running-columns-f32", &[M, M], &[1, m]),
    ]
}

impl Speed {
    pub(crate) fn time(&self, device: &CudaDevice, stream: &CudaStream) {
        let buffers: Vec<CudaBuffer> = self.buffers.iter().map(|&len| alloc(stream, len + 16)).collect();
        buffers.iter().for_each(|buffer| noise(device, stream, buffer));
        let run = || {
            let works: Vec<Reducing<'_>> = self
                .passes
                .iter()
                .map(|pass| Reducing {
                    program: &pass.program,
                    scalars: &[],
                    combine: pass.combine,
                    finish: &pass.finish,
                    finish_scalars: &pass.finish_scalars,
                })
                .collect();
            let inputs: Vec<Vec<Operand<'_, CudaBuffer>>> = self
                .passes
                .iter()
                .map(|pass| {
                    pass.inputs.iter().map(|(at, layout)| Operand::new(&buffers[*at], layout)).collect()
                })
                .collect();
            let ops: Vec<ReduceOp<'_, CudaBuffer>> = (self.passes.iter().zip(&works).zip(&inputs))
                .map(|((pass, &work), inputs)| {
                    let result = Operand::new(&buffers[pass.result.0], &pass.result.1);
                    // SAFETY: the layouts lie inside the buffers, which are apart.
                    unsafe { ReduceOp::new_unchecked(work, pass.form, &pass.shape, inputs, result) }
                })
                .collect();
            match &ops[..] {
                both @ [_, _] => {
                    // SAFETY: the second reads what the first gives.
                    device.fuse(stream, &unsafe { FusedOp::new_unchecked(both, None) }).unwrap();
                }
                all => all.iter().for_each(|op| device.reduce(stream, op).unwrap()),
            }
        };
        let began = Instant::now();
        run();
        assert_eq!(stream.synchronize(), Quiesced::Done, "{}", self.name);
        let first = began.elapsed().as_secs_f64() * 1e3;
        let mut seconds: Vec<f64> = (0..9)
            .map(|_| {
                let start = device.record_timed(stream).unwrap();
                (0..self.calls).for_each(|_| run());
                let end = device.record_timed(stream).unwrap();
                assert_eq!(end.synchronize(), Quiesced::Done);
                device.elapsed(&start, &end).unwrap().unwrap().as_secs_f64() / f64::from(self.calls)
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        println!(
            "{:22} {:8.1} GB/s (best {:8.1}), {:9.2} us a call; first call {first:.1} ms",
            self.name,
            self.bytes as f64 / seconds[4] / 1e9,
            self.bytes as f64 / seconds[0] / 1e9,
            seconds[4] * 1e6,
        );
        buffers.into_iter().for_each(|buffer| free(stream, buffer));
        assert_eq!(stream.synchronize(), Quiesced::Done);
    }
}

/// Numbers that look random, and are no NaN as `f32`.
fn noise(device: &CudaDevice, stream: &CudaStream, buffer: &CudaBuffer) {
    let mut b = ProgramBuilder::new(&[], &[]);
    let at = b.push(Instruction::Position(0));
    let low = b.unary(Unary::Wrap, at);
    let factor = b.constant(Constant::B32(0x9e37_79b1));
    let mixed = b.binary(Binary::Multiply, low, factor);
    let mask = b.constant(Constant::B32(0x3fbf_bfbf));
    let mixed = b.binary(Binary::And, mixed, mask);
    let program = b.finish(mixed, U32);
    let layout = contiguous(&[buffer.len_bytes() / 4]);
    // SAFETY: the layout lies inside the buffer.
    let op = unsafe { MapOp::new_unchecked(&program, &[], &[], Operand::new(buffer, &layout)) };
    device.map(stream, &op).unwrap();
}
