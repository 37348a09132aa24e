//! The primitives that each operation becomes, for each type and beside constants: a changed kernel
//! text is noticed, also where it changes no result.
//!
//! `tests/function_programs.txt` has a line for each operation and type: a digest of its programs,
//! and the number of their instructions together. `DEVARRAY_WRITE_DIGESTS=1` writes it anew.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::{fmt::Write as _, fs};

use devarray::function::{
    ElementType, Function,
    primitive::{Instruction, Program},
};

use super::function_exact::UNARY;

const PATH: &str = "tests/function_programs.txt";

/// Constants beside an element. Some are no constants of some types.
const CONSTANTS: [&str; 16] =
    ["0", "1", "2", "-1", "3", "8", "100", "0.0", "-0.0", "1.0", "-2.0", "0.5", "1.7", "nan", "inf", "true"];
/// Functions of two elements.
const BINARY: [&str; 11] = [
    "fmod",
    "minimum",
    "maximum",
    "fmin",
    "fmax",
    "atan2",
    "hypot",
    "copysign",
    "mulhi",
    "nextafter",
    "logaddexp",
];
const OPERATORS: [&str; 18] =
    ["==", "!=", "<", "<=", ">", ">=", "|", "^", "&", "<<", ">>", "+", "-", "*", "/", "//", "%", "**"];
/// Operations of three operands, also beside constants, and texts that an expansion can make
/// shorter.
const TEXTS: [&str; 24] = [
    "fma(x0, x1, x0)",
    "fma(x0, 2, 1)",
    "fma(0, x0, 1)",
    "clip(x0, x1, x0)",
    "clip(x0, 0, 1)",
    "clip(x0, -1, 6)",
    "clip(x0, 0.25, nan)",
    "clip(1, x0, x1)",
    "where(x0 < x1, x0, x1)",
    "where(x0 < x1, x0, x0)",
    "where(true, x0, x1)",
    "where(x0 == x0, 1, x1)",
    "-(-x0)",
    "~~x0",
    "-x0 * -x1",
    "x0 + x1 + 0",
    "(x0 + 1) * (x0 + 1)",
    "x0 * 0 + x1",
    "abs(abs(x0))",
    "sqrt(x0) * sqrt(x0)",
    "exp(x0) + exp(x0)",
    "sin(x0) * cos(x0)",
    "1 / (1 / x0)",
    "isnan(x0) | isinf(x0)",
];

/// The functions of a name, applied to elements and to constants.
fn calls(name: &str) -> Vec<String> {
    let beside = |constant: &str| [format!("{name}(x0, {constant})"), format!("{name}({constant}, x0)")];
    let mut calls = vec![format!("{name}(x0)"), format!("{name}(x0, x1)"), format!("{name}(x0, x0)")];
    calls.extend(CONSTANTS.iter().map(|constant| format!("{name}(cast({constant}, TYPE)) + x0")));
    calls.extend(CONSTANTS.iter().flat_map(|constant| beside(constant)));
    calls
}

/// The texts of an operator between elements and constants.
fn between(operator: &str) -> Vec<String> {
    let beside = |constant: &str| [format!("x0 {operator} {constant}"), format!("{constant} {operator} x0")];
    let mut texts =
        vec![format!("x0 {operator} x1"), format!("x0 {operator} x0"), format!("x0 {operator} k0")];
    texts.extend(CONSTANTS.iter().flat_map(|constant| beside(constant)));
    texts
}

/// Programs of one operation and type.
#[derive(Default)]
struct Line {
    hash: u64,
    programs: usize,
    instructions: usize,
}

impl Line {
    fn add(&mut self, text: &str, program: &Program) {
        let registers =
            program.instructions().iter().map(|instruction: &Instruction| format!("{instruction:?};"));
        let written = format!("{text}:{}{:?}", registers.collect::<String>(), program.result());
        let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.hash = written.bytes().fold(self.hash ^ 0xcbf2_9ce4_8422_2325, step);
        self.programs += 1;
        self.instructions += program.instructions().len();
    }
}

/// The lines of an operation's texts, one for each type that takes some of them.
fn lines_of(name: &str, texts: &[String], found: &mut String) {
    for of in ElementType::ALL {
        let mut line = Line::default();
        for text in texts {
            let text = text.replace("TYPE", of.name());
            if let Ok(function) = Function::parse(&text, &[of; 2], &[of]) {
                line.add(&text, &function.expand());
            }
        }
        if line.programs > 0 {
            let Line { hash, programs, instructions } = line;
            writeln!(found, "{name} {of} {hash:016x} {programs} {instructions}").unwrap();
        }
    }
}

#[test]
fn the_primitives_of_each_operation_are_the_same_as_ever() {
    let mut found = String::new();
    UNARY.iter().chain(&BINARY).for_each(|name| lines_of(name, &calls(name), &mut found));
    OPERATORS.iter().for_each(|operator| lines_of(operator, &between(operator), &mut found));
    TEXTS.iter().for_each(|&text| lines_of(&text.replace(' ', ""), &[text.to_owned()], &mut found));
    let casts: Vec<_> = ElementType::ALL
        .iter()
        .flat_map(|to| {
            [format!("cast(x0, {to})"), format!("cast(x0 + x1, {to})"), format!("bitcast(x0, {to})")]
        })
        .collect();
    lines_of("cast", &casts, &mut found);

    if std::env::var_os("DEVARRAY_WRITE_DIGESTS").is_some() {
        fs::write(PATH, &found).unwrap();
    }
    let expected = fs::read_to_string(PATH).unwrap();
    let other = found.lines().zip(expected.lines()).filter(|(found, expected)| found != expected);
    let other: Vec<_> = other.collect();
    assert!(
        other.is_empty() && found.len() == expected.len(),
        "{PATH}: other programs (operation, type, digest, programs, instructions; found and expected); if \
         that is meant, write the file anew by DEVARRAY_WRITE_DIGESTS=1: {other:?}"
    );
}
