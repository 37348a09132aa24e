//! A closure leaves its memory to the next closure, and nothing else.

use super::*;

/// Whether a thread keeps a builder of this many instructions for the next closure.
fn is_kept(instructions: usize) -> bool {
    let mut builder = FunctionBuilder::new(&[ElementType::I64], &[]).expect("one input");
    let mut value = builder.input(0).expect("an input");
    while builder.instructions() < instructions {
        let operation = match instructions - builder.instructions() {
            1 => UnaryOperation::Not,
            _ => UnaryOperation::Negate,
        };
        value = builder.unary(operation, value).expect("an integer");
    }
    assert_eq!(builder.instructions(), instructions);
    IDLE.take();
    Trace { number: 0, builder, error: None }.end();
    IDLE.take().is_some_and(|builder| builder.instructions() == instructions)
}

#[test]
fn the_memory_of_a_short_function_is_kept_for_the_next() {
    assert!(is_kept(1));
    assert!(is_kept(MAX_IDLE_INSTRUCTIONS));
    assert!(!is_kept(MAX_IDLE_INSTRUCTIONS + 1));
    assert!(!is_kept(MAX_IDLE_INSTRUCTIONS + 500));
}

#[test]
fn a_closure_begins_with_the_memory_of_the_one_before() {
    let parameters = [Parameter::Input(ElementType::F32), Parameter::Scalar(ElementType::F32)];
    let written = || {
        trace(&parameters, |arguments| {
            let (x, k) = (arguments.next_argument::<f32>(), arguments.next_argument::<f32>());
            x * k + x
        })
    };
    IDLE.take();
    let (first, second) = (written(), written());
    assert_eq!(first, Function::parse("x0 * k0 + x0", &[ElementType::F32], &[ElementType::F32]));
    assert_eq!(second, first);
    let taken = Tracing::begin(&parameters).map(|_| IDLE.take().is_none());
    assert_eq!(taken, Ok(true), "the next closure took the builder");
}
/// Arguments that a closure does not use belong to its function.
#[test]
fn closures_of_other_arguments_are_other_functions() {
    use ElementType::{F32, F64};
    for (inputs, scalars) in [([F32, F32], F32), ([F32, F64], F32), ([F32, F32], F64), ([F32, F32], F32)] {
        let parameters =
            [Parameter::Input(inputs[0]), Parameter::Input(inputs[1]), Parameter::Scalar(scalars)];
        let function =
            trace(&parameters, |arguments| arguments.next_argument::<f32>() * 3.0).expect("it is one");
        assert_eq!((function.inputs(), function.scalars()), (&inputs[..], &[scalars][..]));
    }
}

/// A closure that panics leaves nothing behind.
#[test]
fn a_trace_ends_also_if_its_closure_panics() {
    let unwound = std::panic::catch_unwind(|| {
        trace::<f32>(&[Parameter::Input(ElementType::F32)], |_| std::panic::resume_unwind(Box::new(())))
    });
    assert!(unwound.is_err());
    assert_eq!(with_traces(|traces| traces.len()), Some(0));
    assert!(Expression::constant(1.0_f32).node.is_none(), "there is no function to write it in");
}
