//! Assigns a slot to each register. A slot is reused after its register's last read.

use smallvec::SmallVec;

use super::kernels::{Slot, slot};
use crate::primitive::{Instruction, Program, Register, Unary};

/// About the size in bytes of all slots of a block, which should stay in a core's caches.
const BLOCK_BYTES: usize = 128 << 10;
/// The most elements of a block.
const MAX_BLOCK: usize = 1024;
/// The least elements of a block.
const MIN_BLOCK: usize = 64;

/// A program whose registers have slots.
pub(super) struct Schedule<'a> {
    pub(super) program: &'a Program,
    /// The slot of each register.
    pub(super) places: Vec<usize>,
    /// The number of slots.
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

    /// The number of elements in a block.
    pub(super) fn block_len(&self) -> usize {
        let len = BLOCK_BYTES / 8 / self.slots.max(1);
        (len & !(MIN_BLOCK - 1)).clamp(MIN_BLOCK, MAX_BLOCK)
    }

    /// Makes the slots for blocks up to a length.
    pub(super) fn slots(&self, block_len: usize) -> Vec<Slot> {
        (0..self.slots).map(|_| slot(block_len)).collect()
    }

    pub(super) fn place(&self, register: Register) -> usize {
        self.places[register.index()]
    }
}

/// The operand whose bits are the result. Then nothing is computed, and the two share a slot.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ElementType, Function,
        primitive::{Binary, Constant, ProgramBuilder, RegisterType},
    };

    /// The register whose value each register has: another one where nothing is computed.
    fn values(program: &Program) -> Vec<usize> {
        let mut values: Vec<usize> = Vec::new();
        for (at, instruction) in program.instructions().iter().enumerate() {
            values.push(match instruction {
                Instruction::Unary(Unary::ToBits | Unary::FromBits | Unary::BoolToB32, a) => {
                    values[a.index()]
                }
                _ => at,
            });
        }
        values
    }

    /// Follows two blocks of a schedule, with names in place of values: each operand is in its slot
    /// when it is read, and the result is there at the end.
    fn follow(schedule: &Schedule<'_>, text: &str) {
        let program = schedule.program;
        let (instructions, values) = (program.instructions(), values(program));
        let mut held = vec![None; schedule.slots];
        for (at, instruction) in instructions.iter().enumerate() {
            if matches!(instruction, Instruction::Constant(_) | Instruction::Scalar(_)) {
                held[schedule.places[at]] = Some(at);
            }
        }
        for _block in 0..2 {
            for (at, instruction) in instructions.iter().enumerate() {
                let place = schedule.places[at];
                for operand in instruction.operands() {
                    let read = schedule.place(operand);
                    assert_eq!(held[read], Some(values[operand.index()]), "{text}: {at} reads {operand:?}");
                    assert!(read != place || values[at] != at, "{text}: {at} is written over what it reads");
                }
                held[place] = Some(values[at]);
            }
            let result = program.result();
            assert_eq!(held[schedule.place(result)], Some(values[result.index()]), "{text}");
        }
    }

    /// The number of slots that a program needs: one for each constant and scalar, and the greatest
    /// number of other values that are alive at one time.
    fn needed(program: &Program) -> usize {
        let (instructions, values) = (program.instructions(), values(program));
        let fixed = |at: usize| matches!(instructions[at], Instruction::Constant(_) | Instruction::Scalar(_));
        let mut read_until = vec![0; instructions.len()];
        for (at, instruction) in instructions.iter().enumerate() {
            instruction.operands().for_each(|a| read_until[values[a.index()]] = at);
        }
        read_until[values[program.result().index()]] = usize::MAX;
        let own: Vec<usize> = (0..instructions.len()).filter(|&at| values[at] == at && !fixed(at)).collect();
        let at_once = |(earlier, &at): (usize, &usize)| {
            own[..earlier].iter().filter(|&&value| read_until[value] >= at).count() + 1
        };
        let most = own.iter().enumerate().map(at_once).max().unwrap_or(0);
        (0..instructions.len()).filter(|&at| fixed(at)).count() + most
    }

    #[test]
    fn every_operand_is_in_its_slot_until_it_was_read_and_no_slot_is_too_many() {
        let cases = [
            (ElementType::F32, "x0"),
            (ElementType::F32, "bitcast(bitcast(x0, u32) & bitcast(x1, u32), f32)"),
            (ElementType::F32, "(x0 + x1) * (x0 - x1) + k0 * x0"),
            (ElementType::F32, "sin(x0) + exp(x1) * k0"),
            (ElementType::F64, "hypot(x0, x1) ** x0 - atan2(x1, k0)"),
            (ElementType::F16, "where(x0 < x1, x0, tanh(x1)) + fma(x0, x1, 2)"),
            (ElementType::I8, "cast(x0 < x1, i8) + x0 // x1 % 7"),
            (ElementType::U64, "x0 ** x1 // k0 + bitwise_count(x0)"),
        ];
        for (of, text) in cases {
            let program = Function::parse(text, &[of; 2], &[of]).expect("it parses").expand();
            let schedule = Schedule::of(&program);
            follow(&schedule, text);
            assert_eq!(schedule.slots, needed(&program), "{text}");
        }
    }

    #[test]
    fn slots_are_shared_by_the_same_bits_and_reused_after_the_last_read() {
        let mut builder = ProgramBuilder::new(&[ElementType::F32], &[ElementType::U32]);
        let x = builder.push(Instruction::Input(0));
        let bits = builder.unary(Unary::ToBits, x);
        let mask = builder.push(Instruction::Scalar(0));
        let one = builder.constant(Constant::B32(1));
        let masked = builder.binary(Binary::And, bits, mask);
        let next = builder.binary(Binary::Add, masked, one);
        let doubled = builder.binary(Binary::Add, next, next);
        let float = builder.unary(Unary::FromBits, doubled);
        let positive = builder.binary(Binary::Less, x, float);
        let answer = builder.unary(Unary::BoolToB32, positive);
        assert_eq!(builder.type_of(answer), RegisterType::B32);
        let program = builder.finish(answer, ElementType::U32);
        let schedule = Schedule::of(&program);
        // The scalar and the constant keep their slots, and so does `x`, which is read at the end.
        assert_eq!(schedule.places, [0, 0, 1, 2, 3, 4, 3, 3, 4, 4]);
        assert_eq!((schedule.slots, schedule.slots(100).len()), (5, 5));
        assert!(schedule.slots(100).iter().all(|slot| slot.len() == 100));
    }

    #[test]
    fn blocks_are_as_long_as_their_slots_fit_the_caches() {
        let mut builder = ProgramBuilder::new(&[], &[]);
        let result = builder.constant(Constant::B32(1));
        let program = builder.finish(result, ElementType::U32);
        let block_len = |slots| Schedule { program: &program, places: Vec::new(), slots }.block_len();
        let expected = [
            (0, 1024),
            (1, 1024),
            (3, 1024),
            (16, 1024),
            (17, 960),
            (18, 896),
            (31, 512),
            (100, 128),
            (128, 128),
            (129, 64),
            (300, 64),
            (20_000, 64),
        ];
        assert_eq!(expected.map(|(slots, _)| (slots, block_len(slots))), expected);
    }
}
