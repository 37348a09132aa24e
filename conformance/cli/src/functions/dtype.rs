//! Element types of functions, and NumPy's descriptions of them.

use devarray::function::ElementType;
use thiserror::Error;

/// An element type that only one side knows.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DtypeError {
    /// Functions do not compute on it.
    #[error("dtype {0}: functions take bool, integers of 8 to 64 bits, and floats of 16, 32 and 64 bits")]
    NotComputed(String),
    /// The bytes are in the order of another kind of machine.
    #[error("dtype {0}: elements in big-endian order; convert them first, with `astype({1})` in NumPy")]
    BigEndian(String, &'static str),
    /// NumPy has no such type.
    #[error("the result is {0}, for which NumPy has no dtype: write `cast(…, f32)` around the expression")]
    Unknown(ElementType),
}

const DESCRIPTIONS: [(ElementType, &str); 12] = [
    (ElementType::Bool, "'|b1'"),
    (ElementType::I8, "'|i1'"),
    (ElementType::U8, "'|u1'"),
    (ElementType::I16, "'<i2'"),
    (ElementType::U16, "'<u2'"),
    (ElementType::I32, "'<i4'"),
    (ElementType::U32, "'<u4'"),
    (ElementType::I64, "'<i8'"),
    (ElementType::U64, "'<u8'"),
    (ElementType::F16, "'<f2'"),
    (ElementType::F32, "'<f4'"),
    (ElementType::F64, "'<f8'"),
];

/// NumPy's description of an element type, as a header has it: `'<f4'`.
///
/// # Errors
///
/// NumPy has no such type.
pub fn descr(element_type: ElementType) -> Result<&'static str, DtypeError> {
    let found = DESCRIPTIONS.iter().find(|(known, _)| *known == element_type);
    found.map(|(_, descr)| *descr).ok_or(DtypeError::Unknown(element_type))
}

/// The little-endian element type that a header describes.
///
/// # Errors
///
/// Functions do not compute on it.
pub fn element_type(descr: &str) -> Result<ElementType, DtypeError> {
    let refused = || DtypeError::NotComputed(descr.to_owned());
    // Record types begin with a bracket.
    let quoted = |quote| descr.strip_prefix(quote)?.strip_suffix(quote);
    let text = quoted('\'').or_else(|| quoted('"')).ok_or_else(refused)?;
    let kind = text.trim_start_matches(['<', '>', '|', '=']);
    let &(element_type, known) = DESCRIPTIONS
        .iter()
        .find(|(_, known)| known[2..].trim_end_matches('\'') == kind)
        .ok_or_else(refused)?;
    if text.starts_with('>') && element_type.len_bytes() > 1 {
        return Err(DtypeError::BigEndian(descr.to_owned(), known));
    }
    Ok(element_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_has_its_description_and_others_have_none() {
        for element_type in ElementType::ALL {
            match descr(element_type) {
                Ok(text) => assert_eq!(super::element_type(text), Ok(element_type)),
                Err(error) => assert_eq!(
                    (element_type, error),
                    (ElementType::BF16, DtypeError::Unknown(ElementType::BF16))
                ),
            }
        }
        assert_eq!(element_type("'>u1'"), Ok(ElementType::U8));
        assert!(matches!(element_type("'>f4'"), Err(DtypeError::BigEndian(_, "'<f4'"))));
        for other in ["'<c8'", "'<f16'", "'<M8[s]'", "'|S4'", "[('a', '<f4')]", "'f4"] {
            assert!(matches!(element_type(other), Err(DtypeError::NotComputed(_))), "{other}");
        }
    }
}
