//! A function within the limits of size and depth is printed as a text, which parses to the same
//! function. A function beyond them is printed as a list of its values.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::function::{
    BinaryOperation::{self, Add, Equal, Less, Multiply, Power, Subtract},
    ElementType::{self, Bool, F32, F64, I8, U8},
    Function, FunctionBuilder, FunctionErrorKind, MAX_NODES, UnaryOperation, Value,
};

/// Makes a value from another.
type Step = fn(&mut Steps, Value) -> Value;

/// A function under construction, with four inputs of one type.
struct Steps {
    builder: FunctionBuilder,
    inputs: [Value; 4],
}

impl Steps {
    fn unary(&mut self, name: &str, a: Value) -> Value {
        self.builder.unary(UnaryOperation::from_name(name).unwrap(), a).unwrap()
    }

    fn negated(&mut self, a: Value) -> Value {
        self.builder.unary(UnaryOperation::Negate, a).unwrap()
    }

    fn binary(&mut self, operation: BinaryOperation, a: Value, b: Value) -> Value {
        self.builder.binary(operation, a, b).unwrap()
    }
}

/// Applies `step` `times` times, to the first input or to the literal 2.
fn repeated(of: ElementType, literal: bool, step: Step, times: usize) -> Function {
    let mut builder = FunctionBuilder::new(&[of; 4], &[]).unwrap();
    let inputs = [0, 1, 2, 3].map(|at| builder.input(at).unwrap());
    let two = u64::from(2.0_f32.to_bits());
    let first = if literal { builder.constant(of, two).unwrap() } else { inputs[0] };
    let mut steps = Steps { builder, inputs };
    let value = (0..times).fold(first, |value, _| step(&mut steps, value));
    steps.builder.finish(value).unwrap()
}

/// Whether a function is shown as a text, which must parse to the same function; if not, it must be
/// a list with a line for each value.
fn is_a_text(function: &Function) -> bool {
    let shown = function.to_string();
    if shown.starts_with("v0: ") {
        assert_eq!(shown.lines().count(), function.nodes().len());
        for (at, (line, node)) in shown.lines().zip(function.nodes()).enumerate() {
            assert_eq!(line, format!("v{at}: {} = {:?}", node.element_type(), node.operation()));
        }
        return false;
    }
    assert_eq!(shown.lines().count(), 1);
    assert_eq!(Function::parse(&shown, function.inputs(), &[]).as_ref(), Ok(function));
    true
}

/// The number of times that each step can be applied before a text no longer shows it: 200 levels
/// of calls, operators before their operand, right operands and parentheses.
#[test]
fn a_function_as_deep_as_a_text_may_be_is_a_text() {
    let cases: [(&str, ElementType, usize, Step); 19] = [
        ("-x", F32, 200, |s, x| s.negated(x)),
        ("~x", I8, 200, |s, x| s.builder.unary(UnaryOperation::Not, x).unwrap()),
        ("sin(x)", F32, 200, |s, x| s.unary("sin", x)),
        ("-sin(x)", F32, 100, |s, x| {
            let x = s.unary("sin", x);
            s.negated(x)
        }),
        ("a ** x", F32, 200, |s, x| s.binary(Power, s.inputs[1], x)),
        ("(x) ** a", F32, 200, |s, x| s.binary(Power, x, s.inputs[1])),
        ("a - (x)", F32, 100, |s, x| s.binary(Subtract, s.inputs[1], x)),
        ("-(x + a)", F32, 99, |s, x| {
            let x = s.binary(Add, x, s.inputs[1]);
            s.negated(x)
        }),
        ("~(x & a)", I8, 99, |s, x| {
            let x = s.binary(BinaryOperation::And, x, s.inputs[1]);
            s.builder.unary(UnaryOperation::Not, x).unwrap()
        }),
        ("-(x) ** a", F32, 100, |s, x| {
            let x = s.binary(Power, x, s.inputs[1]);
            s.negated(x)
        }),
        ("(x + a) * b", F32, 199, |s, x| {
            let x = s.binary(Add, x, s.inputs[1]);
            s.binary(Multiply, x, s.inputs[2])
        }),
        ("(x) == a", Bool, 200, |s, x| s.binary(Equal, x, s.inputs[1])),
        ("a == (x)", Bool, 100, |s, x| s.binary(Equal, s.inputs[1], x)),
        ("minimum(a, x)", F32, 200, |s, x| s.binary(BinaryOperation::Minimum, s.inputs[1], x)),
        ("fma(a, b, x)", F32, 200, |s, x| s.builder.fma(s.inputs[1], s.inputs[2], x).unwrap()),
        ("clip(x, a, b)", F32, 200, |s, x| s.builder.clip(x, s.inputs[1], s.inputs[2]).unwrap()),
        ("where(a < b, b, x)", F32, 199, |s, x| {
            let less = s.binary(Less, s.inputs[1], s.inputs[2]);
            s.builder.select(less, s.inputs[2], x).unwrap()
        }),
        ("cast(cast(x, f64), f32)", F32, 100, |s, x| {
            let x = s.builder.cast(x, F64).unwrap();
            s.builder.cast(x, F32).unwrap()
        }),
        ("bitcast(bitcast(x, u8), i8)", I8, 100, |s, x| {
            let x = s.builder.bitcast(x, U8).unwrap();
            s.builder.bitcast(x, I8).unwrap()
        }),
    ];
    for (name, of, most, step) in cases {
        for times in [1, most - 1, most, most + 1, most + 2, 300] {
            let found = is_a_text(&repeated(of, false, step, times));
            assert_eq!(found, times <= most, "{name}: {times} times");
        }
    }
    // A literal alone is a cast, a level deeper than an input.
    let sine: Step = |s, x| s.unary("sin", x);
    assert!(is_a_text(&repeated(F32, true, sine, 199)) && !is_a_text(&repeated(F32, true, sine, 200)));
}

