//! Writes the instructions of a program as PTX: one or a few lines for each, exact.
//!
//! Every rounding is named, so that nothing is contracted (PTX ISA, "Floating Point Instructions");
//! no instruction is approximate or flushes subnormals.

mod branches;
mod comparisons;

use devarray::function::{
    ElementType,
    primitive::{Binary, Constant, Instruction, Program, Register, RegisterType, Unary},
};

use self::branches::Element;
use super::{
    access::load_one,
    products,
    regions::Regions,
    shared_divisor::{self, Reciprocals},
    text::{Bank, Reg, Text},
    truth,
};

/// The variation of a value within a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Differs {
    /// The value is the same for all elements of a thread.
    Never,
    /// The value differs between lines of neighbouring elements.
    ByLine,
    /// The value differs between elements.
    ByElement,
}

/// The program of a kernel, written once for each element that a thread computes.
#[derive(Debug)]
pub(super) struct Body<'p> {
    program: &'p Program,
    /// Where the scalars begin in the parameter, in words.
    scalars: usize,
    differs: Vec<Differs>,
    /// Instructions that only one side of a selection needs.
    regions: Regions,
    /// For each half of a product of 32 bits, the other half, if it is computed in the same place:
    /// one PTX instruction gives both.
    halves: Vec<Option<usize>>,
    common: Known,
}

/// For each register of the program that is written, the text's register; and inverses of divisors
/// that are written.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) values: Vec<Option<Reg>>,
    pub(super) inverses: Vec<Option<Reg>>,
}

impl Known {
    /// The text's register for one of the program's registers. Programs set registers before they
    /// read them.
    fn register(&self, at: Register) -> Reg {
        self.values[at.index()].expect("a register is set before it is read")
    }
}

/// Writes the code that reads an input or a position, and returns its register.
pub(super) trait Source: FnMut(&mut Text, Instruction) -> Reg {}
impl<F: FnMut(&mut Text, Instruction) -> Reg> Source for F {}

/// Like a `Source`, for one element of a thread, given by its number.
pub(super) trait Sources: FnMut(&mut Text, usize, Instruction) -> Reg {}
impl<F: FnMut(&mut Text, usize, Instruction) -> Reg> Sources for F {}

impl<'p> Body<'p> {
    /// `reads` says how an input, or the position along an axis, differs within a thread.
    pub(super) fn new(program: &'p Program, scalars: usize, reads: impl Fn(Instruction) -> Differs) -> Self {
        let mut all: Vec<Differs> = Vec::with_capacity(program.instructions().len());
        for &instruction in program.instructions() {
            let of = |register: Register| all[register.index()];
            let one = match instruction {
                Instruction::Input(_) | Instruction::Position(_) => reads(instruction),
                _ => instruction.operands().map(of).max().unwrap_or(Differs::Never),
            };
            all.push(one);
        }
        let nothing = vec![None; all.len()];
        let regions = Regions::of(program, |at| all[at] < Differs::ByElement);
        let common = Known { values: nothing.clone(), inverses: nothing };
        let halves = products::halves(program, |at| (all[at], regions.region(at)));
        Self { program, scalars, differs: all, regions, halves, common }
    }

    /// Writes the instructions that all elements of a thread share.
    pub(super) fn common(&mut self, text: &mut Text, source: impl Source) {
        self.common = self.shared(text, Differs::Never, source);
    }

    /// Writes the instructions that vary in this way, unless they are written already.
    fn shared(&self, text: &mut Text, differs: Differs, mut source: impl Source) -> Known {
        let mut known = self.common.clone();
        for (at, &instruction) in self.program.instructions().iter().enumerate() {
            if self.differs[at] == differs {
                self.once(text, &mut known, at, |text, known| {
                    self.instruction(text, known, instruction, &mut source)
                });
            }
        }
        known
    }

    /// Writes the common part of a line of elements; if divisions use `reciprocals`, also the
    /// inverses of its divisors.
    pub(super) fn line(
        &self,
        text: &mut Text,
        reciprocals: Option<Reciprocals>,
        source: impl Source,
    ) -> Known {
        let mut known = self.shared(text, Differs::ByLine, source);
        if let Some(reciprocals) = reciprocals {
            for by in self.reciprocal_divisors() {
                if known.inverses[by.index()].is_none() {
                    let divisor = self.program.instructions()[by.index()];
                    let inverse = reciprocals.inverse(text, known.register(by), divisor);
                    known.inverses[by.index()] = Some(inverse);
                }
            }
        }
        known
    }

