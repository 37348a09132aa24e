//! Random functions over random layouts: the interpreter gives the same bits as a naive evaluator,
//! element by element. The evaluator shares nothing with the interpreter or the expansion.
#![allow(unsafe_code)] // interprets programs on memory of its own
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "helpers of tests"
)]

#[path = "function_oracle/evaluate.rs"]
mod evaluate;
#[path = "function_oracle/expression.rs"]
mod expression;
#[path = "function_oracle/value.rs"]
mod value;

use devarray::{
    Layout,
    function::{
        ElementType, Function,
        interpreter::{InputElements, ResultElements, interpret_range},
    },
};
use evaluate::Element;
use expression::{Grammar, Tape};
use proptest::{prelude::*, test_runner::Config};
use value::Value;

/// A layout of a shape with axes in any order, reversed or not, with gaps; broadcast along some
/// axes if `repeats`.
fn layout(tape: &mut Tape<'_>, shape: &[usize], repeats: bool) -> Layout {
    let mut axes: Vec<usize> = (0..shape.len()).collect();
    for at in 1..axes.len() {
        axes.swap(at, tape.below(at + 1));
    }
    let (mut strides, mut step, mut offset) = (vec![0_isize; shape.len()], 1_isize, 0_usize);
    for axis in axes {
        match tape.below(6) {
            5 if repeats => continue,
            4 => {
                strides[axis] = -step;
                offset += (shape[axis] - 1) * step.cast_unsigned();
            }
            3 => {
                step *= 2;
                strides[axis] = step;
            }
            _ => strides[axis] = step,
        }
        step *= shape[axis] as isize;
    }
    Layout::new(shape, &strides, offset + tape.below(3)).unwrap()
}

/// The positions of a layout's elements, in C order, with their indices.
fn places(layout: &Layout) -> Vec<(Vec<usize>, usize)> {
    let mut places = vec![(vec![], layout.offset().cast_signed())];
    for (&extent, &stride) in layout.shape().iter().zip(layout.strides()) {
        let along = |(index, place): &(Vec<usize>, isize)| {
            let (index, place) = (index.clone(), *place);
            (0..extent).map(move |at| ([&index[..], &[at]].concat(), place + at as isize * stride))
        };
        places = places.iter().flat_map(along).collect();
    }
    places.into_iter().map(|(index, place)| (index, place.cast_unsigned())).collect()
}

fn read(memory: &[u8], element_type: ElementType, place: usize) -> Value {
    let item = element_type.len_bytes();
    let bytes = &memory[place * item..(place + 1) * item];
    Value::from_bits(element_type, bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte)))
}

