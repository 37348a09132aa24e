//! Elements for the calls that are measured: random ones, in range if they are indices, ascending if they
//! must be.

use devarray::{function::ElementType, order::Call};

use super::CallMeasured;
use crate::calls::AnyCall;

/// A generator of bits: Marsaglia's xorshift.
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        let product = u128::from(self.next()) * bound as u128;
        usize::try_from(product >> 64).unwrap_or(0)
    }
}

/// The bytes of an input of a case, before its steps.
#[must_use]
pub fn call_input(case: &CallMeasured, number: usize) -> Vec<u8> {
    let input = &case.inputs[number];
    let (of, len) = (input.element_type, input.shape.iter().product::<usize>());
    let mut bits = Bits(0x9e37_79b9_7f4a_7c15 + number as u64);
    let indices = |bits: &mut Bits, bound: usize| -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len * of.len_bytes());
        (0..len).for_each(|_| bytes.extend_from_slice(&bits.below(bound).to_le_bytes()[..of.len_bytes()]));
        bytes
    };
    match (&case.call, number) {
        (AnyCall::Order(Call::BinCount { n }), 0) => indices(&mut bits, bound(of, *n)),
        (AnyCall::Order(Call::Put { axis, .. }), 1) => {
            let shape = &case.shapes[0];
            let axis = if *axis < 0 { axis.saturating_add_unsigned(shape.len()) } else { *axis };
            indices(&mut bits, shape.get(axis.unsigned_abs()).copied().unwrap_or(1))
        }
        (AnyCall::Order(Call::Segments { .. }), 1) => {
            let rows = case.shapes[0].first().copied().unwrap_or(0);
            let mut offsets: Vec<usize> = (0..len).map(|_| bits.below(rows + 1)).collect();
            offsets.sort_unstable();
            offsets.iter().flat_map(|offset| offset.to_le_bytes()[..of.len_bytes()].to_vec()).collect()
        }
        (AnyCall::Order(Call::CsrDot), 1) if case.stencil => stencil(case, of),
        (AnyCall::Order(Call::CsrDot), 1) => indices(&mut bits, case.shapes[3].first().copied().unwrap_or(1)),
        (AnyCall::Order(Call::CsrDot), 2) => {
            // Rows of equal length, except for the remainder of the division.
            let (values, rows) = (case.shapes[0].iter().product::<usize>(), len.saturating_sub(1).max(1));
            let offset = |row: usize| row.min(rows) * (values / rows) + row.min(values % rows);
            (0..len).flat_map(|row| offset(row).to_le_bytes()[..of.len_bytes()].to_vec()).collect()
        }
        (AnyCall::Order(Call::SearchSorted { .. }), 0) | (AnyCall::Order(Call::Histogram), 1) => {
            let mut elements: Vec<Vec<u8>> = (0..len).map(|_| element(of, &mut bits)).collect();
            elements.sort_by_key(|element| key(of, element));
            elements.concat()
        }
        _ => (0..len).flat_map(|_| element(of, &mut bits)).collect(),
    }
}

/// The columns of a stencil on a square grid that wraps around: for each row its own position, the neighbours
/// in its line and in the lines beside it, and so on outwards.
fn stencil(case: &CallMeasured, of: ElementType) -> Vec<u8> {
    let (values, places) = (case.shapes[0].iter().product::<usize>(), case.shapes[3][0].max(1));
    let rows = case.shapes[2].iter().product::<usize>().saturating_sub(1).max(1);
    let (each, side) = ((values / rows).max(1), places.isqrt());
    let mut steps: Vec<usize> = (0..each)
        .map(|at| {
            let step = at.div_ceil(2).div_ceil(2) * if at.div_ceil(2) % 2 == 0 { side } else { 1 } % places;
            if at % 2 == 0 { step } else { places - step }
        })
        .collect();
    // Ascending, as in sparse matrices: the columns that wrapped around come first.
    steps.sort_by_key(|&step| (step + places / 2) % places);
    let column = |at: usize| (at / each + steps[at % each]) % places;
    (0..values).flat_map(|at| column(at).to_le_bytes()[..of.len_bytes()].to_vec()).collect()
}

/// The number of values below `n` that a type has.
fn bound(of: ElementType, n: usize) -> usize {
    let most = 1_usize << (8 * of.len_bytes()).min(62);
    n.min(if of.is_signed() { most / 2 } else { most }).max(1)
}

/// Any integer, or a float from 0 to below 1.
fn element(of: ElementType, bits: &mut Bits) -> Vec<u8> {
    let drawn = bits.next();
    let share = (drawn >> 40) as f32 / (1_u32 << 24) as f32;
    match of {
        ElementType::Bool => vec![u8::from(drawn >> 63 == 1)],
        ElementType::F64 => ((drawn >> 11) as f64 / (1_u64 << 53) as f64).to_le_bytes().to_vec(),
        ElementType::F32 => share.to_le_bytes().to_vec(),
        ElementType::BF16 => share.to_le_bytes()[2..].to_vec(),
        // From 0 to 1, from the bits of halves.
        ElementType::F16 => (drawn % 0x3c00).to_le_bytes()[..2].to_vec(),
        _ => drawn.to_le_bytes()[..of.len_bytes()].to_vec(),
    }
}

/// A key that has the order of such elements.
fn key(of: ElementType, element: &[u8]) -> u64 {
    let bits = element.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    let sign = 1 << (8 * of.len_bytes() - 1);
    if of.is_integer() && of.is_signed() { bits ^ sign } else { bits }
}
