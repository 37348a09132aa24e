//! The instructions of a program as PTX: one line or a few for each, exact.
//!
//! Every rounding is spelled out, so that nothing is contracted (PTX ISA, "Floating Point Instructions"); no
//! instruction is approximate or flushes subnormals.

use devarray::function::{
    ElementType,
    primitive::{Binary, Constant, Instruction, Program, Register, RegisterType, Unary},
};

use super::{
    access::load_one,
    quick::{self, Quick},
    regions::{Branch, Region, Regions},
    text::{Bank, Reg, Text},
};

/// What differs within a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Differs {
    /// Nothing: it is the same for all elements of a thread.
    Never,
    /// From one line of elements side by side to the next.
    ByLine,
    /// From element to element.
    ByElement,
}

/// The program of a kernel, written as often as a thread computes elements.
#[derive(Debug)]
pub(super) struct Body<'p> {
    program: &'p Program,
    /// Where the scalars begin in the parameter, in words.
    scalars: usize,
    differs: Vec<Differs>,
    /// What only one side of a selection needs.
    regions: Regions,
    common: Known,
}

/// The text's registers of the program's, as far as they are written; and inverses of divisors that have been.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) values: Vec<Option<Reg>>,
    pub(super) inverses: Vec<Option<Reg>>,
}

/// An element of a thread by its number, and what is known of it.
type Element = (usize, Known);

impl Known {
    fn learn(&mut self, branch: &Branch, results: &[Reg]) {
        for (&at, &result) in branch.selections.iter().zip(results) {
            self.values[at] = Some(result);
        }
    }
}

