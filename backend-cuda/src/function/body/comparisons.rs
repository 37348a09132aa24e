//! Comparisons with constants that the assembler wrongly takes for decided.
//!
//! The assembler knows that an absolute value of an `f32` is not negative, but forgets that it may
//! be NaN: it turns `-2.5 < |x|` and `0.0 <= |x|` into `true` (`kernels/MISCOMPILED.md`). It cannot
//! see constants in memory.

use devarray::function::primitive::{Binary, Constant, Instruction, Register, Unary};

use super::Body;
use crate::function::text::{Reg, Text};

impl Body<'_> {
    /// For a comparison of `f32` with a value whose sign the assembler knows, loads the constant
    /// side from memory. The operands keep their order, and the other side is unchanged.
    pub(super) fn compared(
        &self,
        text: &mut Text,
        op: Binary,
        of: impl Fn(Register) -> Reg,
        (a, b): (Register, Register),
    ) -> [Reg; 2] {
        let mut side = |own: Register, other: Register| match self.program.instructions()[own.index()] {
            Instruction::Constant(Constant::F32(bits)) if self.has_known_sign(other) => {
                text.constant_f32(bits)
            }
            _ => of(own),
        };
        match op {
            Binary::Less | Binary::LessEqual => [side(a, b), side(b, a)],
            _ => [of(a), of(b)],
        }
    }

    /// Whether the assembler may know the sign of a value: of an absolute value, of its negative, or
    /// of a selection of these.
    fn has_known_sign(&self, value: Register) -> bool {
        match self.program.instructions()[value.index()] {
            Instruction::Unary(Unary::Absolute, _) => true,
            Instruction::Unary(Unary::Negate, of) => self.has_known_sign(of),
            Instruction::Select(_, a, b) => self.has_known_sign(a) || self.has_known_sign(b),
            _ => false,
        }
    }
}
