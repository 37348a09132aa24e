//! Comparisons with constants that the assembler takes for decided.
//!
//! It knows that an absolute value of an `f32` is not negative, but forgets that it may be NaN: it
//! makes `true` of `-2.5 < |x|` and of `0.0 <= |x|` (`kernels/MISCOMPILED.md`). It cannot look into
//! constants in memory.

use devarray::function::primitive::{Binary, Constant, Instruction, Register, Unary};

use super::Body;
use crate::function::text::{Reg, Text};

impl Body<'_> {
    /// The constant side of a comparison of `f32` with a value whose sign the assembler knows, from
    /// memory: in the order of the operands, with the other side unchanged.
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

    /// Whether the assembler may know the sign of a value: of an absolute value, its negative, and a
    /// selection of such.
    fn has_known_sign(&self, value: Register) -> bool {
        match self.program.instructions()[value.index()] {
            Instruction::Unary(Unary::Absolute, _) => true,
            Instruction::Unary(Unary::Negate, of) => self.has_known_sign(of),
            Instruction::Select(_, a, b) => self.has_known_sign(a) || self.has_known_sign(b),
            _ => false,
        }
    }
}
