//! Finds instructions that only one side of a selection needs, so that they can be skipped if the
//! other side is chosen.
//!
//! Programs compute both sides of every selection. If a side is long, such as the reduction of huge
//! angles, a branch around it costs less. Selections by one condition share a branch.

use std::ops::Range;

use devarray::function::primitive::{Binary, Constant, Instruction, Program, Register, RegisterType, Unary};

/// The least cost, in simple instructions, of a side that is worth a branch.
const WORTH: u32 = 24;

/// Numbers with fewer bits are often equal to a constant by chance.
const FEW_BITS: u32 = 8;

/// A group of instructions that are computed together or not at all; group 0 is always computed.
pub(super) type Region = usize;

/// The regions of a program.
#[derive(Debug)]
pub(super) struct Regions {
    /// The region of each instruction.
    of: Vec<Region>,
    branches: Vec<Branch>,
}

/// Selections by one condition. A branch takes the place of the first of them.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) condition: Register,
    /// The selections, in order.
    pub(super) selections: Vec<usize>,
    /// Instructions that only the true side needs, and instructions that only the false side needs.
    /// A side that is too short to be skipped belongs to the region of the selections; at least one
    /// is long enough.
    pub(super) sides: [Region; 2],
}

/// Regions as a tree. The root is always computed; the others have larger numbers than their
/// parents.
#[derive(Debug)]
struct Tree {
    parents: Vec<Region>,
}

impl Tree {
    fn child(&mut self, parent: Region) -> Region {
        self.parents.push(parent);
        self.parents.len() - 1
    }

    /// The other side of a selection. Both sides were made one after the other.
    fn other_side(region: Region) -> Region {
        if region % 2 == 1 { region + 1 } else { region - 1 }
    }

    fn contains(&self, outer: Region, inner: Region) -> bool {
        self.join(outer, inner) == outer
    }

    /// Notes that an instruction of region `by` reads the value of a register.
    fn used(&self, of: &mut [Option<Region>], operand: Register, by: Region) {
        let before = &mut of[operand.index()];
        *before = Some(before.map_or(by, |before| self.join(before, by)));
    }

    /// The innermost region that both are in.
    fn join(&self, mut a: Region, mut b: Region) -> Region {
        while a != b {
            let later = if a > b { &mut a } else { &mut b };
            *later = self.parents[*later];
        }
        a
    }
}

impl Regions {
    /// Finds the regions of a program. `skipped` instructions are computed elsewhere.
    pub(super) fn of(program: &Program, skipped: impl Fn(usize) -> bool) -> Self {
        let instructions = program.instructions();
        let mut tree = Tree { parents: vec![0] };
        let mut of: Vec<Option<Region>> = vec![None; instructions.len()];
        // Branches come in the order of their last selections, the last first.
        let mut branches: Vec<Branch> = Vec::new();
        of[program.result().index()] = Some(0);
        // Walks backwards, because users come after the values that they use.
        for at in (0..instructions.len()).rev().filter(|&at| !skipped(at)) {
            let region = of[at].unwrap_or(0);
            of[at] = Some(region);
            match instructions[at] {
                Instruction::Select(condition, a, b) => {
                    tree.used(&mut of, condition, region);
                    let known_before = |operand: Register| operand.index() < at || skipped(operand.index());
                    let found = branches.iter().rposition(|branch| {
                        let is_known = |&of: &usize| {
                            let Instruction::Select(_, a, b) = instructions[of] else { return false };
                            known_before(a) && known_before(b)
                        };
                        (branch.condition, tree.parents[branch.sides[0]]) == (condition, region)
                            && branch.selections.iter().all(is_known)
                            && !has_any(&tree, &of, at + 1..branch.selections[0], branch.sides)
                    });
                    let branch = found.unwrap_or_else(|| {
                        let sides = [tree.child(region), tree.child(region)];
                        branches.push(Branch { condition, sides, selections: Vec::new() });
                        branches.len() - 1
                    });
                    branches[branch].selections.push(at);
                    // A side that is nearly always chosen is not worth a branch.
                    let nearly_always = foreseen(instructions, condition);
                    for (operand, (side, taken_if)) in
                        [a, b].into_iter().zip(branches[branch].sides.into_iter().zip([true, false]))
                    {
                        let by = if nearly_always == Some(taken_if) { region } else { side };
                        tree.used(&mut of, operand, by);
                    }
                }
                other => other.operands().for_each(|operand| tree.used(&mut of, operand, region)),
            }
        }
        let of: Vec<Region> = of.into_iter().map(|region| region.unwrap_or(0)).collect();

        let mut costs = vec![0; tree.parents.len()];
        for (at, &region) in of.iter().enumerate().filter(|(at, _)| !skipped(*at)) {
            costs[region] += cost(program, instructions[at]);
        }
        for region in (1..costs.len()).rev() {
            costs[tree.parents[region]] += costs[region];
        }
        let mut kept: Vec<Region> = vec![0];
        for region in 1..costs.len() {
            let outer = kept[tree.parents[region]];
            // A branch around nearly everything would keep the assembler from interleaving the
            // elements' instructions. So would a branch around a side that costs little compared
            // with the other side, if that is always computed.
            let is_worth = costs[region] >= WORTH
                && 3 * costs[region] <= 2 * costs[outer]
                && 4 * costs[region] >= costs[Tree::other_side(region)];
            kept.push(if is_worth { region } else { outer });
        }
        branches.retain(|branch| branch.sides.iter().any(|&side| kept[side] == side));
        for branch in &mut branches {
            branch.selections.reverse();
            branch.sides = branch.sides.map(|side| kept[side]);
        }
        Self { branches, of: of.into_iter().map(|region| kept[region]).collect() }
    }

