//! Element types, and their names in NumPy.

use super::{
    Header, NpyError,
    literal::{self, Literal},
    scalar::{NATIVE, Scalar},
    type_text::by_one_name,
};
use crate::array::{Bool, Element};

/// An element whose type NumPy has. Programs may implement it for records too.
pub trait NpyElement: Element {
    /// The type in Python's syntax, as the header of a file has it: `'<f4'` with its quotes, or a
    /// list of fields, for example `[('x', '<f4'), ('n', '<u4')]`. It describes [`Element::BYTES`]
    /// bytes.
    #[must_use]
    fn descr() -> String;

    /// The size of the words whose byte order may differ in a file; 0 if the order never matters. A
    /// complex number has two words.
    #[must_use]
    fn word_bytes() -> usize {
        0
    }
}

macro_rules! elements {
    ($($type:ty: $code:literal in words of $word:ty;)*) => {$(
        impl NpyElement for $type {
            fn descr() -> String {
                let order = if size_of::<$word>() == 1 { '|' } else { NATIVE };
                format!("'{order}{}'", $code)
            }

            fn word_bytes() -> usize {
                size_of::<$word>()
            }
        }
    )*};
}

elements! {
    Bool: "b1" in words of u8;
    u8: "u1" in words of u8;
    i8: "i1" in words of i8;
    u16: "u2" in words of u16;
    i16: "i2" in words of i16;
    u32: "u4" in words of u32;
    i32: "i4" in words of i32;
    u64: "u8" in words of u64;
    i64: "i8" in words of i64;
    f32: "f4" in words of f32;
    f64: "f8" in words of f64;
}

#[cfg(feature = "half")]
elements! {
    half::f16: "f2" in words of u16;
}

#[cfg(feature = "num-complex")]
elements! {
    num_complex::Complex<f32>: "c8" in words of f32;
    num_complex::Complex<f64>: "c16" in words of f64;
}

/// The conversion of a file's bytes to elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    AsTheyAre,
    /// Each word of this many bytes is reversed.
    Reversed(usize),
}

impl Words {
    /// Brings the bytes of whole elements into this machine's order.
    pub(super) fn settle(self, bytes: &mut [u8]) {
        if let Self::Reversed(word_bytes) = self {
            bytes.chunks_exact_mut(word_bytes).for_each(<[u8]>::reverse);
        }
    }
}

/// Checks that a file holds elements of `T`, and returns their byte order.
pub(super) fn words_of<T: NpyElement>(header: &Header) -> Result<Words, NpyError> {
    let expected = T::descr();
    let other = || NpyError::OtherDtype { expected: expected.clone(), found: header.descr.clone() };
    if header.item_bytes != T::BYTES {
        return Err(other());
    }
    let parsed = |text| literal::parse(text).map_err(NpyError::Header);
    match (parsed(&header.descr)?, parsed(&expected)?) {
        (Literal::Text(found), Literal::Text(expected)) => {
            let (Some(found), Some(expected)) = (Scalar::of(&found), Scalar::of(&expected)) else {
                return Err(other());
            };
            let word_bytes = T::word_bytes();
            match found.is_reversed == expected.is_reversed || word_bytes == 1 {
                _ if !found.is_like(&expected) => Err(other()),
                true => Ok(Words::AsTheyAre),
                false if word_bytes > 1 && T::BYTES.is_multiple_of(word_bytes) => {
                    Ok(Words::Reversed(word_bytes))
                }
                false => Err(other()),
            }
        }
        (found, expected) if by_one_name(&found) == by_one_name(&expected) => Ok(Words::AsTheyAre),
        _ => Err(other()),
    }
}
