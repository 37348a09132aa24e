//! Makes random calls: types, shapes, layouts, elements with many equals, and special values.

use devarray_function::ElementType;
use devarray_layout::Layout;
use devarray_order::{Call, Combining};

use crate::array::Array;

/// Random numbers with a fixed seed.
pub(crate) struct Cases(u64);

/// The kind of elements that an array gets.
#[derive(Clone, Copy)]
enum Elements {
    /// Any bits.
    Any,
    /// A few different values: special ones, and small numbers.
    Few,
    /// Whole numbers from the first up to but without the second.
    Within(i64, i64),
}

impl Cases {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    pub(crate) fn truth(&mut self) -> bool {
        self.below(2) == 0
    }

    fn element(&mut self, of: ElementType, elements: Elements) -> u64 {
        use ElementType::{BF16, Bool, F16, F32, F64};
        let specials: &[u64] = match of {
            F16 => &[0, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01, 1, 0x8001, 0x3c00, 0xbc00, 0x7bff],
            BF16 => &[0, 0x8000, 0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x7f81, 1, 0x8001, 0x3f80, 0xbf80, 0x7f7f],
            F32 => &[
                0,
                1 << 31,
                0x7f80_0000,
                0xff80_0000,
                0x7fc0_0000,
                0xffc0_0001,
                0x7f80_0001,
                1,
                0x3f80_0000,
                0xff7f_ffff,
            ],
            F64 => &[
                0,
                1 << 63,
                0x7ff0 << 48,
                0xfff0 << 48,
                0x7ff8 << 48,
                (0xfff8 << 48) + 1,
                (0x7ff0 << 48) + 1,
                1,
                0x3ff0 << 48,
            ],
            Bool => &[0, 1, 1, 0, 2, 255],
            _ => &[0, 1, 2, 3, 7, u64::MAX, u64::MAX - 1, 1 << 7, 1 << 15, 1 << 31, 1 << 63, (1 << 31) - 1],
        };
        match elements {
            Elements::Any => self.bits(),
            Elements::Few => self.of(specials),
            Elements::Within(from, to) => {
                let value = from + (self.bits() % (to - from) as u64) as i64;
                match of {
                    F16 => half::f16::from_f64(value as f64 / 8.0).to_bits().into(),
                    BF16 => half::bf16::from_f64(value as f64 / 8.0).to_bits().into(),
                    F32 => (value as f32 / 8.0).to_bits().into(),
                    F64 => (value as f64 / 8.0).to_bits(),
                    _ => value as u64,
                }
            }
        }
    }

    /// A layout of a shape, with any order of axes, steps and directions, and with repetition if
    /// wanted.
    fn layout(&mut self, shape: &[usize], repeats: bool) -> (Layout, usize) {
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        for at in (1..axes.len()).rev() {
            axes.swap(at, self.below(at + 1));
        }
        let plain = self.below(3) == 0;
        if plain {
            axes.sort_by(|a, b| b.cmp(a));
        }
        let (mut strides, mut offset, mut step) = (vec![0; shape.len()], 0, 1);
        for &axis in &axes {
            if repeats && !plain && self.below(8) == 0 {
                continue;
            }
            let apart = if plain { 1 } else { self.of(&[1, 1, 2, 3]) };
            let stride = step * apart;
            let back = !plain && self.below(3) == 0;
            strides[axis] = if back { -(stride as isize) } else { stride as isize };
            offset += if back { stride * shape[axis].saturating_sub(1) } else { 0 };
            step = stride * shape[axis].max(1);
        }
        offset += if plain { 0 } else { self.below(3) };
        let layout = Layout::new(shape, &strides, offset).expect("small numbers");
        (layout.clone(), layout.span().end.max(offset + 1) + self.below(2))
    }

    fn array(&mut self, of: ElementType, shape: &[usize], elements: Elements) -> Array {
        let (layout, len) = self.layout(shape, true);
        let width = of.len_bytes();
        let memory =
            (0..len).flat_map(|_| self.element(of, elements).to_le_bytes()[..width].to_vec()).collect();
        let array = Array { element_type: of, memory, shift: 0, layout };
        if self.below(8) == 0 { array.shifted() } else { array }
    }

