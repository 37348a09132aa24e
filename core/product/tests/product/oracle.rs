//! Computes products from their definition, one element after the other.

use devarray_function::ElementType;

/// A number of any type: an integer modulo 2^64, or a float.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value {
    Whole(u64),
    Single(f32),
    Double(f64),
}

use Value::{Double, Single, Whole};

impl Value {
    pub(crate) fn of(element_type: ElementType, bits: u64) -> Self {
        match element_type {
            ElementType::F16 => Single(half::f16::from_bits(bits as u16).to_f32()),
            ElementType::BF16 => Single(half::bf16::from_bits(bits as u16).to_f32()),
            ElementType::F32 => Single(f32::from_bits(bits as u32)),
            ElementType::F64 => Double(f64::from_bits(bits)),
            _ => Whole(bits),
        }
    }

    pub(crate) fn bits(self, element_type: ElementType) -> u64 {
        let width = element_type.len_bytes() * 8;
        match (self, element_type) {
            (Single(value), ElementType::F16) if value.is_nan() => 0x7e00,
            (Single(value), ElementType::BF16) if value.is_nan() => 0x7fc0,
            (Single(value), ElementType::F16) => half::f16::from_f32(value).to_bits().into(),
            (Single(value), ElementType::BF16) => half::bf16::from_f32(value).to_bits().into(),
            (Single(value), _) if value.is_nan() => 0x7fc0_0000,
            (Single(value), _) => value.to_bits().into(),
            (Double(value), _) if value.is_nan() => 0x7ff8_0000_0000_0000,
            (Double(value), _) => value.to_bits(),
            (Whole(value), _) => value & (u64::MAX >> (64 - width)),
        }
    }

    fn zero(element_type: ElementType) -> Self {
        Self::of(element_type, 0)
    }

    fn fma(a: Self, b: Self, y: Self) -> Self {
        match (a, b, y) {
            (Single(a), Single(b), Single(y)) => Single(a.mul_add(b, y)),
            (Double(a), Double(b), Double(y)) => Double(a.mul_add(b, y)),
            (Whole(a), Whole(b), Whole(y)) => Whole(a.wrapping_mul(b).wrapping_add(y)),
            _ => panic!("of one type"),
        }
    }

    fn add(self, other: Self) -> Self {
        match (self, other) {
            (Single(a), Single(b)) => Single(a + b),
            (Double(a), Double(b)) => Double(a + b),
            (Whole(a), Whole(b)) => Whole(a.wrapping_add(b)),
            _ => panic!("of one type"),
        }
    }
}

/// Segments have 16,384 elements and 1,024 lanes, which are added in pairs.
fn sum(values: &[Value]) -> Value {
    let segment = |values: &[Value]| {
        let mut lanes = values[..values.len().min(1024)].to_vec();
        for (k, &value) in values.iter().enumerate().skip(1024) {
            lanes[k % 1024] = lanes[k % 1024].add(value);
        }
        while lanes.len() > 1 {
            lanes =
                lanes.chunks(2).map(|pair| pair.iter().copied().reduce(Value::add).expect("one")).collect();
        }
        lanes[0]
    };
    let sums: Vec<Value> = values.chunks(16_384).map(segment).collect();
    if sums.len() == 1 { sums[0] } else { sum(&sums) }
}

/// An element: adds `pairs` in rising k, starting from the old value.
pub(crate) fn element(element_type: ElementType, start: Option<u64>, pairs: &[[u64; 2]]) -> u64 {
    let zero = Value::zero(element_type);
    let mut from = start.map_or(zero, |bits| Value::of(element_type, bits));
    let mut chains = Vec::new();
    for chain in pairs.chunks(4096) {
        let mut y = std::mem::replace(&mut from, zero);
        for &pair in chain {
            let [a, b] = pair.map(|bits| Value::of(element_type, bits));
            y = Value::fma(a, b, y);
        }
        chains.push(y);
    }
    let y = match chains[..] {
        [] => from,
        [only] => only,
        _ => zero.add(sum(&chains)),
    };
    y.bits(element_type)
}

/// The elements of an operand, repeated for every index of a batch.
fn spread(shape: &[usize], bits: &[u64], batch: &[usize]) -> Vec<Vec<u64>> {
    let (own, [rows, columns]) = shape.split_last_chunk::<2>().expect("a matrix");
    let len = rows * columns;
    let count: usize = batch.iter().product();
    (0..count)
        .map(|mut number| {
            let (mut at, mut step) = (0, 1);
            for (axis, &extent) in batch.iter().enumerate().rev() {
                let index = number % extent;
                number /= extent;
                let Some(axis) = (axis + own.len()).checked_sub(batch.len()) else { continue };
                at += if own[axis] == 1 { 0 } else { index * step };
                step *= own[axis];
            }
            bits[at * len..][..len].to_vec()
        })
        .collect()
}

/// The bits of a product in row-major order. If `before` is given, chains start from the result's
/// old elements.
pub(crate) fn product(
    element_type: ElementType,
    (a_shape, a): (&[usize], &[u64]),
    (b_shape, b): (&[usize], &[u64]),
    before: Option<&[u64]>,
) -> Vec<u64> {
    let a_shape = if let [k] = *a_shape { vec![1, k] } else { a_shape.to_vec() };
    let b_shape = if let [k] = *b_shape { vec![k, 1] } else { b_shape.to_vec() };
    let [a_batch, b_batch] = [&a_shape, &b_shape].map(|shape| &shape[..shape.len() - 2]);
    let batch = devarray_layout::broadcast_shapes([a_batch, b_batch].into_iter()).expect("they broadcast");
    let (m, k, n) = (a_shape[a_batch.len()], b_shape[b_batch.len()], b_shape[b_batch.len() + 1]);
    let mut result = Vec::new();
    for (a, b) in spread(&a_shape, a, &batch).iter().zip(&spread(&b_shape, b, &batch)) {
        for row in 0..m {
            for column in 0..n {
                let pairs: Vec<[u64; 2]> = (0..k).map(|at| [a[row * k + at], b[at * n + column]]).collect();
                let start = before.map(|before| before[result.len()]);
                result.push(element(element_type, start, &pairs));
            }
        }
    }
    result
}
