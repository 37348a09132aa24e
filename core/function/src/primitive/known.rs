//! Programs that take the result of another program as an input.

use std::collections::HashMap;

use super::{Instruction, Program, ProgramBuilder, Register, RegisterType, builder::moved};
use crate::ElementType;

impl Program {
    /// Returns the same program with the result of `known` as another input, after all others, instead of
    /// computing it. `known` is computed from the first inputs and scalars. `None` if this program does
    /// not compute that value, or the value is not of a float type.
    ///
    /// ```
    /// use devarray::function::{
    ///     ElementType::{F32, F64},
    ///     Function,
    /// };
    ///
    /// let quotient = Function::parse("(x0 + x1) / x2", &[F32; 3], &[])?.expand();
    /// let sum = Function::parse("x0 + x1", &[F32; 2], &[])?.expand();
    /// // A stored value has no NaN but one; a value that is divided may have any.
    /// assert!(quotient.with_known(&sum).is_none());
    /// assert_eq!(sum.with_known(&sum).unwrap().inputs(), [F32; 3]);
    /// let sum = Function::parse("x0 + x1", &[F64; 2], &[])?.expand();
    /// assert_eq!(sum.with_known(&sum).unwrap().inputs(), [F64; 3]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[must_use]
    pub fn with_known(&self, known: &Self) -> Option<Self> {
        let numbers = (0..).map(Register);
        let all: HashMap<Instruction, Register> = self.instructions().iter().copied().zip(numbers).collect();
        let mut places: Vec<Register> = Vec::with_capacity(known.instructions().len());
        for &instruction in known.instructions() {
            places.push(*all.get(&moved(instruction, &places))?);
        }
        let found = places[known.result().index()];
        let element_type = match self.register_type(found) {
            RegisterType::F32 => ElementType::F32,
            RegisterType::F64 => ElementType::F64,
            _ => return None,
        };
        let input = u8::try_from(self.inputs().len()).ok()?;
        let inputs = [self.inputs(), &[element_type]].concat();
        let mut builder = ProgramBuilder::new(&inputs, self.scalars());
        let mut places: Vec<Register> = Vec::with_capacity(self.instructions().len());
        for (at, &instruction) in self.instructions().iter().enumerate() {
            let is_known = at == found.index();
            let instruction = if is_known { Instruction::Input(input) } else { moved(instruction, &places) };
            places.push(builder.push(instruction));
        }
        Some(builder.finish(places[self.result().index()], self.result_type()))
    }
}
