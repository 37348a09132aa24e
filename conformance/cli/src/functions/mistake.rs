//! Mistakes in an expression, with a picture of their place.

use devarray::function::{ElementType, Function, FunctionError};
use thiserror::Error;

/// The mistake in an expression: one line, and below it the text with a mark at the place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expression: {line}")]
pub struct Mistake {
    line: String,
    picture: Option<String>,
}

impl Mistake {
    /// The text with a mark under the place, in two lines; none if the mistake has no place.
    #[must_use]
    pub fn picture(&self) -> Option<&str> {
        self.picture.as_deref()
    }

    fn new(text: &str, error: &FunctionError) -> Self {
        let place = error.place().and_then(|place| text.get(..place.start));
        let line = match place {
            Some(before) => format!("{}, at character {}", error.message(), before.chars().count() + 1),
            None => error.message().to_owned(),
        };
        let picture = error.to_string().split_once('\n').map(|(_, picture)| picture.to_owned());
        Self { line, picture }
    }
}

/// The function in a text.
///
/// # Errors
///
/// The text is no function.
pub fn parsed(text: &str, inputs: &[ElementType], scalars: &[ElementType]) -> Result<Function, Mistake> {
    Function::parse(text, inputs, scalars).map_err(|error| Mistake::new(text, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_counted_in_characters() {
        let mistake = parsed("x0 + x7", &[ElementType::F32], &[]).unwrap_err();
        assert!(
            mistake.to_string().starts_with("expression: ") && mistake.to_string().ends_with("character 6")
        );
        assert_eq!(mistake.picture(), Some("  x0 + x7\n       ^^"));
    }
}
