//! Random reductions and scans of random layouts, and what they must give.
#![allow(clippy::cast_possible_truncation, reason = "bits are bits")]
#![allow(unsafe_code)] // hands operations to a stream below core, and waits before any memory goes away

use std::fmt;

use devarray::{
    Layout,
    backend::{FusedOp, Fuses, Operand, ReduceForm, ReduceOp, Reduces},
    function::{
        Combine,
        ElementType::{self, BF16, F16, F32, F64, I64, U64},
        interpreter::{InputElements, Reducing, ResultElements, interpret_reduction},
        primitive::{Binary, Constant, Instruction, Program, ProgramBuilder, Unary},
    },
};
use devarray_conformance::Rng;
use devarray_cuda::{CudaBuffer, CudaDevice, CudaStream};

use super::{
    cases::{download, free, positions, upload},
    maps::{OnHost, compare, contents, layout},
    programs::{program, value},
};

const COMBINES: [Combine; 6] = {
    use Combine::{ArgMaximum, ArgMinimum, Maximum, Minimum, Product, Sum};
    [Sum, Product, Minimum, Maximum, ArgMinimum, ArgMaximum]
};

/// A reduction, its operands' layouts, and the bytes of their memory before.
#[derive(Clone)]
pub(crate) struct Reduced {
    pub(crate) program: Program,
    pub(crate) scalars: Vec<u64>,
    pub(crate) combine: Combine,
    pub(crate) form: ReduceForm,
    pub(crate) finish: Program,
    pub(crate) finish_scalars: Vec<u64>,
    pub(crate) shape: Vec<usize>,
    pub(crate) inputs: Vec<(Layout, Vec<u8>)>,
    pub(crate) result: (Layout, Vec<u8>),
}

/// The program that answers its one input.
pub(crate) fn same(element_type: ElementType) -> Program {
    let mut builder = ProgramBuilder::new(&[element_type], &[]);
    let input = builder.push(Instruction::Input(0));
    builder.finish(input, element_type)
}

/// The program that answers its one input, and the canonical NaN for any.
pub(crate) fn canonical(element_type: ElementType) -> Program {
    let mut b = ProgramBuilder::new(&[element_type], &[]);
    let input = b.push(Instruction::Input(0));
    let (nan, number) = match element_type {
        F32 => (Constant::F32(0x7fc0_0000), b.binary(Binary::Equal, input, input)),
        F64 => (Constant::F64(0x7ff8_0000_0000_0000), b.binary(Binary::Equal, input, input)),
        F16 | BF16 => {
            let (nan, infinity) = if element_type == F16 { (0x7e00, 0x7c01) } else { (0x7fc0, 0x7f81) };
            let (mask, infinity) = (b.constant(Constant::B32(0x7fff)), b.constant(Constant::B32(infinity)));
            let magnitude = b.binary(Binary::And, input, mask);
            (Constant::B32(nan), b.binary(Binary::LessUnsigned, magnitude, infinity))
        }
        _ => return same(element_type),
    };
    let nan = b.constant(nan);
    let result = b.select(number, input, nan);
    b.finish(result, element_type)
}

/// Numbers whose sums and products are rounded everywhere, and overflow late; or all zeros of
/// either sign.
fn numbers(rng: &mut Rng, layout: &Layout, element_type: ElementType) -> Vec<u8> {
    let (zeros, rare) = (rng.below(12) == 0, rng.below(4) == 0);
    let mut bytes = Vec::new();
    for _ in 0..layout.span().end {
        let any = rng.bits();
        let sign = any >> 63;
        let special = rare && any.is_multiple_of(4_099);
        match element_type {
            F32 if zeros => bytes.extend_from_slice(&(0x8000_0000_u32 >> (any % 40 / 39 * 31)).to_le_bytes()),
            F32 if special => bytes.extend_from_slice(&0x7fc0_0000_u32.to_le_bytes()),
            F32 => {
                let bits = 0x3f00_0000 | (any as u32 & 0x00ff_ffff) | ((sign << 31) as u32);
                bytes.extend_from_slice(&bits.to_le_bytes());
            }
            F64 if zeros => bytes.extend_from_slice(&(1_u64 << 63).to_le_bytes()),
            F64 => {
                let bits = 0x3fe0_0000_0000_0000 | (any & 0x001f_ffff_ffff_ffff) | sign << 63;
                bytes.extend_from_slice(&bits.to_le_bytes());
            }
            _ => return contents(rng, layout, element_type),
        }
    }
    bytes
}

