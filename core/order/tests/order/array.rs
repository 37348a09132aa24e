//! Arrays in host memory, and calls on them.
#![allow(unsafe_code)] // makes calls on memory of its own

use devarray_function::{
    ElementType,
    interpreter::{InputElements, ResultElements},
};
use devarray_layout::{IndexItem, Layout, Order, Slice};
use devarray_order::{Call, Operand, OrderError, Outcome, Workers, execute};

/// The byte that memory holds before a result is written.
pub(crate) const UNTOUCHED: u8 = 0xab;

/// Elements in memory. The first may lie at an odd address.
#[derive(Debug, Clone)]
pub(crate) struct Array {
    pub(crate) element_type: ElementType,
    pub(crate) memory: Vec<u8>,
    pub(crate) shift: usize,
    pub(crate) layout: Layout,
}

impl Array {
    pub(crate) fn new(element_type: ElementType, shape: &[usize], elements: &[u8]) -> Self {
        let layout = Layout::contiguous(shape, Order::C).expect("a small shape");
        assert_eq!(elements.len(), layout.len() * element_type.len_bytes());
        Self { element_type, memory: elements.to_vec(), shift: 0, layout }
    }

    pub(crate) fn untouched(element_type: ElementType, shape: &[usize]) -> Self {
        let len = shape.iter().product::<usize>() * element_type.len_bytes();
        Self::new(element_type, shape, &vec![UNTOUCHED; len])
    }

    /// Takes the view that the steps of a golden case make.
    pub(crate) fn steps(mut self, steps: &str) -> Self {
        for step in steps.split('/').filter(|step| !step.is_empty()) {
            let (name, rest) = step.split_once('(').expect("a step with arguments");
            let items: Vec<&str> =
                rest.strip_suffix(')').expect("closed").split(',').filter(|item| !item.is_empty()).collect();
            let axes = || items.iter().map(|item| item.parse().expect("an axis")).collect::<Vec<isize>>();
            self.layout = match name {
                "permute" => self.layout.permute(&axes()[..]),
                "flip" => self.layout.flip(&axes()[..]),
                "index" => self.layout.index(&items.iter().map(|item| index_item(item)).collect::<Vec<_>>()),
                other => panic!("no step {other}"),
            }
            .expect("steps that fit");
        }
        self
    }

    /// Returns the same memory, starting one byte later.
    pub(crate) fn shifted(mut self) -> Self {
        self.memory.insert(0, UNTOUCHED);
        self.shift = 1;
        self
    }

    /// The bytes of each element in row-major order.
    pub(crate) fn elements(&self) -> Vec<u8> {
        let width = self.element_type.len_bytes();
        self.positions().flat_map(|at| self.memory[self.shift + at * width..][..width].to_vec()).collect()
    }

    /// The position of each element, in row-major order.
    pub(crate) fn positions(&self) -> impl Iterator<Item = usize> {
        let (shape, strides) = (self.layout.shape(), self.layout.strides());
        (0..self.layout.len()).map(move |mut number| {
            let mut at = self.layout.offset().cast_signed();
            for (&extent, &stride) in shape.iter().zip(strides).rev() {
                at += (number % extent).cast_signed() * stride;
                number /= extent;
            }
            at.cast_unsigned()
        })
    }

    /// Whether all memory except the elements is unchanged.
    pub(crate) fn rest_is_untouched(&self) -> bool {
        let width = self.element_type.len_bytes();
        let mut outside = vec![true; self.memory.len()];
        self.positions().for_each(|at| outside[self.shift + at * width..][..width].fill(false));
        self.memory.iter().zip(outside).all(|(&byte, outside)| !outside || byte == UNTOUCHED)
    }

    fn input(&self) -> Operand<'_> {
        let start = self.memory.as_ptr().wrapping_add(self.shift);
        (self.element_type, InputElements { start, layout: &self.layout })
    }

    fn result(&mut self) -> ResultElements<'_> {
        ResultElements { start: self.memory.as_mut_ptr().wrapping_add(self.shift), layout: &self.layout }
    }
}

fn index_item(text: &str) -> IndexItem {
    let number = |text: &str| (!text.is_empty()).then(|| text.parse::<isize>().expect("a number"));
    match text {
        "..." => IndexItem::Ellipsis,
        "None" => IndexItem::NewAxis,
        _ if !text.contains(':') => IndexItem::At(text.parse().expect("a position")),
        _ => {
            let parts: Vec<&str> = text.split(':').collect();
            let step = parts.get(2).and_then(|part| number(part)).unwrap_or(1);
            IndexItem::Slice(Slice { start: number(parts[0]), stop: number(parts[1]), step })
        }
    }
}

/// The results of a call.
pub(crate) struct Called {
    pub(crate) outputs: Vec<Array>,
    pub(crate) outcome: Outcome,
}

/// Makes a call. Results go to `out`, or to new dense arrays; counted results are cut to their count.
pub(crate) fn call(
    call: &Call,
    inputs: &[Array],
    out: Option<Vec<Array>>,
    workers: &dyn Workers,
) -> Result<Called, OrderError> {
    let shapes: Vec<_> = inputs.iter().map(|input| (input.element_type, input.layout.shape())).collect();
    let declared = call.outputs(&shapes)?;
    call.check_elements(&shapes)?;
    let own = || declared.iter().map(|output| Array::untouched(output.element_type, &output.shape)).collect();
    let mut outputs: Vec<Array> = out.unwrap_or_else(own);
    let operands: Vec<_> = inputs.iter().map(Array::input).collect();
    let results: Vec<_> = outputs.iter_mut().map(|output| Some(output.result())).collect();
    // SAFETY: layouts lie inside the memory of their arrays, which are borrowed, results' alone
    let outcome = unsafe { execute(call, &operands, &results, workers) };
    for (output, declared) in outputs.iter_mut().zip(&declared) {
        if declared.counted {
            let kept = outcome.count.min(output.layout.shape()[0]);
            output.layout = output.layout.slice_axis(0, ..kept).expect("no more than there are");
        }
    }
    Ok(Called { outputs, outcome })
}

/// Puts into x itself.
pub(crate) fn put_in_place(call: &Call, inputs: &[Array], workers: &dyn Workers) -> Called {
    let mut x = inputs[0].clone();
    let start = x.memory.as_mut_ptr().wrapping_add(x.shift);
    let mut operands = vec![(x.element_type, InputElements { start, layout: &x.layout })];
    operands.extend(inputs[1..].iter().map(Array::input));
    let result = ResultElements { start, layout: &x.layout };
    // SAFETY: layouts lie inside the memory of their arrays, which are borrowed; x is the result
    let outcome = unsafe { execute(call, &operands, &[Some(result)], workers) };
    Called { outputs: vec![x], outcome }
}
