//! Random functions on random layouts, and what they must give.
#![allow(unsafe_code)] // hands operations to a stream below core, and waits before any memory goes away

use std::{fmt, ops::Range};

use devarray::{
    Layout, Order,
    backend::{Buffer, MapOp, Maps, Operand, ReduceForm},
    function::{
        ElementType,
        interpreter::{InputElements, Reducing, ResultElements, interpret},
        primitive::Program,
    },
};
use devarray_conformance::Rng;
use devarray_cuda::{CudaBuffer, CudaDevice, CudaStream};
use devarray_function::executor::Prepared;

use super::{
    cases::{download, free, positions, upload},
    evaluate::evaluate,
    programs::{program, value},
};

/// Reduces a range of rows in memory of the host.
pub(crate) type OnHost =
    unsafe fn(&Reducing<'_>, ReduceForm, &[InputElements<'_>], &[usize], ResultElements<'_>, Range<usize>);

/// A function, its operands' layouts, and what their memory holds before.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) program: Program,
    pub(crate) scalars: Vec<u64>,
    pub(crate) inputs: Vec<(Layout, Vec<u8>)>,
    /// The input whose memory is the result's.
    pub(crate) in_place: Option<usize>,
    pub(crate) result: (Layout, Vec<u8>),
}

/// A random shape of up to about `most` elements. Over many draws the shapes reach every kind of kernel.
fn shape(rng: &mut Rng, most: usize) -> Vec<usize> {
    let long = 1 + rng.below(most);
    let side = 1 + rng.below(most / 40);
    match rng.below(8) {
        0 => vec![long],
        1 => vec![1 + rng.below(40), side],
        2 => vec![side, 1 + rng.below(4)],
        3 => vec![1 + rng.below(4), side, 1 + rng.below(8)],
        4 => vec![1 + rng.below(70), 1 + rng.below(most / 70)],
        5 => vec![2, 1 + rng.below(5), 1 + rng.below(40), 1 + rng.below(most / 400 + 1)],
        6 => vec![4 * (1 + rng.below(10)), 4 * (1 + rng.below(most / 200 + 1))],
        _ => (0..rng.below(6)).map(|_| 1 + rng.below(4)).collect(),
    }
}

/// A layout of a shape: mostly dense, or with another order of axes, gaps, steps, negative strides,
/// repeated axes.
pub(crate) fn layout(rng: &mut Rng, shape: &[usize], may_repeat: bool) -> Layout {
    let rank = shape.len();
    let mut order: Vec<usize> = (0..rank).rev().collect();
    if rng.below(2) == 0 {
        for at in (1..rank).rev() {
            order.swap(at, rng.below(at + 1));
        }
    }
    let dense = rng.below(2) == 0;
    let mut strides = vec![0_isize; rank];
    let mut offset = if rng.below(2) == 0 { rng.below(9) } else { 0 };
    let mut step = if dense || rng.below(3) > 0 { 1 } else { 1 + rng.below(4) };
    for axis in order {
        if may_repeat && rng.below(7) == 0 {
            continue;
        }
        strides[axis] = step.cast_signed();
        if rng.below(8) == 0 {
            strides[axis] = -strides[axis];
            offset += (shape[axis] - 1) * step;
        }
        step *= shape[axis];
        if !dense {
            step += [0, 0, 1, 4, 16][rng.below(5)];
        }
    }
    Layout::new(shape, &strides, offset).unwrap()
}

pub(crate) fn contents(rng: &mut Rng, layout: &Layout, element_type: ElementType) -> Vec<u8> {
    let size = element_type.len_bytes();
    let mut bytes = Vec::new();
    for _ in 0..layout.span().end {
        bytes.extend_from_slice(&value(rng, element_type).to_le_bytes()[..size]);
    }
    bytes
}

fn bits_at(bytes: &[u8], position: usize, size: usize) -> u64 {
    let mut bits = [0; 8];
    bits[..size].copy_from_slice(&bytes[position * size..][..size]);
    u64::from_le_bytes(bits)
}

impl Case {
    /// A program on dense memory.
    pub(crate) fn of(rng: &mut Rng, program: Program, shape: &[usize]) -> Self {
        let layout = Layout::contiguous(shape, Order::C).unwrap();
        let of = |rng: &mut Rng, element_type| (layout.clone(), contents(rng, &layout, element_type));
        let inputs = program.inputs().iter().map(|&element_type| of(rng, element_type)).collect();
        let scalars = program.scalars().iter().map(|&element_type| value(rng, element_type)).collect();
        let result = of(rng, program.result_type());
        Self { program, scalars, inputs, in_place: None, result }
    }

    pub(crate) fn random(rng: &mut Rng, most: usize) -> Self {
        let shape = shape(rng, most);
        let steps = if rng.below(8) == 0 { 20 + rng.below(100) } else { rng.below(20) };
        let count = if rng.below(50) == 0 { 16 } else { rng.below(5) };
        let one_type = *rng.pick(&ElementType::ALL);
        let same = rng.below(3) == 0;
        let types: Vec<ElementType> =
            (0..count).map(|_| if same { one_type } else { *rng.pick(&ElementType::ALL) }).collect();
        let program = program(rng, &types, shape.len(), steps);
        Self::on_layouts(rng, program, &shape)
    }

    /// Returns the same function on other elements, of another shape with as many axes.
    pub(crate) fn on_other_layouts(&self, rng: &mut Rng, most: usize) -> Self {
        let rank = self.result.0.shape().len();
        let shape = loop {
            let shape = shape(rng, most);
            if shape.len() == rank {
                break shape;
            }
        };
        Self::on_layouts(rng, self.program.clone(), &shape)
    }