/// Copies each element to where another layout of the same shape has it.
fn copy_elements(from: (&Layout, &[u8]), to: (&Layout, &mut [u8]), size: usize) {
    for (from_at, to_at) in positions(from.0).into_iter().zip(positions(to.0)) {
        to.1[to_at * size..][..size].copy_from_slice(&from.1[from_at * size..][..size]);
    }
}

/// A number that is often small, and up to `most`.
fn extent(rng: &mut Rng, most: usize) -> usize {
    let limits = [3, 20, 70, 300, 1_100, 5_000, 20_000, 70_000, 1_000_000, usize::MAX];
    let limit = (*rng.pick(&limits)).min(most).max(1);
    1 + rng.below(limit)
}

/// Axes with about this number of elements.
fn axes(rng: &mut Rng, elements: usize) -> Vec<usize> {
    match rng.below(4) {
        0 | 1 => vec![elements],
        2 => {
            let first = 1 + rng.below(elements.isqrt());
            if rng.below(2) == 0 { vec![first, elements / first] } else { vec![elements / first, first] }
        }
        _ => {
            let side = 1 + rng.below(elements.isqrt().isqrt() + 1);
            vec![side, 1 + rng.below(4), (elements / side / 4).max(1)]
        }
    }
}

impl Reduced {
    pub(crate) fn random(rng: &mut Rng, most: usize) -> Self {
        let form = *rng.pick(&[
            ReduceForm::Total,
            ReduceForm::Total,
            ReduceForm::Total,
            ReduceForm::Inclusive,
            ReduceForm::Exclusive,
        ]);
        let combine = match form {
            ReduceForm::Total => *rng.pick(&COMBINES),
            ReduceForm::Inclusive => *rng.pick(&COMBINES[..4]),
            ReduceForm::Exclusive => *rng.pick(&COMBINES[..2]),
        };
        let row_len = extent(rng, most);
        let rows = if rng.below(3) == 0 { 1 } else { extent(rng, most / row_len) };
        let mut shape = if rows == 1 && rng.below(2) == 0 { Vec::new() } else { axes(rng, rows) };
        let kept = shape.len();
        match form {
            ReduceForm::Total => shape.extend(axes(rng, row_len)),
            _ => shape.push(row_len),
        }
        let simple = rng.below(2) == 0;
        let types: Vec<ElementType> = if simple {
            let sum = matches!(combine, Combine::Sum | Combine::Product);
            vec![if sum { *rng.pick(&[F32, F32, F64, I64, U64]) } else { *rng.pick(&ElementType::ALL) }]
        } else {
            (0..rng.below(4)).map(|_| *rng.pick(&ElementType::ALL)).collect()
        };
        let program = if simple {
            same(types[0])
        } else {
            loop {
                let steps = rng.below(12);
                let program = program(rng, &types, shape.len(), steps);
                if combine.takes(program.result_type()) {
                    break program;
                }
            }
        };
        let combined = combine.result_type(program.result_type());
        let steps = rng.below(6);
        // The bits of a half that is a NaN are not specified; random programs would show them.
        let finish = if simple || matches!(combined, F16 | BF16) {
            canonical(combined)
        } else {
            self::program(rng, &[combined], 0, steps)
        };
        let mut inputs = Vec::new();
        for &element_type in &types {
            let layout = layout(rng, &shape, true);
            let bytes = if simple && !matches!(combine, Combine::ArgMinimum | Combine::ArgMaximum) {
                numbers(rng, &layout, element_type)
            } else {
                contents(rng, &layout, element_type)
            };
            inputs.push((layout, bytes));
        }
        let of_result = if form == ReduceForm::Total { &shape[..kept] } else { &shape[..] };
        let result = layout(rng, of_result, false);
        let before = contents(rng, &result, finish.result_type());
        let bits = |program: &Program, rng: &mut Rng| -> Vec<u64> {
            program.scalars().iter().map(|&element_type| value(rng, element_type)).collect()
        };
        let (scalars, finish_scalars) = (bits(&program, rng), bits(&finish, rng));
        Self {
            program,
            scalars,
            combine,
            form,
            finish,
            finish_scalars,
            shape,
            inputs,
            result: (result, before),
        }
    }

