//! Programs with branches: the instructions between two branches are written for all elements of a
//! thread, one element after the other.

use devarray::function::primitive::{Binary, Constant, Instruction, Register};

use super::{Body, Differs, Known, Source, Sources};
use crate::function::{
    regions::{Branch, Region},
    shared_divisor::{self, Reciprocals},
    text::{Bank, Reg, Text},
    truth,
};

/// The number of an element in its thread, and its known values.
pub(super) type Element = (usize, Known);

impl Known {
    fn learn(&mut self, branch: &Branch, results: &[Reg]) {
        for (&at, &result) in branch.selections.iter().zip(results) {
            self.values[at] = Some(result);
        }
    }
}

impl Body<'_> {
    /// Writes the instructions of a region. The instructions of all elements stand between two
    /// branches, so that the assembler can interleave them.
    pub(super) fn region(
        &self,
        text: &mut Text,
        elements: &mut [Element],
        (region, reciprocals): (Region, Option<Reciprocals>),
        source: &mut impl Sources,
    ) {
        let is_inside =
            |at: usize| self.differs[at] == Differs::ByElement && self.regions.region(at) == region;
        let count = self.program.instructions().len();
        let mut from = 0;
        loop {
            let branch = (from..count).filter(|&at| is_inside(at)).find_map(|at| self.regions.branch(at));
            let to = branch.map_or(count, |branch| branch.selections[0]);
            for (number, known) in elements.iter_mut() {
                for at in (from..to).filter(|&at| is_inside(at)) {
                    let mut source = |text: &mut Text, instruction| source(text, *number, instruction);
                    self.once(text, known, at, |text, known| {
                        self.straight(text, known, at, reciprocals, &mut source)
                    });
                }
            }
            let Some(branch) = branch else { return };
            let [if_true, if_false] = branch.sides;
            if if_false == region {
                self.seldom(text, elements, (branch, true), (if_true, reciprocals), source);
            } else if if_true == region {
                self.seldom(text, elements, (branch, false), (if_false, reciprocals), source);
            } else {
                for element in elements.iter_mut() {
                    self.either(text, element, branch, reciprocals, source);
                }
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
        reciprocals: Option<Reciprocals>,
        source: &mut impl Sources,
    ) {
        let results = self.results(text, branch);
        let (otherwise, end) = (text.label(), text.label());
        let condition = truth::predicate(text, element.1.register(branch.condition));
        text.line(format_args!("@!{condition} bra {otherwise}"));
        for (region, taken_if) in branch.sides.into_iter().zip([true, false]) {
            self.region(text, std::slice::from_mut(element), (region, reciprocals), source);
            self.set(text, &element.1, branch, taken_if, &results);
            if taken_if {
                text.line(format_args!("bra {end}"));
                text.place(&otherwise);
            }
        }
        text.place(&end);
        element.1.learn(branch, &results);
    }

    /// Writes a branch in which one side is short and always computed. A single branch skips the
    /// other side for all elements together.
    fn seldom(
        &self,
        text: &mut Text,
        elements: &mut [Element],
        (branch, taken_if): (&Branch, bool),
        region: (Region, Option<Reciprocals>),
        source: &mut impl Sources,
    ) {
        let if_not = if taken_if { "!" } else { "" };
        let mut results: Vec<Vec<Reg>> = Vec::with_capacity(elements.len());
        let mut conditions = elements[0].1.register(branch.condition);
        let join = if taken_if { truth::or } else { truth::and };
        for (nth, (_, known)) in elements.iter().enumerate() {
            let registers = self.results(text, branch);
            self.set(text, known, branch, !taken_if, &registers);
            results.push(registers);
            if nth > 0 {
                conditions = join(text, conditions, known.register(branch.condition));
            }
        }
        let end = text.label();
        if elements.len() > 1 {
            let conditions = truth::predicate(text, conditions);
            text.line(format_args!("@{if_not}{conditions} bra {end}"));
        }
        for (element, results) in elements.iter_mut().zip(&results) {
            let next = text.label();
            let condition = truth::predicate(text, element.1.register(branch.condition));
            text.line(format_args!("@{if_not}{condition} bra {next}"));
            self.region(text, std::slice::from_mut(element), region, source);
            self.set(text, &element.1, branch, taken_if, results);
            text.place(&next);
            element.1.learn(branch, results);
        }
        text.place(&end);
    }

    /// Registers for the results of a branch.
    fn results(&self, text: &mut Text, branch: &Branch) -> Vec<Reg> {
        let selected = branch.selections.iter().filter_map(|&at| match self.program.instructions()[at] {
            Instruction::Select(_, a, _) => Some(Bank::of(self.program.register_type(a))),
            _ => None,
        });
        selected.map(|bank| text.register(bank)).collect()
    }

    /// Sets the results to the values of the side that is `taken_if`.
    fn set(&self, text: &mut Text, known: &Known, branch: &Branch, taken_if: bool, results: &[Reg]) {
        for (&at, to) in branch.selections.iter().zip(results) {
            if let Instruction::Select(_, a, b) = self.program.instructions()[at] {
                let value = known.register(if taken_if { a } else { b });
                let value = truth::word(text, value);
                text.line(format_args!("mov.{} {to}, {value}", to.bank.type_name()));
            }
        }
    }

    /// Writes an instruction for one element. A division becomes a multiplication by the reciprocal
    /// if the bits allow it.
    fn straight(
        &self,
        text: &mut Text,
        known: &Known,
        at: usize,
        reciprocals: Option<Reciprocals>,
        source: &mut impl Source,
    ) -> Reg {
        let instruction = self.program.instructions()[at];
        if let Some(quotient) = self.made_canonical(instruction).filter(|_| reciprocals.is_some())
            && let Instruction::Binary(Binary::Divide, _, by) = self.program.instructions()[quotient.index()]
            && known.inverses[by.index()].is_some()
        {
            // A quotient by a reciprocal is not NaN.
            return known.register(quotient);
        }
        if let Instruction::Binary(Binary::Divide, a, b) = instruction {
            let [of, by] = [a, b].map(|operand| self.program.instructions()[operand.index()]);
            match (by, reciprocals.zip(known.inverses[b.index()])) {
                (Instruction::Constant(Constant::F32(bits)), _)
                    if shared_divisor::is_always_exact(of, by) =>
                {
                    let inverse = shared_divisor::inverse_of(text, bits);
                    return shared_divisor::quotient(text, known.register(a), known.register(b), inverse);
                }
                (_, Some((reciprocals, inverse))) => {
                    let number = (known.register(a), shared_divisor::is_in_range(of));
                    return reciprocals.divide(text, number, known.register(b), inverse);
                }
                (_, None) => {}
            }
        }
        self.instruction(text, known, instruction, source)
    }

    /// If an instruction makes the NaNs of a register canonical, the register.
    fn made_canonical(&self, instruction: Instruction) -> Option<Register> {
        let all = self.program.instructions();
        let Instruction::Select(condition, value, other) = instruction else { return None };
        let is_number = all[condition.index()] == Instruction::Binary(Binary::Equal, value, value);
        let is_nan = matches!(all[other.index()], Instruction::Constant(Constant::F32(0x7fc0_0000)));
        (is_number && is_nan).then_some(value)
    }
}