/// Draws a function, its operands and the place of the result from one tape; returns both answers.
fn compare(numbers: &[u64]) -> Result<(), TestCaseError> {
    let tape = &mut Tape::new(numbers);
    let shape: Vec<usize> = (0..tape.below(4)).map(|_| tape.choice(&[2, 1, 3, 5, 33])).collect();
    let inputs: Vec<ElementType> = (0..1 + tape.below(3)).map(|_| tape.choice(&ElementType::ALL)).collect();
    let scalars: Vec<ElementType> = (0..tape.below(3)).map(|_| tape.choice(&ElementType::ALL)).collect();
    let result_type = tape.choice(&ElementType::ALL);
    let layouts: Vec<Layout> = inputs.iter().map(|_| layout(tape, &shape, true)).collect();
    let mut out_layout = layout(tape, &shape, false);
    let scalar_values: Vec<Value> = scalars.iter().map(|&scalar| tape.element(scalar)).collect();
    let depth = 1 + tape.below(4);
    let grammar = Grammar { inputs: &inputs, scalars: &scalars, rank: shape.len() };
    let expression = grammar.expression(tape, result_type, depth);
    // In place: the result lies where the first input does.
    let in_place = inputs[0].len_bytes() == result_type.len_bytes()
        && layouts[0].injectivity() == devarray::layout::Injectivity::Injective
        && tape.below(3) == 0;
    if in_place {
        out_layout = layouts[0].clone();
    }
    let mut seed = tape.number();
    let mut memories: Vec<Vec<u8>> = inputs
        .iter()
        .zip(&layouts)
        .map(|(&element_type, layout)| {
            let element = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let parts = [seed >> 33, seed >> 13 ^ seed << 31];
                let bits = Tape::new(&parts).element(element_type).bits();
                bits.to_le_bytes()[..element_type.len_bytes()].to_vec()
            };
            std::iter::repeat_with(element).take(layout.span().end).flatten().collect()
        })
        .collect();
    let text = expression.to_string();
    let function = Function::parse(&text, &inputs, &scalars)
        .map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
    prop_assert_eq!(&Function::parse(&function.to_string(), &inputs, &scalars).unwrap(), &function);

    let operand_places: Vec<_> = layouts.iter().map(places).collect();
    let expected: Vec<u64> = places(&out_layout)
        .iter()
        .enumerate()
        .map(|(at, (position, _))| {
            let values: Vec<Value> = (0..inputs.len())
                .map(|nth| read(&memories[nth], inputs[nth], operand_places[nth][at].1))
                .collect();
            Element { inputs: &values, scalars: &scalar_values, position }.evaluate(&expression).bits()
        })
        .collect();

    let item = result_type.len_bytes();
    let mut fresh = vec![0xab_u8; out_layout.span().end * item];
    let start = if in_place { memories[0].as_mut_ptr() } else { fresh.as_mut_ptr() };
    let operands: Vec<InputElements<'_>> = memories
        .iter()
        .zip(&layouts)
        .enumerate()
        .map(|(nth, (memory, layout))| {
            let memory = if nth == 0 && in_place { start.cast_const() } else { memory.as_ptr() };
            InputElements { start: memory, layout }
        })
        .collect();
    let bits: Vec<u64> = scalar_values.iter().map(|value| value.bits()).collect();
    let program = function.expand();
    let cut = tape.below(out_layout.len() + 1);
    for range in [0..cut, cut..out_layout.len()] {
        let result = ResultElements { start, layout: &out_layout };
        // SAFETY: every layout lies in its memory, which nothing else touches; the result's is
        // injective
        unsafe { interpret_range(&program, &operands, &bits, result, range) };
    }
    let memory = if in_place { &memories[0] } else { &fresh };
    let mut untouched = fresh.clone();
    for ((index, place), &expected) in places(&out_layout).iter().zip(&expected) {
        let found = read(memory, result_type, *place).bits();
        prop_assert_eq!(found, expected, "{} at {:?}: {:#x}, expected {:#x}", text, index, found, expected);
        // Compares the stored bits, since reading makes a NaN canonical.
        let stored = memory[place * item..(place + 1) * item]
            .iter()
            .rev()
            .fold(0, |bits, &b| bits << 8 | u64::from(b));
        prop_assert_eq!(stored, expected, "{} at {:?}: stored {:#x}", text, index, stored);
        untouched[place * item..(place + 1) * item].fill(0xab);
    }
    prop_assert!(untouched.iter().all(|&byte| byte == 0xab), "{}: a gap was written", text);
    Ok(())
}

proptest! {
    #![proptest_config(Config { cases: 2000, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(22), ..Config::default() })]

    #[test]
    fn random_functions_give_the_bits_of_the_evaluator(numbers in prop::collection::vec(any::<u64>(), 0..200)) {
        compare(&numbers)?;
    }
}

/// Two functions that differ in one operation must give different results, or the comparison shows
/// nothing.
#[test]
fn the_evaluator_tells_operations_apart() {
    let value = |text: f64| Value::F64(text);
    let element = |a: f64, b: f64, name: &'static str| {
        use expression::Expression::{Binary, Input};
        let inputs = [value(a), value(b)];
        let expression = Binary(name, Box::new(Input(0)), Box::new(Input(1)));
        Element { inputs: &inputs, scalars: &[], position: &[] }.evaluate(&expression).bits()
    };
    assert_eq!(element(1.0, 0.1, "//"), 9.0_f64.to_bits());
    assert_ne!(element(-1.0, 3.0, "%"), element(-1.0, 3.0, "fmod"));
    assert_ne!(element(-0.0, 0.0, "minimum"), element(-0.0, 0.0, "maximum"));
    assert_ne!(element(f64::NAN, 1.0, "minimum"), element(f64::NAN, 1.0, "fmin"));
}
