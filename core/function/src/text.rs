//! Functions as text: `x0 * k0 + where(x1 < 0, -x1, x1)`.

mod check;
mod lexer;
mod parser;
mod print;

use super::{ElementType, Function, FunctionError};

/// The longest text that is parsed, in bytes.
const MAX_TEXT_BYTES: usize = 1 << 18;

impl Function {
    /// Parses a text as a function of inputs and scalars of these types.
    ///
    /// The text has Python's precedence. Inputs are `x0`, scalars `k0`, positions `i0`; literals
    /// take the type of the operand next to them. The manual defines the language.
    ///
    /// # Errors
    ///
    /// The text does not parse ([`FunctionErrorKind::Text`](super::FunctionErrorKind::Text)), types
    /// do not fit ([`Type`](super::FunctionErrorKind::Type)), or it is too large
    /// ([`Size`](super::FunctionErrorKind::Size)), each with the place. A text that does not parse
    /// is always the first kind, whatever the types.
    pub fn parse(text: &str, inputs: &[ElementType], scalars: &[ElementType]) -> Result<Self, FunctionError> {
        if text.len() > MAX_TEXT_BYTES {
            let message = format!("the text has more than {MAX_TEXT_BYTES} bytes");
            return Err(FunctionError::new(super::FunctionErrorKind::Size, message));
        }
        let tree = parser::parse(text, inputs.len(), scalars.len())?;
        check::build(text, &tree, inputs, scalars)
    }
}
