//! Which instructions only one side of a selection needs, so that they are skipped where the other is chosen.
//!
//! Programs compute both sides of every selection. Where a side is long, such as the reduction of huge angles, a branch
//! around it costs less.

use devarray::function::primitive::{Binary, Instruction, Program, RegisterType, Unary};

/// Least cost, in simple instructions, of a side that is worth a branch.
const WORTH: u32 = 24;

/// A group of instructions that are computed together or not at all; 0 is what is always computed.
pub(super) type Region = usize;

/// The regions of a program.
#[derive(Debug)]
pub(super) struct Regions {
    /// Of each instruction.
    of: Vec<Region>,
    /// Of the two sides of each selection.
    sides: Vec<Option<[Region; 2]>>,
}

/// Regions as a tree, the root of which is what is always computed.
#[derive(Debug)]
struct Tree {
    parents: Vec<Region>,
    depths: Vec<u32>,
}

impl Tree {
    fn child(&mut self, parent: Region) -> Region {
        self.parents.push(parent);
        self.depths.push(self.depths[parent] + 1);
        self.parents.len() - 1
    }

    /// The innermost region that both are in.
    fn join(&self, mut a: Region, mut b: Region) -> Region {
        while a != b {
            if self.depths[a] >= self.depths[b] {
                a = self.parents[a];
            } else {
                b = self.parents[b];
            }
        }
        a
    }
}

impl Regions {
    /// `skipped`: instructions that are computed elsewhere.
    pub(super) fn of(program: &Program, skipped: impl Fn(usize) -> bool) -> Self {
        let instructions = program.instructions();
        let mut tree = Tree { parents: vec![0], depths: vec![0] };
        let mut of: Vec<Option<Region>> = vec![None; instructions.len()];
        let mut sides = vec![None; instructions.len()];
        of[program.result().index()] = Some(0);
        // Users come after what they use.
        for at in (0..instructions.len()).rev().filter(|&at| !skipped(at)) {
            let region = of[at].unwrap_or(0);
            of[at] = Some(region);
            let mut used = |operand: usize, by: Region| {
                of[operand] = Some(of[operand].map_or(by, |before| tree.join(before, by)));
            };
            match instructions[at] {
                Instruction::Select(condition, a, b) => {
                    used(condition.index(), region);
                    let pair = [tree.child(region), tree.child(region)];
                    for (operand, side) in [a, b].into_iter().zip(pair) {
                        let before = of[operand.index()];
                        of[operand.index()] = Some(before.map_or(side, |before| tree.join(before, side)));
                    }
                    sides[at] = Some(pair);
                }
                other => other.operands().for_each(|operand| used(operand.index(), region)),
            }
        }
        let of: Vec<Region> = of.into_iter().map(|region| region.unwrap_or(0)).collect();

        // Inner regions were made later, and have larger numbers.
        let mut costs = vec![0; tree.parents.len()];
        for (at, &region) in of.iter().enumerate().filter(|(at, _)| !skipped(*at)) {
            costs[region] += cost(program, instructions[at]);
        }
        for region in (1..costs.len()).rev() {
            costs[tree.parents[region]] += costs[region];
        }
        let mut kept: Vec<Region> = vec![0];
        for region in 1..costs.len() {
            kept.push(if costs[region] >= WORTH { region } else { kept[tree.parents[region]] });
        }
        let worth = |pair: [Region; 2]| pair.into_iter().any(|side| kept[side] == side);
        Self {
            of: of.into_iter().map(|region| kept[region]).collect(),
            sides: sides.into_iter().map(|pair| pair.filter(|&pair| worth(pair))).collect(),
        }
    }

    /// The region of an instruction.
    pub(super) fn region(&self, instruction: usize) -> Region {
        self.of[instruction]
    }

    /// The regions of the two sides of a selection, if it is worth a branch. One of them may be empty.
    pub(super) fn sides(&self, instruction: usize) -> Option<[Region; 2]> {
        self.sides[instruction]
    }
}

/// About how many simple instructions one takes.
fn cost(program: &Program, instruction: Instruction) -> u32 {
    let wide = |register| {
        let register_type = program.register_type(register);
        matches!(register_type, RegisterType::B64 | RegisterType::F64)
    };
    match instruction {
        Instruction::Constant(_)
        | Instruction::Scalar(_)
        | Instruction::Input(_)
        | Instruction::Position(_) => 0,
        Instruction::Unary(Unary::SquareRoot, a)
        | Instruction::Binary(
            Binary::Divide
            | Binary::DivideSigned
            | Binary::DivideUnsigned
            | Binary::RemainderSigned
            | Binary::RemainderUnsigned,
            a,
            _,
        ) => {
            if wide(a) {
                24
            } else {
                10
            }
        }
        Instruction::Binary(Binary::MultiplyHigh, a, _) if wide(a) => 8,
        Instruction::Unary(_, a)
        | Instruction::Binary(_, a, _)
        | Instruction::Fma(a, _, _)
        | Instruction::Select(_, a, _) => {
            if wide(a) {
                2
            } else {
                1
            }
        }
    }
}