impl<'p> Body<'p> {
    /// `reads`: how an input, or the position along an axis, differs within a thread.
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
        Self { program, scalars, differs: all, regions, common }
    }

    /// Writes what the elements of a thread have in common. `source`: the register of an input or a position.
    pub(super) fn common(&mut self, text: &mut Text, mut source: impl FnMut(&mut Text, Instruction) -> Reg) {
        for (at, &instruction) in self.program.instructions().iter().enumerate() {
            if self.differs[at] == Differs::Never {
                let register = self.instruction(text, &self.common, instruction, &mut source);
                self.common.values[at] = Some(register);
            }
        }
    }

    /// Writes what a line of elements has in common, with the inverses of its divisors if divisions are to be `quick`.
    pub(super) fn line(
        &self,
        text: &mut Text,
        quick: Option<Quick>,
        mut source: impl FnMut(&mut Text, Instruction) -> Reg,
    ) -> Known {
        let mut known = self.common.clone();
        for (at, &instruction) in self.program.instructions().iter().enumerate() {
            if self.differs[at] == Differs::ByLine {
                known.values[at] = Some(self.instruction(text, &known, instruction, &mut source));
            }
        }
        if let Some(quick) = quick {
            for by in self.quick_divisors() {
                if known.inverses[by.index()].is_none() {
                    let divisor = self.program.instructions()[by.index()];
                    let inverse = quick.inverse(text, register(&known, by), divisor);
                    known.inverses[by.index()] = Some(inverse);
                }
            }
        }
        known
    }

    /// Whether a division can be quick.
    pub(super) fn has_quick_divisions(&self) -> bool {
        self.quick_divisors().next().is_some()
    }

    /// What a line of elements has in common, and others of `f32` are divided by.
    fn quick_divisors(&self) -> impl Iterator<Item = Register> {
        let instructions = self.program.instructions();
        instructions.iter().enumerate().filter_map(move |(at, &instruction)| match instruction {
            Instruction::Binary(Binary::Divide, _, by)
                if self.differs[at] == Differs::ByElement
                    && self.differs[by.index()] < Differs::ByElement
                    && self.program.register_type(by) == RegisterType::F32
                    && quick::may_divide(instructions[by.index()]) =>
            {
                Some(by)
            }
            _ => None,
        })
    }

    /// Writes the rest for elements of some lines, and answers the registers of the results. `source`: what an element, by
    /// its number, reads. `quick`: the quick way of divisions, which is asked in the end whether it was sound.
    pub(super) fn elements<'k>(
        &self,
        text: &mut Text,
        lines: impl Iterator<Item = &'k Known>,
        quick: Option<Quick>,
        mut source: impl FnMut(&mut Text, usize, Instruction) -> Reg,
    ) -> Vec<Reg> {
        let mut elements: Vec<Element> = lines.cloned().enumerate().collect();
        self.region(text, &mut elements, (0, quick), &mut source);
        elements.iter().map(|(_, known)| register(known, self.program.result())).collect()
    }

    /// Writes the rest for one element of a thread without lines, and answers the register of the result.
    pub(super) fn alone(
        &self,
        text: &mut Text,
        mut source: impl FnMut(&mut Text, Instruction) -> Reg,
    ) -> Reg {
        let one = std::iter::once(&self.common);
        self.elements(text, one, None, |text, _, instruction| source(text, instruction))[0]
    }

    /// Writes the instructions of a region, up to its next branch for one element after the other: what no branch separates
    /// is what the assembler can interleave.
    fn region(
        &self,
        text: &mut Text,
        elements: &mut [Element],
        (region, quick): (Region, Option<Quick>),
        source: &mut impl FnMut(&mut Text, usize, Instruction) -> Reg,
    ) {
        let is_inside =
            |at: usize| self.differs[at] == Differs::ByElement && self.regions.region(at) == region;
        let count = self.program.instructions().len();
        let mut from = 0;
        while from < count {
            let branch = (from..count)
                .filter(|&at| is_inside(at))
                .find_map(|at| self.regions.branch(at).map(|branch| (at, branch)));
            let to = branch.map_or(count, |(at, _)| at);
            for (number, known) in elements.iter_mut() {
                for at in (from..to).filter(|&at| is_inside(at)) {
                    if known.values[at].is_none() {
                        let mut source = |text: &mut Text, instruction| source(text, *number, instruction);
                        known.values[at] = Some(self.straight(text, known, at, quick, &mut source));
                    }
                }
            }
            match branch.map(|(_, branch)| (branch, branch.sides)) {
                Some((branch, [Some(a), Some(b)])) => {
                    for element in elements.iter_mut() {
                        self.either(text, element, branch, ([a, b], quick), source);
                    }
                }
                Some((branch, [side, other])) => {
                    let side = side.map(|side| (side, true)).or(other.map(|side| (side, false)));
                    let Some((side, chosen_if)) = side else { return };
                    self.seldom(text, elements, (branch, chosen_if), (side, quick), source);
                }
                None => {}
            }
            from = to + 1;
        }
    }

    /// Writes both sides of a branch, for one element.
    fn either(
        &self,
        text: &mut Text,
        element: &mut Element,
        branch: &Branch,
        (sides, quick): ([Region; 2], Option<Quick>),
        source: &mut impl FnMut(&mut Text, usize, Instruction) -> Reg,
    ) {
        let results = self.results(text, branch);
        let (otherwise, end) = (text.label(), text.label());
        text.line(format_args!("@!{} bra {otherwise}", register(&element.1, branch.condition)));
        for (region, chosen_if) in sides.into_iter().zip([true, false]) {
            self.region(text, std::slice::from_mut(element), (region, quick), source);
            self.set(text, &element.1, branch, chosen_if, &results);
            if chosen_if {
                text.line(format_args!("bra {end}"));
                text.place(&otherwise);
            }
        }
        text.place(&end);
        element.1.learn(branch, &results);
    }

    /// Writes a branch one side of which is short and computed in any case, for all elements behind one branch around all.
    fn seldom(
        &self,
        text: &mut Text,
        elements: &mut [Element],
        (branch, chosen_if): (&Branch, bool),
        region: (Region, Option<Quick>),
        source: &mut impl FnMut(&mut Text, usize, Instruction) -> Reg,
    ) {
        let (if_not, join) = if chosen_if { ("!", "or.pred") } else { ("", "and.pred") };
        let mut results: Vec<Vec<Reg>> = Vec::with_capacity(elements.len());
        let mut conditions = register(&elements[0].1, branch.condition);
        for (nth, (_, known)) in elements.iter().enumerate() {
            let registers = self.results(text, branch);
            self.set(text, known, branch, !chosen_if, &registers);
            results.push(registers);
            if nth > 0 {
                let next = register(known, branch.condition);
                conditions = text.set(Bank::Predicate, join, format_args!("{conditions}, {next}"));
            }
        }
        let end = text.label();
        if elements.len() > 1 {
            text.line(format_args!("@{if_not}{conditions} bra {end}"));
        }
        for (element, results) in elements.iter_mut().zip(&results) {
            let next = text.label();
            text.line(format_args!("@{if_not}{} bra {next}", register(&element.1, branch.condition)));
            self.region(text, std::slice::from_mut(element), region, source);
            self.set(text, &element.1, branch, chosen_if, results);
            text.place(&next);
            element.1.learn(branch, results);
        }
        text.place(&end);
    }

    /// Registers for what a branch selects.
    fn results(&self, text: &mut Text, branch: &Branch) -> Vec<Reg> {
        let selected = branch.selections.iter().filter_map(|&at| match self.program.instructions()[at] {
            Instruction::Select(_, a, _) => Some(Bank::of(self.program.register_type(a))),
            _ => None,
        });
        selected.map(|bank| text.register(bank)).collect()
    }

    /// Sets them to what is selected if the condition is `chosen_if`.
    fn set(&self, text: &mut Text, known: &Known, branch: &Branch, chosen_if: bool, results: &[Reg]) {
        for (&at, to) in branch.selections.iter().zip(results) {
            if let Instruction::Select(_, a, b) = self.program.instructions()[at] {
                let value = register(known, if chosen_if { a } else { b });
                text.line(format_args!("mov.{} {to}, {value}", to.bank.type_name()));
            }
        }
    }

    /// Writes an instruction of one element; a division the quick way, if there is one.
    fn straight(
        &self,
        text: &mut Text,
        known: &Known,
        at: usize,
        quick: Option<Quick>,
        source: &mut impl FnMut(&mut Text, Instruction) -> Reg,
    ) -> Reg {
        let instruction = self.program.instructions()[at];
        if let (Instruction::Binary(Binary::Divide, a, b), Some(quick)) = (instruction, quick)
            && let Some(inverse) = known.inverses[b.index()]
        {
            let in_range = quick::is_in_range(self.program.instructions()[a.index()]);
            return quick.divide(text, (register(known, a), in_range), register(known, b), inverse);
        }
        self.instruction(text, known, instruction, source)
    }

    fn instruction(
        &self,
        text: &mut Text,
        known: &Known,
        instruction: Instruction,
        source: &mut impl FnMut(&mut Text, Instruction) -> Reg,
    ) -> Reg {
        let of = |at: Register| register(known, at);
        match instruction {
            Instruction::Constant(value) => constant(text, value),
            Instruction::Scalar(at) => {
                let at = usize::from(at);
                let element_type = self.program.scalars().get(at).copied().unwrap_or(ElementType::U64);
                load_one(text, "param", element_type, format_args!("p+{}", 8 * (self.scalars + at)))
            }
            Instruction::Input(_) | Instruction::Position(_) => source(text, instruction),
            Instruction::Unary(op, a) => unary(text, op, of(a)),
            Instruction::Binary(Binary::Divide, a, b) if self.is_one(a) => {
                let b = of(b);
                text.set(b.bank, &format!("rcp.rn.{}", b.bank.type_name()), format_args!("{b}"))
            }
            Instruction::Binary(op, a, b) => binary(text, op, of(a), of(b)),
            Instruction::Fma(a, b, c) => {
                let (a, b, c) = (of(a), of(b), of(c));
                text.set(a.bank, &format!("fma.rn.{}", a.bank.type_name()), format_args!("{a}, {b}, {c}"))
            }
            Instruction::Select(condition, a, b) => select(text, of(condition), of(a), of(b)),
        }
    }

    fn is_one(&self, at: Register) -> bool {
        matches!(
            self.program.instructions()[at.index()],
            Instruction::Constant(Constant::F32(0x3f80_0000) | Constant::F64(0x3ff0_0000_0000_0000))
        )
    }
}

