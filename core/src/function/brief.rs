//! What `{:?}` writes of functions: one short line.

use std::fmt;

use super::{Function, interpreter::Reducing};
use crate::backend::{MapOp, Operand, ReduceOp};

/// Characters of a function's text that are shown.
const SHOWN: usize = 60;

/// Its text, cut at `SHOWN` characters.
impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.to_string();
        match text.char_indices().nth(SHOWN) {
            Some((end, _)) => write!(f, "Function({} … -> {})", &text[..end], self.result_type()),
            None => write!(f, "Function({text} -> {})", self.result_type()),
        }
    }
}

/// The program and how its elements are combined.
impl fmt::Debug for Reducing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reducing({:?} of {:?})", self.combine, self.program)
    }
}

/// The shape of the elements.
impl<B> fmt::Debug for Operand<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operand({:?})", self.layout())
    }
}

/// The program, and the shape of the result.
impl<B> fmt::Debug for MapOp<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MapOp({} inputs to {:?})", self.inputs().len(), self.result().layout())
    }
}

/// How elements are combined, and the shape of the result.
impl<B> fmt::Debug for ReduceOp<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReduceOp({:?} to {:?})", self.combine(), self.result().layout())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::{Combine, ElementType};

    #[test]
    fn a_reduction_says_how_it_combines_and_its_program() {
        let program = Function::parse("x0", &[ElementType::F32], &[]).expect("it parses").expand();
        let (combine, scalars) = (Combine::ArgMaximum, &[][..]);
        let work =
            Reducing { program: &program, scalars, combine, finish: &program, finish_scalars: scalars };
        assert_eq!(format!("{work:?}"), format!("Reducing(ArgMaximum of {program:?})"));
    }
}