    /// The region of an instruction.
    pub(super) fn region(&self, instruction: usize) -> Region {
        self.of[instruction]
    }

    /// The branch that takes the place of an instruction, which is a selection.
    pub(super) fn branch(&self, instruction: usize) -> Option<&Branch> {
        self.branches.iter().find(|branch| branch.selections[0] == instruction)
    }
}

/// Whether some of these instructions are in one of two regions.
fn has_any(tree: &Tree, of: &[Option<Region>], among: Range<usize>, sides: [Region; 2]) -> bool {
    of[among].iter().flatten().any(|&region| sides.into_iter().any(|side| tree.contains(side, region)))
}

/// The value that a condition nearly always has, if its form shows that.
fn foreseen(instructions: &[Instruction], condition: Register) -> Option<bool> {
    let constant = |register: Register| match instructions[register.index()] {
        Instruction::Constant(constant) => Some(constant),
        _ => None,
    };
    let is_infinite = |register: Register| {
        let infinite = |constant| match constant {
            Constant::F32(bits) => f32::from_bits(bits).is_infinite(),
            Constant::F64(bits) => f64::from_bits(bits).is_infinite(),
            _ => false,
        };
        constant(register).is_some_and(infinite)
    };
    match instructions[condition.index()] {
        Instruction::Unary(Unary::Not, of) => foreseen(instructions, of).map(|value| !value),
        Instruction::Binary(op @ (Binary::And | Binary::Or), a, b) => {
            // This value decides, even if only one operand has it.
            let decisive = op == Binary::Or;
            match [a, b].map(|of| foreseen(instructions, of)) {
                both if both.contains(&Some(decisive)) => Some(decisive),
                [a, b] => a.and(b),
            }
        }
        // A number equals itself unless it is NaN.
        Instruction::Binary(Binary::Equal, a, b) if a == b => Some(true),
        Instruction::Binary(Binary::Less, a, b) if is_infinite(a) || is_infinite(b) => Some(true),
        // One number among very many is rarely met. A number with few bits is met often.
        Instruction::Binary(Binary::Equal, a, b) if constant(b).is_some() => {
            let Instruction::Binary(Binary::And, _, mask) = instructions[a.index()] else {
                return Some(false);
            };
            match constant(mask) {
                Some(Constant::B32(bits)) if bits.count_ones() >= FEW_BITS => Some(false),
                Some(Constant::B64(bits)) if bits.count_ones() >= FEW_BITS => Some(false),
                _ => None,
            }
        }
        _ => None,
    }
}

/// About how many simple instructions one takes.
fn cost(program: &Program, instruction: Instruction) -> u32 {
    // The first of a pair is for numbers of 32 bits, the second for 64.
    let (a, costs) = match instruction {
        Instruction::Constant(_)
        | Instruction::Scalar(_)
        | Instruction::Input(_)
        | Instruction::Position(_) => return 0,
        Instruction::Unary(Unary::SquareRoot, a)
        | Instruction::Binary(
            Binary::Divide
            | Binary::DivideSigned
            | Binary::DivideUnsigned
            | Binary::RemainderSigned
            | Binary::RemainderUnsigned,
            a,
            _,
        ) => (a, [10, 24]),
        Instruction::Binary(Binary::MultiplyHigh, a, _) => (a, [1, 8]),
        Instruction::Unary(_, a)
        | Instruction::Binary(_, a, _)
        | Instruction::Fma(a, _, _)
        | Instruction::Select(_, a, _) => (a, [1, 2]),
    };
    let is_wide = matches!(program.register_type(a), RegisterType::B64 | RegisterType::F64);
    costs[usize::from(is_wide)]
}

#[cfg(test)]
mod tests;