    /// The number of an element's divisions that can use reciprocals if their dividends are in
    /// range.
    pub(super) fn reciprocal_divisions(&self) -> usize {
        self.reciprocal_divisors().count()
    }

    /// Values that a line of elements has in common, and by which other `f32` are divided.
    fn reciprocal_divisors(&self) -> impl Iterator<Item = Register> {
        let instructions = self.program.instructions();
        instructions.iter().enumerate().filter_map(move |(at, &instruction)| match instruction {
            Instruction::Binary(Binary::Divide, a, by)
                if self.differs[at] == Differs::ByElement
                    && self.differs[by.index()] < Differs::ByElement
                    && self.program.register_type(by) == RegisterType::F32
                    && shared_divisor::may_divide(instructions[by.index()])
                    && !shared_divisor::is_always_exact(
                        instructions[a.index()],
                        instructions[by.index()],
                    ) =>
            {
                Some(by)
            }
            _ => None,
        })
    }

    /// Writes the rest for the elements of some lines, and returns the registers of the results.
    /// With `reciprocals` it divides by them; the caller must check afterwards whether that was
    /// sound.
    pub(super) fn elements<'k>(
        &self,
        text: &mut Text,
        lines: impl Iterator<Item = &'k Known>,
        reciprocals: Option<Reciprocals>,
        mut source: impl Sources,
    ) -> Vec<Reg> {
        let mut elements: Vec<Element> = lines.cloned().enumerate().collect();
        self.region(text, &mut elements, (0, reciprocals), &mut source);
        elements.iter().map(|(_, known)| known.register(self.program.result())).collect()
    }

    /// Writes the rest for one element of a thread without lines, and returns the register of the
    /// result.
    pub(super) fn alone(&self, text: &mut Text, mut source: impl Source) -> Reg {
        let one = std::iter::once(&self.common);
        self.elements(text, one, None, |text, _, instruction| source(text, instruction))[0]
    }

    /// Writes the rest for some elements, and returns the registers of the results.
    pub(super) fn several(&self, text: &mut Text, count: usize, source: impl Sources) -> Vec<Reg> {
        self.elements(text, std::iter::repeat_n(&self.common, count), None, source)
    }

    fn instruction(
        &self,
        text: &mut Text,
        known: &Known,
        instruction: Instruction,
        source: &mut impl Source,
    ) -> Reg {
        let of = |at: Register| known.register(at);
        match instruction {
            Instruction::Constant(value) => constant(text, value),
            Instruction::Scalar(at) => {
                let at = usize::from(at);
                let element_type = self.program.scalars().get(at).copied().unwrap_or(ElementType::U64);
                load_one(text, "param", element_type, format_args!("p+{}", 8 * (self.scalars + at)))
            }
            Instruction::Input(_) | Instruction::Position(_) => source(text, instruction),
            Instruction::Unary(Unary::Not, a) if self.is_truth(a) => truth::not(text, of(a)),
            Instruction::Unary(op, a) => unary(text, op, of(a)),
            Instruction::Binary(Binary::And, a, b) if self.is_truth(a) => truth::and(text, of(a), of(b)),
            Instruction::Binary(Binary::Or, a, b) if self.is_truth(a) => truth::or(text, of(a), of(b)),
            Instruction::Binary(Binary::Xor, a, b) if self.is_truth(a) => truth::xor(text, of(a), of(b)),
            Instruction::Binary(Binary::Divide, a, b) if self.is_one(a) => {
                let b = of(b);
                text.set(b.bank, &format!("rcp.rn.{}", b.bank.type_name()), format_args!("{b}"))
            }
            Instruction::Binary(op, a, b) => {
                let [a, b] = self.compared(text, op, of, (a, b));
                binary(text, op, a, b)
            }
            Instruction::Fma(a, b, c) => {
                let (a, b, c) = (of(a), of(b), of(c));
                text.set(a.bank, &format!("fma.rn.{}", a.bank.type_name()), format_args!("{a}, {b}, {c}"))
            }
            Instruction::Select(condition, a, b) => truth::select(text, of(condition), of(a), of(b)),
        }
    }

    /// Writes an instruction, unless it is written already. If it is half of a product whose other
    /// half is needed too, writes both.
    fn once(
        &self,
        text: &mut Text,
        known: &mut Known,
        at: usize,
        write: impl FnOnce(&mut Text, &Known) -> Reg,
    ) {
        if known.values[at].is_some() {
            return;
        }
        if let (Some(other), Instruction::Binary(op, a, b)) =
            (self.halves[at], self.program.instructions()[at])
        {
            let [own_half, other_half] = products::both(text, op, known.register(a), known.register(b));
            known.values[at] = Some(own_half);
            known.values[other] = Some(other_half);
        } else {
            known.values[at] = Some(write(text, known));
        }
    }

    fn is_truth(&self, at: Register) -> bool {
        self.program.register_type(at) == RegisterType::Bool
    }

    fn is_one(&self, at: Register) -> bool {
        matches!(
            self.program.instructions()[at.index()],
            Instruction::Constant(Constant::F32(0x3f80_0000) | Constant::F64(0x3ff0_0000_0000_0000))
        )
    }
}

