//! The slot of each register. A slot is reused after its register's last read.

use smallvec::SmallVec;

use super::kernels::{Slot, slot};
use crate::function::primitive::{Instruction, Program, Register, Unary};

/// About the size of all slots of a block in bytes; they should stay in a core's caches.
const BLOCK_BYTES: usize = 128 << 10;
/// Elements of the largest block.
const MAX_BLOCK: usize = 1024;
/// Elements of the smallest.
const MIN_BLOCK: usize = 64;

/// A program with places for its registers.
pub(super) struct Schedule<'a> {
    pub(super) program: &'a Program,
    /// The slot of each register.
    pub(super) places: Vec<usize>,
    /// How many slots there are.
    slots: usize,
}

impl<'a> Schedule<'a> {
    pub(super) fn of(program: &'a Program) -> Self {
        let instructions = program.instructions();
        let mut roots: Vec<usize> = Vec::with_capacity(instructions.len());
        for (at, &instruction) in instructions.iter().enumerate() {
            roots.push(same_bits(instruction).map_or(at, |register| roots[register.index()]));
        }
        let mut last_use: Vec<usize> = (0..instructions.len()).collect();
        for (at, &instruction) in instructions.iter().enumerate() {
            for register in instruction.operands() {
                last_use[roots[register.index()]] = at;
            }
        }
        last_use[roots[program.result().index()]] = usize::MAX;
        let mut free: Vec<usize> = Vec::new();
        let (mut places, mut slots) = (Vec::with_capacity(instructions.len()), 0);
        for (at, &instruction) in instructions.iter().enumerate() {
            if roots[at] != at {
                places.push(places[roots[at]]);
                continue;
            }
            // A register that is the same in every block keeps its slot, which is filled before the
            // first block.
            let place = if is_fixed(instruction) { None } else { free.pop() };
            places.push(place.unwrap_or_else(|| {
                slots += 1;
                slots - 1
            }));
            // The operands' slots become free only afterwards, so the result gets another slot.
            let mut ending: SmallVec<[usize; 3]> = instruction.operands().map(|r| roots[r.index()]).collect();
            ending.retain(|root| last_use[*root] == at && !is_fixed(instructions[*root]));
            ending.sort_unstable();
            ending.dedup();
            free.extend(ending.into_iter().map(|root| places[root]));
        }
        Self { program, places, slots }
    }

    /// Elements of a block.
    pub(super) fn block_len(&self) -> usize {
        let len = BLOCK_BYTES / 8 / self.slots.max(1);
        (len & !(MIN_BLOCK - 1)).clamp(MIN_BLOCK, MAX_BLOCK)
    }

    /// The slots of blocks up to a length.
    pub(super) fn slots(&self, block_len: usize) -> Vec<Slot> {
        (0..self.slots).map(|_| slot(block_len)).collect()
    }

    pub(super) fn place(&self, register: Register) -> usize {
        self.places[register.index()]
    }
}

/// The operand whose bits are the result, so that nothing is computed and the slot is shared.
pub(super) fn same_bits(instruction: Instruction) -> Option<Register> {
    match instruction {
        Instruction::Unary(Unary::ToBits | Unary::FromBits | Unary::BoolToB32, register) => Some(register),
        _ => None,
    }
}

/// Whether a register is the same for every element.
pub(super) fn is_fixed(instruction: Instruction) -> bool {
    matches!(instruction, Instruction::Constant(_) | Instruction::Scalar(_))
}