    /// Returns the same elements in other layouts, and the same result in another one; with the bytes of
    /// the result's memory afterwards, by those that are expected of this.
    pub(crate) fn in_other_layouts(&self, rng: &mut Rng, expected: &[u8]) -> (Self, Vec<u8>) {
        let mut other = self.clone();
        for ((from, bytes), to) in self.inputs.iter().zip(&mut other.inputs) {
            let size = bytes.len() / from.span().end;
            to.0 = layout(rng, &self.shape, false);
            // The bytes in the gaps must not matter, and are not those in the gaps before.
            to.1 = vec![0xa5; to.0.span().end * size];
            copy_elements((from, bytes), (&to.0, &mut to.1), size);
        }
        let element_type = self.finish.result_type();
        other.result.0 = layout(rng, self.result.0.shape(), false);
        other.result.1 = contents(rng, &other.result.0, element_type);
        let mut bytes = other.result.1.clone();
        copy_elements((&self.result.0, expected), (&other.result.0, &mut bytes), element_type.len_bytes());
        (other, bytes)
    }

    /// Rows of random numbers, one behind the other.
    pub(crate) fn of_rows(
        rng: &mut Rng,
        (combine, form): (Combine, ReduceForm),
        element_type: ElementType,
        (rows, row_len): (usize, usize),
    ) -> Self {
        let combined = combine.result_type(element_type);
        let strides = [row_len.cast_signed(), 1];
        let input = Layout::new(&[rows, row_len], &strides, 0).unwrap();
        let result = match form {
            ReduceForm::Total => Layout::new(&[rows], &[1], 0).unwrap(),
            _ => input.clone(),
        };
        let bytes = numbers(rng, &input, element_type);
        let before = contents(rng, &result, combined);
        Self {
            program: same(element_type),
            scalars: Vec::new(),
            combine,
            form,
            finish: canonical(combined),
            finish_scalars: Vec::new(),
            shape: vec![rows, row_len],
            inputs: vec![(input, bytes)],
            result: (result, before),
        }
    }

    /// The mean of rows, and with it, as another input that has one for each row, the sum
    /// of squared deviations.
    pub(crate) fn of_deviations(rng: &mut Rng, element_type: ElementType, rows: (usize, usize)) -> [Self; 2] {
        let sum = (Combine::Sum, ReduceForm::Total);
        let wide = if element_type == F64 { F64 } else { F32 };
        let widened = |b: &mut ProgramBuilder| {
            let x = b.push(Instruction::Input(0));
            if element_type == F16 { b.unary(Unary::HalfToF32, x) } else { x }
        };
        let finish = || {
            let mut b = ProgramBuilder::new(&[wide], &[wide]);
            let (x, n) = (b.push(Instruction::Input(0)), b.push(Instruction::Scalar(0)));
            let mean = b.binary(Binary::Divide, x, n);
            let nan = b.constant(match wide {
                F64 => Constant::F64(0x7ff8_0000_0000_0000),
                _ => Constant::F32(0x7fc0_0000),
            });
            let number = b.binary(Binary::Equal, mean, mean);
            let mean = b.select(number, mean, nan);
            b.finish(mean, wide)
        };
        let bits = |count: usize| match wide {
            F64 => (count as f64).to_bits(),
            _ => u64::from((count as f32).to_bits()),
        };
        let mut first = Self::of_rows(rng, sum, if element_type == F16 { F32 } else { element_type }, rows);
        if element_type == F16 {
            let any = contents(rng, &first.inputs[0].0, F16);
            // From 1 to 2, of either sign.
            let number = |bits: &[u8]| [bits[0], bits[1] & 0x83 | 0x3c];
            first.inputs[0].1 = any.chunks(2).flat_map(number).collect();
        }
        let mut b = ProgramBuilder::new(&[element_type], &[]);
        let x = widened(&mut b);
        first.program = b.finish(x, wide);
        (first.finish, first.finish_scalars) = (finish(), vec![bits(rows.1)]);
        let mut second = first.clone();
        let mut b = ProgramBuilder::new(&[element_type, wide], &[wide]);
        let (x, mean) = (widened(&mut b), b.push(Instruction::Input(1)));
        let scale = b.push(Instruction::Scalar(0));
        let deviation = b.binary(Binary::Subtract, x, mean);
        let scaled = b.binary(Binary::Multiply, deviation, scale);
        let square = b.binary(Binary::Multiply, scaled, deviation);
        second.program = b.finish(square, wide);
        second.scalars = vec![bits(3)];
        second.finish_scalars = vec![bits(rows.1 + 1)];
        second.inputs.push((Layout::new(&[rows.0, rows.1], &[1, 0], 0).unwrap(), first.expected()));
        [first, second]
    }