fn constant(text: &mut Text, constant: Constant) -> Reg {
    match constant {
        Constant::Bool(value) => text.set32("mov.b32", format_args!("{}", u8::from(value))),
        Constant::B32(bits) => text.set32("mov.b32", format_args!("{bits:#x}")),
        Constant::B64(bits) => text.set64("mov.b64", format_args!("{bits:#x}")),
        Constant::F32(bits) => text.set(Bank::F32, "mov.f32", format_args!("0f{bits:08X}")),
        Constant::F64(bits) => text.constant(bits),
    }
}

fn unary(text: &mut Text, op: Unary, a: Reg) -> Reg {
    let name = a.bank.type_name();
    // 32 or 64, the width of the register that is read.
    let bits = if matches!(a.bank, Bank::B64 | Bank::F64) { 64 } else { 32 };
    let (bank, operation) = match op {
        Unary::Negate => (a.bank, format!("neg.{name}")),
        Unary::Absolute => (a.bank, format!("abs.{name}")),
        Unary::SquareRoot => (a.bank, format!("sqrt.rn.{name}")),
        Unary::Floor => (a.bank, format!("cvt.rmi.{name}.{name}")),
        Unary::Ceil => (a.bank, format!("cvt.rpi.{name}.{name}")),
        Unary::Truncate => (a.bank, format!("cvt.rzi.{name}.{name}")),
        Unary::RoundEven => (a.bank, format!("cvt.rni.{name}.{name}")),
        Unary::Not => (a.bank, format!("not.{name}")),
        Unary::CountOnes => (Bank::B32, format!("popc.{name}")),
        Unary::LeadingZeros => (Bank::B32, format!("clz.{name}")),
        Unary::BoolToB32 => return truth::word(text, a),
        Unary::SignExtend => (Bank::B64, "cvt.s64.s32".to_owned()),
        Unary::ZeroExtend => (Bank::B64, "cvt.u64.u32".to_owned()),
        Unary::Wrap => (Bank::B32, "cvt.u32.u64".to_owned()),
        Unary::ToBits => (if bits == 32 { Bank::B32 } else { Bank::B64 }, format!("mov.b{bits}")),
        Unary::FromBits => (if bits == 32 { Bank::F32 } else { Bank::F64 }, format!("mov.b{bits}")),
        Unary::Widen => (Bank::F64, "cvt.f64.f32".to_owned()),
        Unary::Narrow => (Bank::F32, "cvt.rn.f32.f64".to_owned()),
        Unary::HalfToF32 => {
            let half = text.set(Bank::B16, "cvt.u16.u32", format_args!("{a}"));
            return text.set(Bank::F32, "cvt.f32.f16", format_args!("{half}"));
        }
        Unary::F32ToHalf => {
            let half = text.set(Bank::B16, "cvt.rn.f16.f32", format_args!("{a}"));
            return text.set32("cvt.u32.u16", format_args!("{half}"));
        }
        Unary::SignedToF32 => (Bank::F32, format!("cvt.rn.f32.s{bits}")),
        Unary::UnsignedToF32 => (Bank::F32, format!("cvt.rn.f32.u{bits}")),
        // This is exact for 32 bits, but PTX requires a rounding mode all the same.
        Unary::SignedToF64 => (Bank::F64, format!("cvt.rn.f64.s{bits}")),
        Unary::UnsignedToF64 => (Bank::F64, format!("cvt.rn.f64.u{bits}")),
        Unary::ToSigned32 => return to_integer(text, a, Bank::B32, "s32"),
        Unary::ToUnsigned32 => return to_integer(text, a, Bank::B32, "u32"),
        Unary::ToSigned64 => return to_integer(text, a, Bank::B64, "s64"),
        Unary::ToUnsigned64 => return to_integer(text, a, Bank::B64, "u64"),
    };
    text.set(bank, &operation, format_args!("{a}"))
}

