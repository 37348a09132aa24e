//! Smaller functions that are still wrong.
//!
//! A part of the function is made its result, instructions are replaced by their operands or by
//! literals, and the layouts by plain ones, as long as the result stays wrong. Programs whose bits
//! are not specified are left out.

use devarray::function::{
    ElementType,
    primitive::{
        Binary::{self, And, Equal, Or},
        Constant, Instruction, Program, ProgramBuilder, Register, RegisterType, Unary,
    },
};
use devarray_conformance::Rng;

use super::{
    super::{maps::Case, programs::canonical_number},
    work::Work,
};

/// Most functions that are tried.
const MOST: usize = 300;

/// A smaller work that is wrong, with how many were tried. `is_wrong` computes one alone.
pub(crate) fn smaller(work: &Work, mut is_wrong: impl FnMut(&Work) -> bool) -> (Work, usize) {
    let mut tried = 0;
    let mut found = work.clone();
    let mut attempt = |found: &mut Work, other: Option<Work>| {
        let Some(other) = other.filter(|_| tried < MOST) else { return false };
        tried += 1;
        let wrong = is_wrong(&other);
        if wrong {
            *found = other;
        }
        wrong
    };
    if let Work::Map(case) = work {
        // The smallest part.
        for at in 0..case.program.instructions().len() {
            let part = part(&case.program, at).map(|program| with_program(work, program));
            if attempt(&mut found, part) {
                break;
            }
        }
    }
    while simpler(&mut found, &mut attempt) {}
    for seed in 0..8 {
        let plain = plain(&found, seed);
        if attempt(&mut found, plain) {
            break;
        }
    }
    (found, tried)
}

/// Replaces one instruction; says whether that was possible.
fn simpler(found: &mut Work, attempt: &mut impl FnMut(&mut Work, Option<Work>) -> bool) -> bool {
    let program = program_of(found).clone();
    for at in (0..program.instructions().len()).rev() {
        for replacement in replacements(&program, at) {
            let smaller = rebuilt(&program, at, replacement)
                .filter(|smaller| smaller.instructions().len() < program.instructions().len())
                .map(|smaller| with_program(found, smaller));
            if attempt(found, smaller) {
                return true;
            }
        }
    }
    false
}

fn program_of(work: &Work) -> &Program {
    match work {
        Work::Map(case) => &case.program,
        Work::Reduce(case) => &case.program,
    }
}

/// Returns the same operands, of another function. Its result may be of another type, in a plain layout.
fn with_program(work: &Work, program: Program) -> Work {
    let mut work = work.clone();
    match &mut work {
        Work::Map(case) => {
            if program.result_type() != case.program.result_type() {
                let len = (case.result.0.span().end) * program.result_type().len_bytes();
                case.result.1 = vec![0xa5; len];
                case.in_place = None;
            }
            case.program = program;
        }
        Work::Reduce(case) => case.program = program,
    }
    work
}

/// The program whose result is one of its registers.
fn part(program: &Program, at: usize) -> Option<Program> {
    let of = match program.instructions()[at] {
        Instruction::Constant(_) | Instruction::Input(_) | Instruction::Scalar(_) => return None,
        _ => stored(program, at),
    };
    let mut b = ProgramBuilder::new(program.inputs(), program.scalars());
    let mut registers: Vec<Register> = Vec::new();
    for &instruction in program.instructions() {
        registers.push(b.push(moved(instruction, &registers)));
    }
    let result = canonical_number(&mut b, registers[at]);
    Some(b.finish(result, of)).filter(is_specified)
}

fn stored(program: &Program, at: usize) -> ElementType {
    if at == program.result().index() {
        return program.result_type();
    }
    // The only way to ask a program for the type of a register is by one that reads it.
    let reader = program
        .instructions()
        .iter()
        .find_map(|instruction| instruction.operands().find(|register| register.index() == at));
    match reader.map(|register| program.register_type(register)) {
        Some(RegisterType::Bool) => ElementType::Bool,
        Some(RegisterType::B64) => ElementType::U64,
        Some(RegisterType::F32) => ElementType::F32,
        Some(RegisterType::F64) => ElementType::F64,
        _ => ElementType::U32,
    }
}

#[derive(Debug, Clone, Copy)]
enum Replacement {
    By(Register),
    Literal(Constant),
}

fn replacements(program: &Program, at: usize) -> Vec<Replacement> {
    let instruction = program.instructions()[at];
    if matches!(instruction, Instruction::Constant(_)) {
        return Vec::new();
    }
    let of = stored_register(program, at);
    let same = instruction.operands().filter(|&operand| program.register_type(operand) == of);
    let literals: &[Constant] = match of {
        RegisterType::Bool => &[Constant::Bool(false), Constant::Bool(true)],
        RegisterType::B32 => &[Constant::B32(0), Constant::B32(1)],
        RegisterType::B64 => &[Constant::B64(0), Constant::B64(1)],
        RegisterType::F32 => &[Constant::F32(0), Constant::F32(0x3f80_0000)],
        RegisterType::F64 => &[Constant::F64(0), Constant::F64(0x3ff0_0000_0000_0000)],
    };
    same.map(Replacement::By).chain(literals.iter().copied().map(Replacement::Literal)).collect()
}

