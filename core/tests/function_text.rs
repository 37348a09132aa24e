//! Functions as text: results of the parser, refusals with their places, and printed text that
//! parses again.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::function::{
    BinaryOperation, ElementType, Function, FunctionBuilder, FunctionErrorKind, MAX_NODES, Operation,
};
use proptest::{
    prelude::*,
    test_runner::{Config, RngSeed},
};

const F32: ElementType = ElementType::F32;
const I8: ElementType = ElementType::I8;
const U8: ElementType = ElementType::U8;
const BOOL: ElementType = ElementType::Bool;

/// Four inputs and two scalars of one type.
fn parse(text: &str, element_type: ElementType) -> Function {
    Function::parse(text, &[element_type; 4], &[element_type; 2]).unwrap_or_else(|error| panic!("{error}"))
}

fn kind(text: &str, element_type: ElementType) -> Option<FunctionErrorKind> {
    Function::parse(text, &[element_type; 4], &[element_type; 2]).err().map(|error| error.kind())
}

#[test]
fn operators_bind_as_in_python() {
    let same = [
        (I8, "x0 | x1 ^ x2 & x3", "x0 | (x1 ^ (x2 & x3))"),
        (I8, "x0 & x1 << x2 + x3 * k0", "x0 & (x1 << (x2 + (x3 * k0)))"),
        (I8, "x0 - x1 - x2", "(x0 - x1) - x2"),
        (I8, "x0 // x1 * x2 % x3", "((x0 // x1) * x2) % x3"),
        (I8, "x0 ** x1 ** x2", "x0 ** (x1 ** x2)"),
        (I8, "-x0 ** x1", "-(x0 ** x1)"),
        (I8, "x0 ** -x1 ** x2", "x0 ** (-(x1 ** x2))"),
        (I8, "~x0 * -x1", "(~x0) * (-x1)"),
        (I8, "-x0 ** -~x1 + x2", "(-(x0 ** (-(~x1)))) + x2"),
        (I8, "x0 | x1 < x2 + x3", "(x0 | x1) < (x2 + x3)"),
        (I8, "-2 ** x0", "-(2 ** x0)"),
        (I8, "x0 * -2 ** x1", "x0 * (-(2 ** x1))"),
        (I8, "x0--1", "x0 - (-1)"),
        (F32, "1e-3+x0", "0.001 + x0"),
        (F32, "0x1.8p-3 * x0", "0.1875 * x0"),
        (F32, "0x10 * x0", "16 * x0"),
    ];
    for (element_type, text, meant) in same {
        assert_eq!(parse(text, element_type), parse(meant, element_type), "{text}");
    }
    assert_ne!(parse("x0 - x1 - x2", I8), parse("x0 - (x1 - x2)", I8));
    assert_ne!(parse("(-2) ** x0", I8), parse("-2 ** x0", I8));
}

#[test]
fn debug_shows_the_text_as_far_as_it_is_short() {
    assert_eq!(format!("{:?}", parse("x0 + 1", I8)), "Function(x0 + 1 -> i8)");
    let of = |terms: usize| parse(&vec!["x0"; terms].join(" + "), F32);
    assert_eq!(of(12).to_string().len(), 57);
    assert_eq!(format!("{:?}", of(12)), format!("Function({} -> f32)", of(12)));
    let start = &of(13).to_string()[..60];
    assert_eq!(format!("{:?}", of(13)), format!("Function({start} … -> f32)"));
}

#[test]
fn literals_take_the_type_of_what_stands_beside_them() {
    for text in ["x0 + -128", "clip(x0, -1, 127)", "where(true, x0, 5)", "cast(-128, i8) + x0", "7 // k0"] {
        assert_eq!(kind(text, I8), None, "{text}");
    }
    for text in ["x0 + 128", "x0 - -129", "cast(300, i8)", "x0 * 1.0", "x0 * 1e1", "x0 + nan", "x0 == true"] {
        assert_eq!(kind(text, I8), Some(FunctionErrorKind::Type), "{text}");
    }
    assert_eq!(kind("x0 + -1", U8), Some(FunctionErrorKind::Type));
    for text in ["x0 + 16777216", "x0 + 1e38", "x0 + -inf", "where(x0 < 1, nan, x0)", "-0.0 * x0"] {
        assert_eq!(kind(text, F32), None, "{text}");
    }
    for text in ["x0 + 16777217", "x0 + 1e39", "sqrt(2.0)", "2 + 3", "1", "-(2) * x0", "(2 * 3) + x0"] {
        assert_eq!(kind(text, F32), Some(FunctionErrorKind::Type), "{text}");
    }
    assert_eq!(kind("x0 & 1", BOOL), Some(FunctionErrorKind::Type));
    assert_eq!(kind("x0 & true", BOOL), None);
}

