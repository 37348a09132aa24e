//! Prints functions with `{:?}` as one short line.

use std::fmt;

use super::{Function, interpreter::Reducing};

/// The number of characters of a function's text that are shown.
const SHOWN: usize = 60;

/// Prints the text, cut at `SHOWN` characters.
impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.to_string();
        match text.char_indices().nth(SHOWN) {
            Some((end, _)) => write!(f, "Function({} … -> {})", &text[..end], self.result_type()),
            None => write!(f, "Function({text} -> {})", self.result_type()),
        }
    }
}

/// Prints the program, and how its elements are combined.
impl fmt::Debug for Reducing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reducing({:?} of {:?})", self.combine, self.program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Combine, ElementType};

    #[test]
    fn a_reduction_says_how_it_combines_and_its_program() {
        let program = Function::parse("x0", &[ElementType::F32], &[]).expect("it parses").expand();
        let (combine, scalars) = (Combine::ArgMaximum, &[][..]);
        let work =
            Reducing { program: &program, scalars, combine, finish: &program, finish_scalars: scalars };
        assert_eq!(format!("{work:?}"), format!("Reducing(ArgMaximum of {program:?})"));
    }
}
