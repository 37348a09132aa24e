//! Expressions as text: a text that parses is printed as a text that parses to the same function.

use devarray::function::{ElementType, Function};

/// Five bytes choose the types of three inputs and two scalars; the rest is the text.
pub fn run(data: &[u8]) {
    let Some((types, text)) = data.split_at_checked(5) else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let all = ElementType::ALL;
    let types: Vec<ElementType> = types.iter().map(|&byte| all[usize::from(byte) % all.len()]).collect();
    let (inputs, scalars) = types.split_at(3);
    match Function::parse(text, inputs, scalars) {
        Ok(function) => {
            let printed = function.to_string();
            if printed.starts_with("v0: ") {
                // A function that is about as deep as a text allows may be printed as a list of its
                // values.
                assert!(text.len() > 190, "{text:?} is printed as {printed:?}");
                return;
            }
            let again = Function::parse(&printed, inputs, scalars);
            let again = again.unwrap_or_else(|error| panic!("{text:?} is printed as {printed:?}: {error}"));
            assert_eq!(again, function, "{text:?} is printed as {printed:?}");
            assert_eq!(again.digest(), function.digest());
            let program = function.expand();
            assert_eq!(program.result_type(), function.result_type());
        }
        Err(error) => {
            // The message has a picture that marks a place of the text.
            let _ = error.to_string();
            if let Some(place) = error.place() {
                assert!(text.get(place.clone()).is_some(), "{place:?} is no place of {text:?}");
            }
        }
    }
}
