//! The message of each mistake in a function, to the letter, and its place.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::hash::{DefaultHasher, Hash, Hasher};

use devarray::function::{
    BinaryOperation,
    ElementType::{self, BF16, Bool, F16, F32, F64, I8, I64, U8, U64},
    Function, FunctionBuilder,
    FunctionErrorKind::{self, Shape, Size, Text, Type},
    MAX_INSTRUCTIONS, ScanOperation, UnaryOperation,
};

#[test]
fn texts() {
    let wrong = [
        (F32, "foo(x0)", Text, "the function `foo` is unknown", 0..3),
        (F32, "x0 + Sin(x0)", Text, "the function `Sin` is unknown", 5..8),
        (F32, "sin(x0, x1)", Text, "`sin` takes 1 arguments, more are given", 0..7),
        (F32, "sin()", Text, "`sin` takes 1 arguments, 0 are given", 0..5),
        (F32, "minimum(x0)", Text, "`minimum` takes 2 arguments, 1 are given", 0..11),
        (F32, "2 * fma(x0, x1)", Text, "`fma` takes 3 arguments, 2 are given", 4..15),
        (F32, "clip(x0, x0, x0, x0)", Text, "`clip` takes 3 arguments, more are given", 0..16),
        (F32, "cast(x0)", Text, "`cast` takes 2 arguments, 1 are given", 0..8),
        (F32, "cast(x0, f33)", Text, "`f33`, where an element type is expected", 9..12),
        (F32, "minimum(x0 x1)", Text, "`x1`, where `,` is expected", 11..13),
        (F32, "(x0 + x1", Text, "the text ends, where `)` is expected", 8..8),
        (F32, "x0 x1", Text, "`x1`, where an operator or the end is expected", 3..5),
        (F32, "x0 < x1 < 2", Text, "comparisons are not chained: write parentheses", 8..9),
        (F32, "x0 + 1.2.3", Text, "not a number", 5..10),
        (F32, "x0 + 0x", Text, "not a number", 5..7),
        (F32, "x0 ! x1", Text, "not part of the language", 3..4),
        (F32, "fma", Text, "`fma` is a function: write its arguments", 0..3),
        (F32, "where + x0", Text, "`where` is a function: write its arguments", 0..5),
        (F32, "hypot * 2", Text, "`hypot` is a function: write its arguments", 0..5),
    ];
    for (of, text, kind, message, place) in wrong {
        let error = Function::parse(text, &[of; 2], &[]).unwrap_err();
        assert_eq!((error.kind(), error.message(), error.place()), (kind, message, Some(place)), "{text}");
    }
}