/// Conversions themselves saturate, but only conversions from `f32` to 32 bits turn a NaN into 0
/// (PTX ISA, `cvt`).
fn to_integer(text: &mut Text, a: Reg, bank: Bank, to: &str) -> Reg {
    let from = a.bank.type_name();
    let converted = text.set(bank, &format!("cvt.rzi.{to}.{from}"), format_args!("{a}"));
    if (bank, a.bank) == (Bank::B32, Bank::F32) {
        return converted;
    }
    let number = text.test(&format!("setp.num.{from}"), format_args!("{a}, {a}"));
    let operation = format!("selp.{}", bank.type_name());
    text.set(bank, &operation, format_args!("{converted}, 0, {number}"))
}

fn binary(text: &mut Text, op: Binary, a: Reg, b: Reg) -> Reg {
    let name = a.bank.type_name();
    let float = matches!(a.bank, Bank::F32 | Bank::F64);
    let bits = if a.bank == Bank::B64 { 64 } else { 32 };
    let arithmetic = |op: &str, integer: &str| {
        if float { format!("{op}.rn.{name}") } else { format!("{op}{integer}.u{bits}") }
    };
    if op == Binary::MultiplyHigh && a.bank == Bank::B32 {
        // `mul.hi.u32` cannot be used: assemblers lose a carry if 64 bits are subtracted from its
        // result (`kernels/MISCOMPILED.md`).
        return products::both(text, op, a, b)[0];
    }
    let (bank, operation) = match op {
        Binary::Add => (a.bank, arithmetic("add", "")),
        Binary::Subtract => (a.bank, arithmetic("sub", "")),
        Binary::Multiply => (a.bank, arithmetic("mul", ".lo")),
        Binary::Divide => (a.bank, format!("div.rn.{name}")),
        Binary::MultiplyHigh => (a.bank, format!("mul.hi.u{bits}")),
        Binary::DivideSigned => (a.bank, format!("div.s{bits}")),
        Binary::DivideUnsigned => (a.bank, format!("div.u{bits}")),
        Binary::RemainderSigned => (a.bank, format!("rem.s{bits}")),
        Binary::RemainderUnsigned => (a.bank, format!("rem.u{bits}")),
        Binary::And => (a.bank, format!("and.{name}")),
        Binary::Or => (a.bank, format!("or.{name}")),
        Binary::Xor => (a.bank, format!("xor.{name}")),
        Binary::ShiftLeft => (a.bank, format!("shl.b{bits}")),
        Binary::ShiftRight => (a.bank, format!("shr.u{bits}")),
        Binary::ShiftRightSigned => (a.bank, format!("shr.s{bits}")),
        // The ordered comparisons of floats are false for a NaN.
        Binary::Equal => (Bank::Predicate, format!("setp.eq.{name}")),
        Binary::Less => (Bank::Predicate, format!("setp.lt.{name}")),
        Binary::LessEqual => (Bank::Predicate, format!("setp.le.{name}")),
        Binary::LessSigned => (Bank::Predicate, format!("setp.lt.s{bits}")),
        Binary::LessUnsigned => (Bank::Predicate, format!("setp.lt.u{bits}")),
    };
    text.set(bank, &operation, format_args!("{a}, {b}"))
}
