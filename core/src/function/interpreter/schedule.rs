//! Which slot holds which register, and when: slots are used again once their register is read no more.

use super::kernels::{Slot, slot};
use crate::function::primitive::{Instruction, Program, Register};

/// Bytes that the slots of a block take together, about: they should stay in a core's caches.
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
        let mut last_use: Vec<usize> = (0..instructions.len()).collect();
        for (at, &instruction) in instructions.iter().enumerate() {
            for register in instruction.operands() {
                last_use[register.index()] = at;
            }
        }
        last_use[program.result().index()] = usize::MAX;
        let mut free: Vec<usize> = Vec::new();
        let (mut places, mut slots) = (Vec::with_capacity(instructions.len()), 0);
        for (at, &instruction) in instructions.iter().enumerate() {
            // What is the same in every block keeps its slot for good, which is filled before the first.
            let place = match is_fixed(instruction) {
                true => None,
                false => free.pop(),
            };
            places.push(place.unwrap_or_else(|| {
                slots += 1;
                slots - 1
            }));
            // The result's slot is another than the operands', which are free only afterwards.
            let mut operands: Vec<Register> = instruction.operands().collect();
            operands.dedup();
            for (nth, register) in operands.iter().enumerate() {
                let repeated = operands[..nth].contains(register);
                let fixed = is_fixed(instructions[register.index()]);
                if last_use[register.index()] == at && !fixed && !repeated {
                    free.push(places[register.index()]);
                }
            }
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

/// Whether a register is the same for every element.
pub(super) fn is_fixed(instruction: Instruction) -> bool {
    matches!(instruction, Instruction::Constant(_) | Instruction::Scalar(_))
}