    /// A fresh result of a shape in a random layout.
    pub(crate) fn out(&mut self, of: ElementType, shape: &[usize]) -> Array {
        let (layout, len) = self.layout(shape, false);
        let memory = vec![crate::array::UNTOUCHED; len * of.len_bytes()];
        let array = Array { element_type: of, memory, shift: 0, layout };
        if self.below(8) == 0 { array.shifted() } else { array }
    }

    fn shape(&mut self) -> Vec<usize> {
        let rank = self.of(&[1, 1, 2, 2, 3, 4]);
        let mut shape: Vec<usize> = (0..rank).map(|_| self.of(&[0, 1, 2, 3, 5, 7, 9])).collect();
        if self.below(3) > 0 {
            shape.iter_mut().for_each(|extent| *extent = (*extent).max(1));
        }
        if self.below(6) == 0 {
            let axis = self.below(rank);
            shape[axis] = self.of(&[40, 300, 515, 700, 1100]);
        }
        shape
    }

    fn kind_of_elements(&mut self) -> Elements {
        match self.below(4) {
            0 => Elements::Any,
            1 => Elements::Few,
            2 => Elements::Within(-3, 4),
            _ => Elements::Within(-900, 1000),
        }
    }

    /// A small call with inputs that fit it.
    pub(crate) fn small(&mut self) -> (Call, Vec<Array>) {
        let shape = self.shape();
        let number = self.below(12);
        self.case(number, &shape)
    }

    /// Like [`small`](Self::small), with one long axis or many rows. Takes each call in turn.
    pub(crate) fn large(&mut self, number: usize) -> (Call, Vec<Array>) {
        let shape: Vec<usize> = match self.below(3) {
            0 => vec![self.of(&[270_000, 300_001])],
            1 => vec![self.of(&[300, 2100]), self.of(&[130, 64])],
            _ => vec![self.of(&[3, 5]), self.of(&[40_000, 33_000])],
        };
        self.case(number % 12, &shape)
    }