fn stored_register(program: &Program, at: usize) -> RegisterType {
    RegisterType::of(stored(program, at))
}

fn moved(instruction: Instruction, places: &[Register]) -> Instruction {
    let at = |register: Register| places[register.index()];
    match instruction {
        Instruction::Unary(op, a) => Instruction::Unary(op, at(a)),
        Instruction::Binary(op, a, b) => Instruction::Binary(op, at(a), at(b)),
        Instruction::Fma(a, b, c) => Instruction::Fma(at(a), at(b), at(c)),
        Instruction::Select(a, b, c) => Instruction::Select(at(a), at(b), at(c)),
        other => other,
    }
}

/// The program with one instruction replaced; `None` if its bits are not specified any more.
fn rebuilt(program: &Program, replaced: usize, replacement: Replacement) -> Option<Program> {
    let mut b = ProgramBuilder::new(program.inputs(), program.scalars());
    let mut registers: Vec<Register> = Vec::new();
    for (at, &instruction) in program.instructions().iter().enumerate() {
        registers.push(match replacement {
            Replacement::By(other) if at == replaced => registers[other.index()],
            Replacement::Literal(constant) if at == replaced => b.constant(constant),
            _ => b.push(moved(instruction, &registers)),
        });
    }
    let result = registers[program.result().index()];
    Some(b.finish(result, program.result_type())).filter(is_specified)
}

/// Whether the bits of a program are specified, as far as the guards tell that the makers of random
/// programs put there.
fn is_specified(program: &Program) -> bool {
    let all = program.instructions();
    let of = |register: Register| all[register.index()];
    let literal = |register: Register| match of(register) {
        Instruction::Constant(Constant::B32(bits)) => Some(u64::from(bits)),
        Instruction::Constant(Constant::B64(bits)) => Some(bits),
        _ => None,
    };
    // A number that is one NaN if it is any.
    let is_canonical = |register: Register| match of(register) {
        Instruction::Constant(_) => true,
        Instruction::Select(number, x, _) => of(number) == Instruction::Binary(Equal, x, x),
        _ => false,
    };
    let is_float =
        |register| matches!(program.register_type(register), RegisterType::F32 | RegisterType::F64);
    let is_odd = |register: Register| match of(register) {
        Instruction::Binary(Or, _, one) => literal(one) == Some(1),
        _ => literal(register).is_some_and(|divisor| divisor != 0),
    };
    let positive = |register: Register| match of(register) {
        Instruction::Binary(Or, high, one) => {
            literal(one) == Some(1) && matches!(of(high), Instruction::Binary(Binary::ShiftRight, ..))
        }
        _ => literal(register).is_some_and(|divisor| divisor == 1),
    };
    let fits = |a: Register, by: Register| {
        let width = if program.register_type(a) == RegisterType::B64 { 64 } else { 32 };
        let most = match of(by) {
            Instruction::Binary(And, _, mask) => literal(mask),
            _ => literal(by),
        };
        most.is_some_and(|most| most < width)
    };
    let is_half = |register: Register| matches!(of(register), Instruction::Unary(Unary::F32ToHalf, _));
    let each = all.iter().all(|&instruction| match instruction {
        Instruction::Unary(Unary::ToBits | Unary::F32ToHalf, a) => is_canonical(a),
        Instruction::Binary(Binary::ShiftLeft | Binary::ShiftRight | Binary::ShiftRightSigned, a, by) => {
            fits(a, by)
        }
        Instruction::Binary(Binary::DivideUnsigned | Binary::RemainderUnsigned, _, by) => is_odd(by),
        Instruction::Binary(Binary::DivideSigned | Binary::RemainderSigned, _, by) => positive(by),
        _ => true,
    });
    let halves = all.iter().all(|&instruction| match instruction {
        Instruction::Select(number, a, _) if is_half(a) => {
            matches!(of(number), Instruction::Binary(Equal, x, y) if x == y)
        }
        _ => !instruction.operands().any(is_half),
    });
    let result = program.result();
    each && halves && !is_half(result) && (!is_float(result) || is_canonical(result))
}

/// A function on a few elements side by side.
fn plain(work: &Work, seed: u64) -> Option<Work> {
    let Work::Map(case) = work else { return None };
    let mut plain = Case::of(&mut Rng::new(seed), case.program.clone(), &[64]);
    plain.scalars.clone_from(&case.scalars);
    Some(Work::Map(plain))
}