/// The text's register of one of the program's, which is set before it is read.
fn register(known: &Known, at: Register) -> Reg {
    known.values[at.index()].expect("a register is set before it is read")
}

fn constant(text: &mut Text, constant: Constant) -> Reg {
    match constant {
        Constant::Bool(value) => text.set(Bank::Predicate, "mov.pred", format_args!("{}", u8::from(value))),
        Constant::B32(bits) => text.set(Bank::B32, "mov.b32", format_args!("{bits:#x}")),
        Constant::B64(bits) => text.set(Bank::B64, "mov.b64", format_args!("{bits:#x}")),
        Constant::F32(bits) => text.set(Bank::F32, "mov.f32", format_args!("0f{bits:08X}")),
        Constant::F64(bits) => text.set(Bank::F64, "mov.f64", format_args!("0d{bits:016X}")),
    }
}

fn select(text: &mut Text, condition: Reg, a: Reg, b: Reg) -> Reg {
    if a.bank != Bank::Predicate {
        let operation = format!("selp.{}", a.bank.type_name());
        return text.set(a.bank, &operation, format_args!("{a}, {b}, {condition}"));
    }
    let first = text.set(Bank::Predicate, "and.pred", format_args!("{condition}, {a}"));
    let not = text.set(Bank::Predicate, "not.pred", format_args!("{condition}"));
    let second = text.set(Bank::Predicate, "and.pred", format_args!("{not}, {b}"));
    text.set(Bank::Predicate, "or.pred", format_args!("{first}, {second}"))
}

