//! Compares random calls with the oracle.

use devarray_function::ElementType;
use devarray_layout::Injectivity;
use devarray_order::{Alone, Call, Combining, Outcome, Workers};

use crate::{
    array::{Array, call, put_in_place},
    cases::Cases,
    oracle::{Expected, Plain, expected},
    workers::Threads,
};

fn plain(array: &Array) -> Plain {
    let width = array.element_type.len_bytes();
    let elements = array.elements().chunks(width).map(<[u8]>::to_vec).collect();
    Plain { of: array.element_type, shape: array.layout.shape().to_vec(), elements }
}

/// A difference between the outcome of a call and the expected one.
fn differs(expected: &Expected, found: &[Array], outcome: Outcome) -> Option<String> {
    if expected.outputs.len() != found.len() {
        return Some(format!("{} outputs", found.len()));
    }
    let wrong = outcome.wrong_index.map(|wrong| (wrong.position, wrong.index));
    if wrong != expected.wrong {
        return Some(format!("the wrong index is {wrong:?}, not {:?}", expected.wrong));
    }
    for (number, (expected, found)) in expected.outputs.iter().zip(found).enumerate() {
        let found = plain(found);
        if (expected.of, &expected.shape) != (found.of, &found.shape) {
            return Some(format!("output {number} is {} of {:?}", found.of, found.shape));
        }
        if let Some(at) = (0..found.elements.len()).find(|&at| expected.elements[at] != found.elements[at]) {
            let (expected, found) = (&expected.elements[at], &found.elements[at]);
            return Some(format!("element {at} of output {number} is {found:x?}, not {expected:x?}"));
        }
    }
    None
}

fn try_one(this: &Call, inputs: &[Array], cases: &mut Cases, workers: &dyn Workers) -> Option<String> {
    let plain_inputs: Vec<Plain> = inputs.iter().map(plain).collect();
    let expected = expected(this, &plain_inputs);
    let shapes: Vec<_> = inputs.iter().map(|input| (input.element_type, input.layout.shape())).collect();
    let outputs = this.outputs(&shapes).unwrap_or_else(|error| panic!("{this:?} of {shapes:?}: {error}"));
    let out = outputs.iter().map(|output| cases.out(output.element_type, &output.shape)).collect();
    let called = call(this, inputs, Some(out), workers).expect("a call that fits");
    if !called.outputs.iter().all(Array::rest_is_untouched) {
        return Some("memory beside a result was written".to_owned());
    }
    differs(&expected, &called.outputs, called.outcome)
        .or_else(|| differs_in_place(this, inputs, &expected, workers))
}

/// Does the same for a put whose result is x itself.
fn differs_in_place(
    this: &Call,
    inputs: &[Array],
    expected: &Expected,
    workers: &dyn Workers,
) -> Option<String> {
    let can_be_written = inputs[0].layout.injectivity() == Injectivity::Injective;
    if !matches!(this, Call::Put { .. }) || !can_be_written {
        return None;
    }
    let called = put_in_place(this, inputs, workers);
    let x = &called.outputs[0];
    let mut kept = x.clone();
    let width = x.element_type.len_bytes();
    for at in x.positions() {
        let place = x.shift + at * width..x.shift + (at + 1) * width;
        kept.memory[place.clone()].copy_from_slice(&inputs[0].memory[place]);
    }
    if kept.memory != inputs[0].memory {
        return Some("memory beside x was written".to_owned());
    }
    differs(expected, &called.outputs, called.outcome).map(|wrong| format!("in place: {wrong}"))
}

#[test]
fn random_calls_of_every_type_and_layout_are_their_definitions() {
    let mut cases = Cases::new(1);
    for number in 0..1500 {
        let (this, inputs) = cases.small();
        let wrong = try_one(&this, &inputs, &mut cases, &Alone);
        assert_eq!(wrong, None, "{number}: {this:?} of {inputs:?}");
    }
}

#[test]
fn large_calls_are_their_definitions() {
    let mut cases = Cases::new(2);
    for number in 0..22 {
        let (this, inputs) = cases.large(number);
        let workers: &dyn Workers = if cases.truth() { &Alone } else { &Threads(3) };
        let of: Vec<_> = inputs.iter().map(|input| (input.element_type, input.layout.clone())).collect();
        assert_eq!(try_one(&this, &inputs, &mut cases, workers), None, "{number}: {this:?} of {of:?}");
    }
}

/// The twin: changing one bit of an input changes the oracle's result, and the comparison notices
/// it.
#[test]
fn a_changed_element_is_noticed() {
    let mut cases = Cases::new(3);
    let mut noticed = 0;
    for _ in 0..300 {
        let (this, inputs) = cases.small();
        let Ok(called) = call(&this, &inputs, None, &Alone) else { continue };
        let mut plain_inputs: Vec<Plain> = inputs.iter().map(plain).collect();
        let Some(element) = plain_inputs[0].elements.first_mut() else { continue };
        element[0] ^= 1;
        if matches!(this, Call::BinCount { .. } | Call::Sort { .. }) {
            let expected = expected(&this, &plain_inputs);
            noticed += usize::from(differs(&expected, &called.outputs, called.outcome).is_some());
        }
    }
    assert!(noticed > 20, "{noticed}");
}

/// Sums more elements than a segment has, where some places get few: weights of counts, and puts,
/// with and without parts.
#[test]
fn sums_of_many_elements_at_a_place_have_one_value() {
    let mut cases = Cases::new(4);
    let len = 140_000;
    for of in [ElementType::F16, ElementType::BF16, ElementType::F32, ElementType::F64] {
        for places in [1, 3, 40_000] {
            let skewed = |bits: u64| if bits.is_multiple_of(4) { (bits >> 8) as usize % places } else { 0 };
            let indices: Vec<i64> = (0..len).map(|_| skewed(cases.bits()) as i64).collect();
            let indices = Array::new(ElementType::I64, &[len], bytemuck::cast_slice(&indices));
            let value = |bits: u64| half::f16::from_f64((bits % 4096) as f64 / 16.0 - 100.0);
            let values: Vec<u8> = (0..len)
                .flat_map(|_| match (of, value(cases.bits())) {
                    (ElementType::F16, value) => value.to_bits().to_le_bytes().to_vec(),
                    (ElementType::BF16, value) => {
                        half::bf16::from_f32(value.into()).to_bits().to_le_bytes().to_vec()
                    }
                    (ElementType::F32, value) => (f32::from(value) / 3.0).to_le_bytes().to_vec(),
                    (_, value) => (f64::from(value) / 3.0).to_le_bytes().to_vec(),
                })
                .collect();
            let v = Array::new(of, &[len], &values);
            let x = Array::new(of, &[places], &vec![0; places * of.len_bytes()]);
            let put = (Call::Put { operation: Combining::Sum, axis: 0 }, vec![x, indices.clone(), v.clone()]);
            let counted = (Call::BinCount { n: places }, vec![indices, v]);
            for (this, inputs) in [put, counted] {
                for workers in [&Alone as &dyn Workers, &Threads(3)] {
                    assert_eq!(try_one(&this, &inputs, &mut cases, workers), None, "{this:?} of {of}");
                }
            }
        }
    }
}