    /// Computes two on a device. The second needs what comes out of the first.
    pub(crate) fn run_twice(both: &[Self; 2], device: &CudaDevice, stream: &CudaStream) -> Vec<u8> {
        let [first, second] = both;
        let between = upload(stream, &first.result.1);
        let own = upload(stream, &first.inputs[0].1);
        let result = upload(stream, &second.result.1);
        let inputs = [&own, &between];
        let inputs =
            inputs.iter().zip(&second.inputs).map(|(buffer, (layout, _))| Operand::new(*buffer, layout));
        let inputs: Vec<Operand<'_, CudaBuffer>> = inputs.collect();
        let to = [Operand::new(&between, &first.result.0), Operand::new(&result, &second.result.0)];
        let [to_first, to_second] = to;
        // SAFETY: layouts lie inside their buffers, which are apart.
        let of_first = unsafe {
            ReduceOp::new_unchecked(first.work(), first.form, &first.shape, &inputs[..1], to_first)
        };
        // SAFETY: as above.
        let of_second =
            unsafe { ReduceOp::new_unchecked(second.work(), second.form, &second.shape, &inputs, to_second) };
        let both = [of_first, of_second];
        // SAFETY: the second reads what the first gives.
        let both = unsafe { FusedOp::new_unchecked(&both, None) };
        device.fuse(stream, &both).unwrap();
        let found = download(stream, &result);
        [own, between, result].into_iter().for_each(|buffer| free(stream, buffer));
        found
    }

    fn work(&self) -> Reducing<'_> {
        Reducing {
            program: &self.program,
            scalars: &self.scalars,
            combine: self.combine,
            finish: &self.finish,
            finish_scalars: &self.finish_scalars,
        }
    }

    /// The bytes of the result's memory afterwards, by core's interpreter.
    pub(crate) fn expected(&self) -> Vec<u8> {
        self.on_host(interpret_reduction)
    }

    /// The bytes afterwards, by other code on the host.
    pub(crate) fn on_host(&self, reduce: OnHost) -> Vec<u8> {
        let mut bytes = self.result.1.clone();
        let inputs: Vec<InputElements<'_>> =
            self.inputs.iter().map(|(layout, own)| InputElements { start: own.as_ptr(), layout }).collect();
        let result = ResultElements { start: bytes.as_mut_ptr(), layout: &self.result.0 };
        let is_total = self.form == ReduceForm::Total;
        let kept = if is_total { self.result.0.shape().len() } else { self.shape.len() - 1 };
        let rows = self.shape[..kept].iter().product();
        // SAFETY: layouts lie inside their bytes, which are apart.
        unsafe { reduce(&self.work(), self.form, &inputs, &self.shape, result, 0..rows) };
        bytes
    }

    /// Computes it on a device.
    pub(crate) fn run(&self, device: &CudaDevice, stream: &CudaStream) -> Vec<u8> {
        let result = upload(stream, &self.result.1);
        let own: Vec<CudaBuffer> = self.inputs.iter().map(|(_, bytes)| upload(stream, bytes)).collect();
        let operands: Vec<Operand<'_, CudaBuffer>> =
            own.iter().zip(&self.inputs).map(|(buffer, (layout, _))| Operand::new(buffer, layout)).collect();
        self.enqueue((device, stream), &operands, Operand::new(&result, &self.result.0));
        let found = download(stream, &result);
        own.into_iter().for_each(|buffer| free(stream, buffer));
        free(stream, result);
        found
    }

    /// Enqueues it, of inputs that are in memory of the device already.
    pub(crate) fn enqueue(
        &self,
        (device, stream): (&CudaDevice, &CudaStream),
        inputs: &[Operand<'_, CudaBuffer>],
        to: Operand<'_, CudaBuffer>,
    ) {
        // SAFETY: the caller's layouts lie inside their buffers, which are apart.
        let op = unsafe { ReduceOp::new_unchecked(self.work(), self.form, &self.shape, inputs, to) };
        device.reduce(stream, &op).unwrap();
    }

    /// Panics unless every byte of the result's memory is as expected.
    pub(crate) fn compare(&self, found: &[u8], expected: &[u8], which: u64) {
        compare((found, expected), self.finish.result_type().len_bytes(), which, self);
    }
}

impl fmt::Display for Reduced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { combine, form, shape, program, finish, .. } = self;
        writeln!(f, "{form:?} {combine:?} of {shape:?} by {program:?}, finish {finish:?}")?;
        writeln!(f, "result: {:?}", self.result.0)?;
        self.inputs.iter().try_for_each(|(layout, _)| writeln!(f, "input: {layout:?}"))
    }
}