#[test]
fn a_text_that_does_not_parse_is_said_to_whatever_its_types_are() {
    let wrong = [
        "",
        "x0 x1",
        "x0 +",
        "(x0",
        "x0)",
        "x4",
        "k2",
        "y",
        "i",
        "x01",
        "sin",
        "sin()",
        "sin(x0, x1)",
        "fma(x0, x1)",
        "foo(x0)",
        "x0 < x1 < x2",
        "x0 == x1 != x2",
        "cast(x0, x1)",
        "cast(x0, f33)",
        "cast(x0)",
        "1.2.3",
        "1e",
        "0x",
        "0x1.8",
        "0x1p",
        "1_0",
        "x0 && x1",
        "!x0",
        "x0;",
        "x0 = x1",
        "2x0",
        "x0, x1",
        "sqrt(2.0",
        "é",
        "minimum(x0,, x1)",
    ];
    for text in wrong {
        assert_eq!(kind(text, F32), Some(FunctionErrorKind::Text), "{text}");
    }
}

#[test]
fn a_mistake_is_shown_at_its_place() {
    let error = Function::parse("x0 * 2.5 + sin(x1)", &[F32, I8], &[]).unwrap_err();
    assert_eq!(error.place(), Some(11..18));
    assert_eq!(error.to_string(), "sin takes floats, not i8\n  x0 * 2.5 + sin(x1)\n             ^^^^^^^");
    let error = Function::parse("x0 + x1", &[F32, I8], &[]).unwrap_err();
    assert_eq!(error.message(), "+ of f32 and i8: write a cast");
    let error = Function::parse("x0 +", &[F32], &[]).unwrap_err();
    assert_eq!(error.to_string(), "the text ends, where an operand is expected\n  x0 +\n      ^");
    // A long text is shown only near the mistake.
    let terms = |count| "x0 + ".repeat(count);
    let error = Function::parse(&format!("{}x7 + {}x0", terms(300), terms(300)), &[F32], &[]).unwrap_err();
    let (near, far) = (terms(12), terms(11));
    let due = format!("\n  …{near}x7 + {far}…\n   {}^^", " ".repeat(60));
    assert!(error.to_string().ends_with(&due), "{error}");
}

/// Names of inputs and scalars that do not exist; the error says how many there are.
#[test]
fn a_name_of_what_is_not_given_says_how_many_are() {
    let parse = |text: &str, inputs: usize, scalars: usize| {
        Function::parse(text, &vec![F32; inputs], &vec![F32; scalars]).map(drop).map_err(|error| {
            assert_eq!((error.kind(), error.place()), (FunctionErrorKind::Text, Some(0..text.len())));
            error.message().to_owned()
        })
    };
    for (letter, what) in [('x', "inputs"), ('k', "scalars")] {
        let parse = |at: usize, given: usize| match letter {
            'x' => parse(&format!("x{at}"), given, 3),
            _ => parse(&format!("k{at}"), 3, given),
        };
        for (given, message) in [
            (0, format!("no {what} are given")),
            (1, format!("only one of the {what} is given")),
            (2, format!("only 2 {what} are given")),
            (16, format!("only 16 {what} are given")),
        ] {
            assert!((0..given).all(|at| parse(at, given) == Ok(())), "{letter}: {given} given");
            for at in [given, given + 1, usize::MAX] {
                assert_eq!(parse(at, given), Err(message.clone()), "{letter}{at}");
            }
        }
    }
    // An axis is not declared: whether the arrays have enough axes is known when the function is
    // computed.
    assert_eq!([0, 1, 7].map(|axis| parse(&format!("i{axis}"), 0, 0)), [Ok(()), Ok(()), Ok(())]);
    for text in ["x", "k", "i", "x00", "k01", "i01", "x-", "y0", "x18446744073709551616"] {
        let error = Function::parse(text, &[F32; 2], &[F32; 2]).unwrap_err();
        let name = text.trim_end_matches('-');
        assert_eq!((error.message(), error.place()), (&*format!("`{name}` is unknown"), Some(0..name.len())));
    }
    let error = Function::parse("exp", &[F32], &[]).unwrap_err();
    assert_eq!(error.message(), "`exp` is a function: write its arguments");
}

