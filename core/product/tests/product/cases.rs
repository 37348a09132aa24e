//! Random operands with a fixed seed.

use devarray_function::ElementType;
use devarray_layout::Layout;

use crate::array::{Array, UNTOUCHED};

pub(crate) const TYPES: [ElementType; 12] = [
    ElementType::I8,
    ElementType::U8,
    ElementType::I16,
    ElementType::U16,
    ElementType::I32,
    ElementType::U32,
    ElementType::I64,
    ElementType::U64,
    ElementType::F16,
    ElementType::BF16,
    ElementType::F32,
    ElementType::F64,
];

pub(crate) struct Cases {
    seed: u64,
}

impl Cases {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed }
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.seed ^ (self.seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64).try_into().expect("below")
    }

    pub(crate) fn one_in(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }

    pub(crate) fn element_type(&mut self) -> ElementType {
        TYPES[self.below(TYPES.len())]
    }

    /// The bits of an element. Floats are mostly numbers whose chains round; if `special`, some are
    /// special values.
    pub(crate) fn element(&mut self, of: ElementType, special: bool) -> u64 {
        let bits = self.bits();
        if !of.is_float() {
            return bits;
        }
        if special && self.one_in(40) {
            let number = self.below(10);
            return special_bits(of, number);
        }
        let number = ((bits >> 11) as f64 / (1_u64 << 53) as f64 - 0.5) * 4.0;
        match of {
            ElementType::F16 => half::f16::from_f64(number).to_bits().into(),
            ElementType::BF16 => half::bf16::from_f64(number).to_bits().into(),
            ElementType::F32 => (number as f32).to_bits().into(),
            _ => number.to_bits(),
        }
    }

    /// An array of a shape. If `strided`, its layout is random: axes in any order, reversed, with gaps,
    /// sometimes repeated, and sometimes at an odd address.
    pub(crate) fn array(
        &mut self,
        of: ElementType,
        shape: &[usize],
        (strided, repeats): (bool, bool),
        special: bool,
    ) -> Array {
        let mut array = Array::untouched(of, shape);
        if strided {
            let layout = self.layout(shape, repeats);
            let len = if layout.is_empty() { 0 } else { layout.span().end };
            array.memory = vec![UNTOUCHED; len * of.len_bytes()];
            array.layout = layout;
            if self.one_in(4) {
                array = array.shifted();
            }
        }
        let width = of.len_bytes();
        let positions: Vec<usize> = array.positions().collect();
        for at in positions {
            let element = self.element(of, special).to_le_bytes();
            array.memory[array.shift + at * width..][..width].copy_from_slice(&element[..width]);
        }
        array
    }

    fn layout(&mut self, shape: &[usize], repeats: bool) -> Layout {
        let mut order: Vec<usize> = (0..shape.len()).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, self.below(at + 1));
        }
        if self.one_in(2) {
            order.sort_unstable();
        }
        let (mut strides, mut offset) = (vec![0_isize; shape.len()], self.below(4).cast_signed());
        let mut step = if self.one_in(3) { 1 + self.below(3) } else { 1 };
        for &axis in order.iter().rev() {
            if repeats && self.one_in(8) {
                continue;
            }
            let gap = if self.one_in(4) { self.below(3) } else { 0 };
            strides[axis] = step.cast_signed();
            if self.one_in(4) {
                strides[axis] = -strides[axis];
                offset += step.cast_signed() * (shape[axis].max(1) - 1).cast_signed();
            }
            step *= shape[axis].max(1) + gap;
        }
        Layout::new(shape, &strides, offset.cast_unsigned()).expect("a small layout")
    }
}

/// Zeros, infinities, NaNs with a payload, signalling NaNs, subnormals, and the largest number.
fn special_bits(of: ElementType, number: usize) -> u64 {
    let width = of.len_bytes() * 8;
    let fraction = match of {
        ElementType::F16 => 10,
        ElementType::BF16 => 7,
        ElementType::F32 => 23,
        _ => 52,
    };
    let sign = 1 << (width - 1);
    let infinity = (sign >> fraction << fraction) - (1 << fraction);
    match number {
        0 => 0,
        1 => sign,
        2 => infinity,
        3 => infinity | sign,
        4 => infinity | 1 << (fraction - 1) | 5 | sign,
        5 => infinity | 1,
        6 => 3,
        7 => sign | 1,
        8 => infinity - 1,
        _ => 1 << fraction,
    }
}