fn unary(text: &mut Text, op: Unary, a: Reg) -> Reg {
    let name = a.bank.type_name();
    // 32 or 64, of the register that is read.
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
        Unary::BoolToB32 => return text.set(Bank::B32, "selp.b32", format_args!("1, 0, {a}")),
        Unary::SignExtend => (Bank::B64, "cvt.s64.s32".to_owned()),
        Unary::ZeroExtend => (Bank::B64, "cvt.u64.u32".to_owned()),
        Unary::Wrap => (Bank::B32, "cvt.u32.u64".to_owned()),
        Unary::ToBits if bits == 32 => (Bank::B32, "mov.b32".to_owned()),
        Unary::ToBits => (Bank::B64, "mov.b64".to_owned()),
        Unary::FromBits if bits == 32 => (Bank::F32, "mov.b32".to_owned()),
        Unary::FromBits => (Bank::F64, "mov.b64".to_owned()),
        Unary::Widen => (Bank::F64, "cvt.f64.f32".to_owned()),
        Unary::Narrow => (Bank::F32, "cvt.rn.f32.f64".to_owned()),
        Unary::HalfToF32 => {
            let half = text.set(Bank::B16, "cvt.u16.u32", format_args!("{a}"));
            return text.set(Bank::F32, "cvt.f32.f16", format_args!("{half}"));
        }
        Unary::F32ToHalf => {
            let half = text.set(Bank::B16, "cvt.rn.f16.f32", format_args!("{a}"));
            return text.set(Bank::B32, "cvt.u32.u16", format_args!("{half}"));
        }
        Unary::SignedToF32 => (Bank::F32, format!("cvt.rn.f32.s{bits}")),
        Unary::UnsignedToF32 => (Bank::F32, format!("cvt.rn.f32.u{bits}")),
        // Exact from 32 bits, but a rounding must be named all the same.
        Unary::SignedToF64 => (Bank::F64, format!("cvt.rn.f64.s{bits}")),
        Unary::UnsignedToF64 => (Bank::F64, format!("cvt.rn.f64.u{bits}")),
        Unary::ToSigned32 => return to_integer(text, a, Bank::B32, "s32"),
        Unary::ToUnsigned32 => return to_integer(text, a, Bank::B32, "u32"),
        Unary::ToSigned64 => return to_integer(text, a, Bank::B64, "s64"),
        Unary::ToUnsigned64 => return to_integer(text, a, Bank::B64, "u64"),
    };
    text.set(bank, &operation, format_args!("{a}"))
}

/// Conversions saturate by themselves; but of a NaN only those from `f32` to 32 bits make 0 (PTX ISA, `cvt`).
fn to_integer(text: &mut Text, a: Reg, bank: Bank, to: &str) -> Reg {
    let from = a.bank.type_name();
    let converted = text.set(bank, &format!("cvt.rzi.{to}.{from}"), format_args!("{a}"));
    if (bank, a.bank) == (Bank::B32, Bank::F32) {
        return converted;
    }
    let number = text.set(Bank::Predicate, &format!("setp.num.{from}"), format_args!("{a}, {a}"));
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
        // The ordered comparisons of floats are false of a NaN.
        Binary::Equal => (Bank::Predicate, format!("setp.eq.{name}")),
        Binary::Less => (Bank::Predicate, format!("setp.lt.{name}")),
        Binary::LessEqual => (Bank::Predicate, format!("setp.le.{name}")),
        Binary::LessSigned => (Bank::Predicate, format!("setp.lt.s{bits}")),
        Binary::LessUnsigned => (Bank::Predicate, format!("setp.lt.u{bits}")),
    };
    text.set(bank, &operation, format_args!("{a}, {b}"))
}