    /// A function on random layouts of a shape.
    fn on_layouts(rng: &mut Rng, program: Program, shape: &[usize]) -> Self {
        let types = program.inputs();
        let result_type = program.result_type();
        let result = layout(rng, shape, false);
        let result_bytes = contents(rng, &result, result_type);
        let mut inputs: Vec<(Layout, Vec<u8>)> = Vec::new();
        for &element_type in types {
            let layout = if rng.below(3) == 0 { result.clone() } else { layout(rng, shape, true) };
            let bytes = contents(rng, &layout, element_type);
            inputs.push((layout, bytes));
        }
        let fits = |at: &usize| types[*at].len_bytes() == result_type.len_bytes();
        let in_place = (0..types.len()).find(fits).filter(|_| rng.below(3) == 0);
        if let Some(at) = in_place {
            inputs[at] = (result.clone(), result_bytes.clone());
        }
        let scalars = program.scalars().iter().map(|&element_type| value(rng, element_type)).collect();
        Self { program, scalars, inputs, in_place, result: (result, result_bytes) }
    }

    /// The bytes of the result's memory afterwards.
    pub(crate) fn expected(&self) -> Vec<u8> {
        let shape = self.result.0.shape();
        let mut bytes = self.result.1.clone();
        let size = self.program.result_type().len_bytes();
        let places: Vec<Vec<usize>> = self.inputs.iter().map(|(layout, _)| positions(layout)).collect();
        for (nth, place) in positions(&self.result.0).into_iter().enumerate() {
            let mut position = vec![0; shape.len()];
            let mut rest = nth;
            for axis in (0..shape.len()).rev() {
                position[axis] = rest % shape[axis];
                rest /= shape[axis];
            }
            let elements: Vec<u64> = (0..self.inputs.len())
                .map(|at| {
                    let size = self.program.inputs()[at].len_bytes();
                    bits_at(&self.inputs[at].1, places[at][nth], size)
                })
                .collect();
            let bits = evaluate(&self.program, &elements, &self.scalars, &position);
            bytes[place * size..][..size].copy_from_slice(&bits.to_le_bytes()[..size]);
        }
        bytes
    }

    /// Computes it on a device.
    pub(crate) fn run(&self, device: &CudaDevice, stream: &CudaStream) -> Vec<u8> {
        let result = upload(stream, &self.result.1);
        let own: Vec<Option<CudaBuffer>> = (0..self.inputs.len())
            .map(|at| (self.in_place != Some(at)).then(|| upload(stream, &self.inputs[at].1)))
            .collect();
        let operands: Vec<Operand<'_, CudaBuffer>> = own
            .iter()
            .zip(&self.inputs)
            .map(|(buffer, (layout, _))| Operand::new(buffer.as_ref().unwrap_or(&result), layout))
            .collect();
        self.enqueue((device, stream), &operands, Operand::new(&result, &self.result.0));
        let found = download(stream, &result);
        assert!(result.len_bytes() >= found.len());
        own.into_iter().flatten().for_each(|buffer| free(stream, buffer));
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
        // SAFETY: the caller's layouts lie inside their buffers, and only one input, with the
        // result's layout, shares its memory.
        let op = unsafe { MapOp::new_unchecked(&self.program, inputs, &self.scalars, to) };
        device.map(stream, &op).unwrap();
    }

    /// The bytes afterwards, by core's interpreter.
    pub(crate) fn interpreted(&self) -> Vec<u8> {
        // SAFETY: as `on_host` promises.
        self.on_host(|inputs, result| unsafe { interpret(&self.program, inputs, &self.scalars, result) })
    }

    /// The bytes afterwards, by the loops that the CPU computes with.
    pub(crate) fn executed(&self) -> Vec<u8> {
        let len = self.result.0.len();
        // SAFETY: as `on_host` promises.
        self.on_host(|inputs, result| unsafe {
            Prepared::of(&self.program).run(inputs, &self.scalars, result, 0..len);
        })
    }

    /// The bytes of the result's memory after a computation on the host. Layouts lie inside their bytes,
    /// and only one input, with the result's layout, shares the result's memory.
    fn on_host(&self, compute: impl FnOnce(&[InputElements<'_>], ResultElements<'_>)) -> Vec<u8> {
        let mut bytes = self.result.1.clone();
        let start = bytes.as_mut_ptr();
        let inputs: Vec<InputElements<'_>> = (0..self.inputs.len())
            .map(|at| {
                let (layout, own) = &self.inputs[at];
                let start = if self.in_place == Some(at) { start.cast_const() } else { own.as_ptr() };
                InputElements { start, layout }
            })
            .collect();
        compute(&inputs, ResultElements { start, layout: &self.result.0 });
        bytes
    }

    /// Panics unless every byte of the result's memory is as expected.
    pub(crate) fn compare(&self, found: &[u8], expected: &[u8], which: u64) {
        compare((found, expected), self.program.result_type().len_bytes(), which, self);
    }
}

/// Panics unless bytes of elements of a size are as expected.
pub(crate) fn compare((found, expected): (&[u8], &[u8]), size: usize, which: u64, of: &dyn fmt::Display) {
    assert_eq!(found.len(), expected.len());
    if let Some(wrong) = found.iter().zip(expected).position(|(found, expected)| found != expected) {
        let element = wrong / size;
        let bytes = element * size..(element + 1) * size;
        let (found, expected) = (&found[bytes.clone()], &expected[bytes]);
        panic!("case {which}: element {element} is {found:x?}, not {expected:x?}, of {of}");
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:#?}, scalars {:?}", self.program, self.scalars)?;
        writeln!(f, "result: {:?}, in place: {:?}", self.result.0, self.in_place)?;
        self.inputs.iter().try_for_each(|(layout, _)| writeln!(f, "input: {layout:?}"))
    }
}