#[test]
fn types_and_literals() {
    let wrong = [
        (Bool, "x0 + x1", "+ takes numbers, not bool"),
        (Bool, "x0 < x1", "< takes numbers, not bool"),
        (Bool, "-x0", "- takes signed numbers, not bool"),
        (U8, "-x0", "- takes signed numbers, not u8"),
        (I8, "sqrt(x0)", "sqrt takes floats, not i8"),
        (I8, "x0 / x1", "/ takes floats, not i8"),
        (I8, "fma(x0, x1, x0)", "fma takes floats, not i8"),
        (F32, "bitwise_count(x0)", "bitwise_count takes integers, not f32"),
        (F32, "x0 << x1", "<< takes integers, not f32"),
        (I8, "mulhi(x0, x1)", "mulhi takes unsigned integers, not i8"),
        (F32, "x0 & x1", "& takes integers and bool, not f32"),
        (F32, "~x0", "~ takes integers and bool, not f32"),
        (Bool, "clip(x0, x1, x0)", "clip takes numbers, not bool"),
        (I8, "nextafter(x0, 3)", "nextafter takes floats, not i8"),
        (F32, "x0 + cast(x1, f64)", "+ of f32 and f64: write a cast"),
        (F32, "fma(x0, cast(x1, f64), x0)", "fma of f32 and f64: write a cast"),
        (F32, "where(x0, x1, x1)", "the condition of where is f32, not bool"),
        (F32, "where(x0 < x1, x1, x0 < x1)", "where of f32 and bool: write a cast"),
        (F32, "bitcast(x0, i8)", "bitcast from f32 to i8, which has another width"),
        (F32, "bitcast(x0, bool)", "bitcast from f32 to bool: bool has no bits to look at"),
        (Bool, "bitcast(x0, i8)", "bitcast from bool to i8: bool has no bits to look at"),
        (F32, "2", "nothing says the type of the literal: write a cast"),
        (F32, "2 + 3", "nothing says the type of the literals: write a cast"),
        (Bool, "x0 & 1", "a number stands beside bool"),
        (Bool, "x0 == 1.5", "a number stands beside bool"),
        (I8, "x0 + 128", "the integer is not exact in i8"),
        (U64, "x0 + 0x10000000000000000", "the integer is not exact in u64"),
        (F16, "x0 + 65536", "the integer is not exact in f16"),
        (BF16, "x0 + 257", "the integer is not exact in bf16"),
        (F32, "x0 + 16777217", "the integer is not exact in f32"),
        (F64, "x0 + 9007199254740993", "the integer is not exact in f64"),
        (F64, "x0 + 340282366920938463463374607431768211455", "the integer is not exact in f64"),
        (F64, "x0 + 0xffffffffffffffffffffffffffffffff", "the integer is not exact in f64"),
        (F64, "x0 + 340282366920938463463374607431768211457", "the integer is not exact in f64"),
        (I8, "x0 + 1.0", "a float literal stands beside i8"),
        (I64, "x0 + inf", "a float literal stands beside i64"),
        (I8, "x0 + 0x1p3", "a float literal stands beside i8"),
        (F16, "x0 + 65520.0", "the number overflows f16"),
        (F64, "x0 + 1e309", "the number overflows f64"),
        (F64, "x0 + 0x1p1024", "the number overflows f64"),
        (F64, "x0 + 0x1p99999999999999999999", "the number overflows f64"),
    ];
    for (of, text, message) in wrong {
        let error = Function::parse(text, &[of; 2], &[]).unwrap_err();
        assert_eq!((error.kind(), error.message()), (Type, message), "{text} of {of}");
    }
    // The twins: numbers beside these are accepted.
    for (of, text) in [
        (F16, "x0 + 65504"),
        (BF16, "x0 + 256"),
        (F32, "x0 + 16777216"),
        (F64, "x0 + 9007199254740992"),
        (F64, "x0 + 340282366920938463463374607431768211456"),
        (F64, "x0 + 0xfffffffffffff8000000000000000000"),
        (U64, "x0 + 0xffffffffffffffff"),
    ] {
        assert_eq!(Function::parse(text, &[of; 2], &[]).err(), None, "{text} of {of}");
    }
    let least = |text: &str| Function::parse(&format!("x0 + {text}"), &[F64], &[]).unwrap();
    assert_eq!(least("0x1p-99999999999999999999"), least("0.0"));
    assert_eq!(least("1e-99999999999999999999"), least("0.0"));
}

fn error(made: Result<impl Sized, devarray::function::FunctionError>) -> (FunctionErrorKind, String) {
    let error = made.err().unwrap();
    assert_eq!(error.place(), None);
    (error.kind(), error.message().to_owned())
}

#[test]
fn builders() {
    let mut builder = FunctionBuilder::new(&[F32, I8], &[F64]).unwrap();
    assert_eq!(error(builder.input(2)), (Text, "x2: only 2 inputs are given".to_owned()));
    assert_eq!(error(builder.scalar(1)), (Text, "k1: only 1 scalars are given".to_owned()));
    assert_eq!(error(builder.position(256)), (Shape, "no result has an axis 256".to_owned()));
    let [x, y] = [0, 1].map(|at| builder.input(at).unwrap());
    let of_two = builder.binary(BinaryOperation::Hypot, x, y);
    assert_eq!(error(of_two), (Type, "hypot of f32 and i8: write a cast".to_owned()));
    assert!(builder.position(255).is_ok());
    let mut other = FunctionBuilder::new(&[F32], &[]).unwrap();
    assert_eq!(error(other.unary(UnaryOperation::Exp, y)), (Type, "a value of another function".to_owned()));
    assert_eq!(error(other.finish(x)), (Type, "a value of another function".to_owned()));
    let too_many =
        |inputs: usize, scalars: usize| error(FunctionBuilder::new(&vec![F32; inputs], &vec![F32; scalars]));
    assert_eq!(too_many(17, 0), (Size, "17 inputs, at most 16 are possible".to_owned()));
    assert_eq!(too_many(16, 18), (Size, "18 scalars, at most 16 are possible".to_owned()));
    assert!(FunctionBuilder::new(&[F32; 16], &[F32; 16]).is_ok());
}

