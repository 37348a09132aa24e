//! Prints errors as one line.

use std::error::Error as StdError;

use devarray::{Error, npy::NpyError};

/// An error and its causes, as `{:#}` prints them. Errors of the library are printed without the
/// line of this program that made the call, which means nothing to the user.
#[must_use]
pub fn one_line(error: &anyhow::Error) -> String {
    let texts: Vec<String> = error.chain().map(text).collect();
    texts.join(": ")
}

fn text(cause: &(dyn StdError + 'static)) -> String {
    let of_library = match cause.downcast_ref() {
        Some(NpyError::Device(error)) => Some(error),
        _ => cause.downcast_ref::<Error>(),
    };
    of_library.map_or_else(|| cause.to_string(), |error| error.clone().without_location().to_string())
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;
    use devarray::LayoutError;

    use super::*;

    #[test]
    fn a_line_of_this_program_is_left_out() {
        let refused = || Err::<(), _>(Error::from(LayoutError::NeedsCopy));
        for error in [refused().context("x.npy"), refused().map_err(NpyError::Device).context("x.npy")] {
            let error = error.unwrap_err();
            assert!(format!("{error:#}").contains("one_line.rs"), "the twin: {error:#}");
            assert_eq!(one_line(&error), format!("x.npy: {}", LayoutError::NeedsCopy));
        }
    }
}