/// Operators one after the other are not deep, so the number of parts is their limit.
#[test]
fn a_function_with_as_many_parts_as_a_text_may_have_is_a_text() {
    // 2 n - 1 parts of n inputs, and one more for each minus.
    let sum = |terms: usize, minuses: usize| {
        let mut builder = FunctionBuilder::new(&[F32], &[]).unwrap();
        let x = builder.input(0).unwrap();
        let sum = (1..terms).fold(x, |sum, _| builder.binary(Add, sum, x).unwrap());
        let sum = (0..minuses).fold(sum, |sum, _| builder.unary(UnaryOperation::Negate, sum).unwrap());
        builder.finish(sum).unwrap()
    };
    assert_eq!(MAX_NODES, 4096);
    assert!(is_a_text(&sum(2048, 0)) && is_a_text(&sum(2048, 1)));
    assert!(!is_a_text(&sum(2048, 2)) && !is_a_text(&sum(2049, 0)));
    let text = |minuses: usize| format!("{}({})", "-".repeat(minuses), vec!["x0"; 2048].join(" + "));
    let kind = |text: &str| Function::parse(text, &[F32], &[]).err().map(|error| error.kind());
    assert_eq!([kind(&text(1)), kind(&text(2))], [None, Some(FunctionErrorKind::Size)]);
    // Each value is written wherever it is used: 2^n inputs.
    let doubled: Step = |s, x| s.binary(Add, x, x);
    assert!(is_a_text(&repeated(F32, false, doubled, 11)) && !is_a_text(&repeated(F32, false, doubled, 12)));
    // A literal that needs a cast is two parts: `sin(cast(2.0, f32))` is three, and a sum of n such
    // terms has 4 n - 1.
    let sines = |terms: usize, minuses: usize| {
        let mut builder = FunctionBuilder::new(&[F32], &[]).unwrap();
        let two = builder.constant(F32, u64::from(2.0_f32.to_bits())).unwrap();
        let sine = builder.unary(UnaryOperation::from_name("sin").unwrap(), two).unwrap();
        let sum = (1..terms).fold(sine, |sum, _| builder.binary(Add, sum, sine).unwrap());
        let sum = (0..minuses).fold(sum, |sum, _| builder.unary(UnaryOperation::Negate, sum).unwrap());
        builder.finish(sum).unwrap()
    };
    assert!(is_a_text(&sines(1024, 1)) && !is_a_text(&sines(1024, 2)) && !is_a_text(&sines(1025, 0)));
}