/// The costliest operation is named, with its total cost and the number of times that it occurs.
#[test]
fn what_makes_a_function_too_long_is_told() {
    // The cost of one of each: the instructions that it adds to a program.
    let added = |text: &str| {
        let len = |text: &str| Function::parse(text, &[F64], &[]).unwrap().expand().instructions().len();
        len(&format!("{text} + x0")) - len("x0 + x0")
    };
    let sum = |count: usize, term: &dyn Fn(usize) -> String| -> String {
        (0..count).map(term).collect::<Vec<_>>().join(" + ")
    };
    let tan = |at: usize| format!("tan(x0 * {}.0)", at + 2);
    let exp = |at: usize| format!("exp(x0 * {}.0)", at + 2);
    let text = format!("{} + {}", sum(20, &exp), sum(600, &tan));
    let error = Function::parse(&text, &[F64], &[]).unwrap_err();
    let numbers: Vec<usize> =
        error.message().split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    let [limit, cost, count] = numbers[..] else { panic!("{error}") };
    assert_eq!(
        error.message(),
        format!(
            "the function expands to more than {limit} instructions, {cost} of them for `tan`, which it \
             computes {count} times"
        )
    );
    // The text has as many tangents as there are before the place, and the one at it.
    let before = &text[..error.place().unwrap().end];
    assert_eq!((limit, count), (MAX_INSTRUCTIONS, before.matches("tan").count()));
    let each = cost / count;
    assert_eq!(each * count, cost);
    assert!((added("tan(x0)")..added("tan(x0)") + 60).contains(&each), "{each}");
    assert!(limit / 2 < cost && cost < limit + each, "{cost}");
}

#[test]
fn scans_have_the_names_that_they_are_found_by() {
    let named = [
        ("sum", ScanOperation::Sum),
        ("prod", ScanOperation::Product),
        ("min", ScanOperation::Minimum),
        ("max", ScanOperation::Maximum),
    ];
    assert_eq!(ScanOperation::names().collect::<Vec<_>>(), named.map(|(name, _)| name));
    for (name, operation) in named {
        assert_eq!((operation.name(), ScanOperation::from_name(name)), (name, Some(operation)));
    }
    assert_eq!(ScanOperation::from_name("mean"), None);
}

/// Functions that differ in one thing have other hashes and digests; equal ones have the same.
#[test]
fn functions_are_told_apart_by_their_hash() {
    let hash = |function: &Function| {
        let mut hasher = DefaultHasher::new();
        function.hash(&mut hasher);
        hasher.finish()
    };
    let make = |text: &str, inputs: &[ElementType], scalars: &[ElementType]| {
        let function = Function::parse(text, inputs, scalars).unwrap();
        (hash(&function), function.digest(), function)
    };
    let all = [
        make("x0 + 1", &[F32], &[]),
        make("x0 + 2", &[F32], &[]),
        make("x0 - 1", &[F32], &[]),
        make("1 + x0", &[F32], &[]),
        make("x0 + 1", &[F64], &[]),
        make("x0 + 1", &[F32], &[F32]),
        make("x0 + 1", &[F32], &[F64]),
        make("x0 + 1", &[F32, F32], &[]),
        make("x1 + 1", &[F32, F32], &[]),
        make("cast(x0, f64)", &[F32], &[]),
        make("cast(x0, i64)", &[F32], &[]),
    ];
    for (at, (hash, digest, function)) in all.iter().enumerate() {
        for (other_hash, other_digest, other) in &all[..at] {
            assert!(hash != other_hash && digest != other_digest && function != other, "{function} {other}");
        }
    }
    assert_eq!(make("(x0) + 1.0", &[F32], &[]), all[0]);
    // A function expands to one program, however often it is asked.
    for (at, (.., function)) in all.iter().enumerate() {
        assert_eq!(function.expand().digest(), function.expand().digest());
        for (.., other) in &all[..at] {
            assert_ne!(function.expand().digest(), other.expand().digest(), "{function} {other}");
        }
    }
}

/// A literal before a power is in parentheses if it is negative, and not otherwise.
#[test]
fn only_a_negative_base_is_in_parentheses() {
    for (text, printed) in
        [("2 ** x0", "2.0 ** x0"), ("(2) ** x0", "2.0 ** x0"), ("(-2) ** x0", "(-2.0) ** x0")]
    {
        assert_eq!(Function::parse(text, &[F32], &[]).unwrap().to_string(), printed);
    }
}

#[test]
fn a_text_may_have_as_many_bytes_as_the_message_says() {
    const MOST: usize = 1 << 18;
    let text = |len_bytes: usize| format!("x0{}", " ".repeat(len_bytes - 2));
    assert_eq!(Function::parse(&text(MOST), &[F32], &[]).unwrap().to_string(), "x0");
    let error = Function::parse(&text(MOST + 1), &[F32], &[]).unwrap_err();
    assert_eq!(error.kind(), Size);
    assert!(error.to_string().contains(&format!("more than {MOST} bytes")), "{error}");
}