#[test]
fn what_is_printed_parses_to_the_same_function() {
    let texts = [
        (F32, "x0 * k0 + where(x1 < 0, -x1, x1)"),
        (F32, "(x0 + x1) * x2 - (x3 - (x0 - 1)) / -2.5"),
        (F32, "(-x0) ** (x1 ** x2) ** -0.5"),
        (F32, "(x0 < x1) == (x2 >= 3)"),
        (F32, "fma(x0, 2, nan) + cast(0.1, f32) * cast(0.2, f32)"),
        (F32, "clip(x0, -inf, inf) // -0.0 % 1e30"),
        (F32, "cast(cast(x0, f16) * 0.1, f32) + cast(i2, f32)"),
        (F32, "where(true, cast(2, f32), cast(3, f32))"),
        (F32, "(-1) ** x0"),
        (I8, "~-x0 << (x1 | x2) & 3 ^ bitcast(bitcast(x0, u8) >> 7, i8)"),
        (I8, "-(x0 * -128) - -1"),
        (ElementType::U64, "x0 - 18446744073709551615"),
        (ElementType::F16, "x0 * 0.1 + 65504"),
        (ElementType::BF16, "x0 * 1e-40 + 3e38"),
        (ElementType::F64, "x0 * 1e308 + 5e-324"),
        (ElementType::F32, "cast(1.5, f32)"),
        (BOOL, "~x0 & true ^ (x1 != false)"),
    ];
    for (element_type, text) in texts {
        let function = parse(text, element_type);
        let printed = function.to_string();
        assert_eq!(parse(&printed, element_type), function, "{text} became {printed}");
    }
}

#[test]
fn equal_functions_are_equal_however_they_were_built() {
    let mut builder = FunctionBuilder::new(&[F32; 2], &[]).unwrap();
    let [x1, x0] = [1, 0].map(|at| builder.input(at).unwrap());
    let unused = builder.binary(BinaryOperation::Multiply, x1, x0).unwrap();
    let sum = builder.binary(BinaryOperation::Add, x0, x1).unwrap();
    let again = builder.binary(BinaryOperation::Add, x0, x1).unwrap();
    assert_eq!(sum, again);
    let product = builder.binary(BinaryOperation::Multiply, sum, again).unwrap();
    assert_ne!(unused, product);
    let built = builder.finish(product).unwrap();
    let parsed = Function::parse("(x0 + x1) * (x0 + x1)", &[F32; 2], &[]).unwrap();
    assert_eq!(built, parsed);
    assert_eq!(built.digest(), parsed.digest());
    assert_eq!(built.nodes().len(), 4);
    // Operands are not exchanged, and the types are part of the function.
    let exchanged = Function::parse("(x1 + x0) * (x1 + x0)", &[F32; 2], &[]).unwrap();
    assert_ne!(exchanged.digest(), parsed.digest());
    let wider = Function::parse("(x0 + x1) * (x0 + x1)", &[F32, F32, I8], &[]).unwrap();
    assert_ne!(wider.digest(), parsed.digest());
    assert_eq!(parsed.needed_rank(), 0);
    assert_eq!(Function::parse("i0 + i2", &[], &[]).unwrap().needed_rank(), 3);
}

#[test]
fn sizes_are_limited_and_nothing_overflows_the_stack() {
    let parts = vec!["x0"; MAX_NODES].join(" + ");
    assert_eq!(kind(&parts, F32), Some(FunctionErrorKind::Size));
    let fits = vec!["x0"; MAX_NODES / 2 - 1].join(" + ");
    let sum = parse(&fits, F32);
    assert_eq!(parse(&sum.to_string(), F32), sum);
    for (open, close) in [("(", ")"), ("-", ""), ("sin(", ")"), ("x0 ** ", ""), ("~", "")] {
        let deep = format!("{}x0{}", open.repeat(20_000), close.repeat(20_000));
        assert_eq!(kind(&deep, F32), Some(FunctionErrorKind::Size), "{open}");
    }
    assert_eq!(Function::parse("x0", &[F32; 17], &[]).unwrap_err().kind(), FunctionErrorKind::Size);
    // Squared again and again: a text of it would have 2^64 parts.
    let mut builder = FunctionBuilder::new(&[F32], &[]).unwrap();
    let mut value = builder.input(0).unwrap();
    for _ in 0..64 {
        value = builder.binary(BinaryOperation::Multiply, value, value).unwrap();
    }
    let function = builder.finish(value).unwrap();
    assert!(matches!(function.nodes()[64].operation(), Operation::Binary(..)));
    assert_eq!(function.to_string().lines().count(), 65);
}

