//! Arrays in host memory, and products of them.
#![allow(unsafe_code)] // makes products on memory of its own

use devarray_function::{
    ElementType, Workers,
    interpreter::{InputElements, ResultElements},
};
use devarray_layout::{Layout, Order};
use devarray_product::{Machine, ProductError, accumulate, execute, execute_with, product_shape};

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

    /// Returns the same memory, starting one byte later.
    pub(crate) fn shifted(mut self) -> Self {
        self.memory.insert(0, UNTOUCHED);
        self.shift = 1;
        self
    }

    /// The bits of each element in row-major order.
    pub(crate) fn bits(&self) -> Vec<u64> {
        let width = self.element_type.len_bytes();
        let bits = |at: usize| {
            let mut bytes = [0; 8];
            bytes[..width].copy_from_slice(&self.memory[self.shift + at * width..][..width]);
            u64::from_le_bytes(bytes)
        };
        self.positions().map(bits).collect()
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

    fn input(&self) -> InputElements<'_> {
        let start = self.memory.as_ptr().wrapping_add(self.shift);
        InputElements { start, layout: &self.layout }
    }

    fn result(&mut self) -> ResultElements<'_> {
        ResultElements { start: self.memory.as_mut_ptr().wrapping_add(self.shift), layout: &self.layout }
    }
}

/// Multiplies into a dense array.
pub(crate) fn product(a: &Array, b: &Array, workers: &dyn Workers) -> Result<Array, ProductError> {
    let shape = product_shape(a.layout.shape(), b.layout.shape())?;
    let mut result = Array::untouched(a.element_type, &shape);
    product_into(a, b, &mut result, false, workers);
    Ok(result)
}

/// Multiplies over an array that has the shape of the product, or adds to it.
pub(crate) fn product_into(a: &Array, b: &Array, result: &mut Array, onto: bool, workers: &dyn Workers) {
    assert!(a.element_type == b.element_type && a.element_type == result.element_type);
    let make = if onto { accumulate } else { execute };
    // SAFETY: layouts lie inside the memory of their arrays, which are borrowed, the result's alone
    unsafe { make(a.element_type, a.input(), b.input(), result.result(), workers) }
}

/// Like [`product_into`], with a chosen machine's instructions.
pub(crate) fn product_on(
    machine: Machine,
    a: &Array,
    b: &Array,
    result: &mut Array,
    onto: bool,
    workers: &dyn Workers,
) {
    let operands = [a.input(), b.input()];
    // SAFETY: as above; the processor has the machines that it lists
    unsafe { execute_with(machine, a.element_type, operands, result.result(), onto, workers) }
}