    fn case(&mut self, number: usize, shape: &[usize]) -> (Call, Vec<Array>) {
        use ElementType::{BF16, Bool, F16, F32, F64, I32, I64, U32};
        let all = ElementType::ALL;
        let numbers: Vec<_> = all.into_iter().filter(|&of| of != Bool).collect();
        let whole: Vec<_> = all.into_iter().filter(|of| of.is_integer()).collect();
        let (mut of, elements) = (self.of(&all), self.kind_of_elements());
        let rank = shape.len() as isize;
        let axis = self.below(2 * rank as usize) as isize - rank;
        let extent = shape[(axis.rem_euclid(rank)) as usize];
        let operation = self.of(&[Combining::Sum, Combining::Sum, Combining::Minimum, Combining::Maximum]);
        let call = match number {
            0 => Call::Sort { axis, descending: self.truth() },
            1 => Call::ArgSort { axis, descending: self.truth() },
            2 => {
                let k = if self.truth() { self.below(extent + 1) } else { extent.min(3) };
                Call::TopK { k, axis, largest: self.truth() }
            }
            3 => Call::Unique,
            4 => Call::NonZero,
            5 => {
                of = self.of(&[F16, BF16, F32, F64]);
                let elements = if self.truth() { Elements::Within(-900, 1000) } else { elements };
                let shape: Vec<usize> = shape.iter().map(|&extent| extent.max(1)).collect();
                let q = self.of(&[0.0, 0.5, 0.25, 0.9, 1.0, 1.0 / 3.0]);
                return (Call::Quantile { q, axis }, vec![self.array(of, &shape, elements)]);
            }
            6 => {
                let len = self.of(if shape[0] > 10_000 { &[16, 33] } else { &[0, 1, 2, 7, 16, 33, 500] });
                let list = self.array(of, &[len], elements);
                return (
                    Call::SearchSorted { right: self.truth() },
                    vec![ascending(list), self.array(of, shape, elements)],
                );
            }
            7 => {
                of = self.of(&numbers);
                let len = self.of(&[2, 3, 5, 9, 40]);
                let edges = self.array(of, &[len], elements);
                return (Call::Histogram, vec![self.array(of, shape, elements), ascending(edges)]);
            }
            8 => {
                of = self.of(&whole);
                let n = self.of(&[1_usize, 5, 50, 3000]);
                let wrong = i64::from(self.below(6) == 0);
                let mut inputs =
                    vec![self.array(of, shape, Elements::Within(-wrong, n.min(120) as i64 + wrong))];
                if self.truth() {
                    let weights = self.of(&all);
                    inputs.push(self.array(weights, shape, elements));
                }
                return (Call::BinCount { n }, inputs);
            }
            9 => {
                of = self.of(&numbers);
                let len = if extent > 10_000 { extent - 5 } else { self.of(&[0, 1, 3, 8, 40, 1100]) };
                let span = extent as i64 + i64::from(self.below(6) == 0);
                let few = if self.truth() { span } else { span.min(3) };
                let of_index = self.of(&[I32, U32, I64]);
                let least = if of_index == U32 { 0 } else { -few };
                let indices = self.array(of_index, &[len], Elements::Within(least, few.max(1)));
                let mut put_shape = shape.to_vec();
                put_shape[(axis.rem_euclid(rank)) as usize] = len;
                for extent in &mut put_shape {
                    if self.below(6) == 0 {
                        *extent = 1;
                    }
                }
                let leading = if put_shape[0] == 1 && self.truth() { 1 } else { 0 };
                let v = self.array(of, &put_shape[leading..], elements);
                return (Call::Put { operation, axis }, vec![self.array(of, shape, elements), indices, v]);
            }
            10 => {
                of = self.of(&numbers);
                let (extent, of_index) = (self.of(&[0, 1, 3, 8, 40, 300]), self.of(&[I32, U32, I64]));
                let end = extent + i64::from(extent == 0 || self.below(5) == 0);
                let least = if of_index == U32 { 0 } else { -end };
                let columns = self.array(of_index, &shape[..1], Elements::Within(least, end));
                let mut x_shape = shape.to_vec();
                x_shape[0] = extent as usize;
                let rows = self.of(&[1, 2, 3, 9, 60, 1000]);
                let values = self.array(of, &shape[..1], elements);
                let x = self.array(of, &x_shape, elements);
                return (Call::CsrDot, vec![values, columns, self.offsets(rows, shape[0] as i64), x]);
            }
            _ => {
                let len = self.of(&[1, 2, 3, 9, 60]);
                let offsets = self.offsets(len, shape[0] as i64);
                return (Call::Segments { operation }, vec![self.array(of, shape, elements), offsets]);
            }
        };
        (call, vec![self.array(of, shape, elements)])
    }

    /// Offsets among `extent` elements, which mostly ascend and are sometimes out of range.
    fn offsets(&mut self, len: usize, extent: i64) -> Array {
        use ElementType::{I32, I64, U32};
        let of_index = self.of(&[I32, U32, I64]);
        let past = i64::from(self.below(5) == 0);
        let least = if of_index == U32 { 0 } else { -past };
        let offsets = self.array(of_index, &[len], Elements::Within(least, extent + 1 + past));
        if self.below(4) > 0 { ascending(offsets) } else { offsets }
    }
}

/// Sorts the elements of an array in ascending order, if they do not repeat.
fn ascending(mut array: Array) -> Array {
    let width = array.element_type.len_bytes();
    let bytes = array.elements();
    let mut elements: Vec<&[u8]> = bytes.chunks(width).collect();
    elements.sort_by(|a, b| {
        let rank = |bytes: &[u8]| match crate::numbers::number(array.element_type, bytes) {
            crate::numbers::Number::Whole(value) => (false, value),
            crate::numbers::Number::Real(value) if value.is_nan() => (true, 0),
            // Maps bits of either sign to the order of numbers, in which zeros are equal.
            crate::numbers::Number::Real(value) if value < 0.0 => (false, -i128::from(value.abs().to_bits())),
            crate::numbers::Number::Real(value) => (false, i128::from(value.abs().to_bits())),
        };
        rank(a).cmp(&rank(b))
    });
    let positions: Vec<usize> = array.positions().collect();
    for (at, element) in positions.into_iter().zip(elements) {
        array.memory[array.shift + at * width..][..width].copy_from_slice(element);
    }
    array
}