/// Texts may be as deep as the manual says, and no deeper.
#[test]
fn a_text_is_nested_two_hundred_deep() {
    for (open, close) in [("(", ")"), ("-", ""), ("sin(", ")"), ("x0 ** ", "")] {
        let text = |levels| format!("{}x0{}", open.repeat(levels), close.repeat(levels));
        assert_eq!(kind(&text(200), F32), None, "{open}");
        assert_eq!(kind(&text(201), F32), Some(FunctionErrorKind::Size), "{open}");
    }
}

/// Texts of the greatest depth, in every way of being deep.
#[test]
fn what_parses_is_printed_however_deep_it_is() {
    for (element_type, open, close) in [
        (F32, "-", ""),
        (I8, "~", ""),
        (F32, "sin(", ")"),
        (F32, "-sin(", ")"),
        (F32, "x1 ** ", ""),
        (F32, "x1 ** -", ""),
        (F32, "x1 - (x2 - ", ")"),
        (F32, "-(", " + x1)"),
        (F32, "(", " + x1) * x2"),
        (F32, "(", ") ** x1"),
        (F32, "where(x1 < x2, x1, ", ")"),
    ] {
        let text = |levels| format!("{}x0{}", open.repeat(levels), close.repeat(levels));
        let parses = |levels: &usize| kind(&text(*levels), element_type).is_none();
        let most = (1..=201).take_while(parses).last().unwrap();
        assert!((50..=200).contains(&most), "{open}: {most}");
        for levels in [most - 1, most] {
            let function = parse(&text(levels), element_type);
            assert_eq!(parse(&function.to_string(), element_type), function, "{open}: {levels} levels");
        }
    }
}

/// Parts of texts, good and bad.
const SOUP: [&str; 52] = [
    "x0", "x1", "x2", "k0", "i0", "i1", "1", "2.5", "0", "-1", "1e-3", "0x1.8p-3", "0x1F", "inf", "nan",
    "true", "false", "(", ")", ",", "+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "~", "<<", ">>",
    "==", "<", ">=", "minimum(", "exp(", "where(", "clip(", "fma(", "cast(", "bitcast(", ", f32)", ", i8)",
    ", u8)", "é", "1e", "0x", "..", "300", "65536.0",
];

proptest! {
    #![proptest_config(Config {
        cases: 4000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(7),
        ..Config::default()
    })]

    /// Any text gives an answer, without a panic; if it is no function, the error has a place
    /// inside the text.
    #[test]
    fn a_soup_of_parts_is_a_function_or_a_mistake_with_a_place(
        parts in prop::collection::vec((0..SOUP.len(), any::<bool>()), 0..14),
        types in prop::collection::vec(0..ElementType::ALL.len(), 4),
    ) {
        let text: String = parts.iter().map(|&(part, gap)| [SOUP[part], if gap { " " } else { "" }].concat()).collect();
        let types: Vec<ElementType> = types.into_iter().map(|at| ElementType::ALL[at]).collect();
        match Function::parse(&text, &types[..3], &types[3..]) {
            Ok(function) => {
                let printed = function.to_string();
                prop_assert_eq!(Function::parse(&printed, &types[..3], &types[3..]), Ok(function), "{}", printed);
            }
            Err(error) => {
                let place = error.place();
                let inside = place.clone().is_some_and(|place| text.get(place).is_some());
                prop_assert!(inside, "{}: {:?}", text, place);
                prop_assert_eq!(error.to_string().lines().count(), 3);
            }
        }
    }

    /// Short expressions of few parts are functions often enough for the round trip to be
    /// meaningful.
    #[test]
    fn operators_between_operands_round_trip(
        operands in prop::collection::vec((0..7_usize, any::<bool>(), 0..4_usize), 1..9),
        operators in prop::collection::vec(0..17_usize, 8),
        of in 0..ElementType::ALL.len(),
    ) {
        const OPERANDS: [&str; 7] = ["x0", "x1", "k0", "2", "-1", "minimum(x0, 3)", "cast(x1, f64)"];
        let operator = |at: usize| SOUP[20..][operators[at]];
        let mut text = String::new();
        let mut open = 0;
        for (at, &(operand, opens, closes)) in operands.iter().enumerate() {
            if at > 0 {
                text += operator(at - 1);
            }
            if opens {
                text += "(";
                open += 1;
            }
            text += OPERANDS[operand];
            let closes = closes.min(open);
            text += &")".repeat(closes);
            open -= closes;
        }
        text += &")".repeat(open);
        let of = ElementType::ALL[of];
        if let Ok(function) = Function::parse(&text, &[of; 3], &[of]) {
            let printed = function.to_string();
            prop_assert_eq!(Function::parse(&printed, &[of; 3], &[of]), Ok(function), "{}", printed);
        }
    }
}
