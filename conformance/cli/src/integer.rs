//! Integers of any size, as files and command lines write them.

use std::{fmt, num::IntErrorKind, str::FromStr};

use serde::{Deserialize, Deserializer, de};

/// An integer. An integer beyond 64 bits becomes the nearest that fits: it is out of every range,
/// and slices clamp it like any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Integer(pub(crate) isize);

/// 2^63; no float from here on has a fractional part.
const BEYOND: f64 = 9_223_372_036_854_775_808.0;

impl FromStr for Integer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(number) => Ok(Self(number)),
            Err(error) => match error.kind() {
                IntErrorKind::PosOverflow => Ok(Self(isize::MAX)),
                IntErrorKind::NegOverflow => Ok(Self(isize::MIN)),
                _ => Err(format!("{text:?} is no integer")),
            },
        }
    }
}

impl<'de> Deserialize<'de> for Integer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = Integer;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an integer")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Integer, E> {
                let nearest = if number < 0 { isize::MIN } else { isize::MAX };
                Ok(Integer(isize::try_from(number).unwrap_or(nearest)))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Integer, E> {
                Ok(Integer(isize::try_from(number).unwrap_or(isize::MAX)))
            }

            // The parser passes integers beyond 64 bits as floats.
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Integer, E> {
                match number {
                    _ if number >= BEYOND => Ok(Integer(isize::MAX)),
                    _ if number <= -BEYOND => Ok(Integer(isize::MIN)),
                    // The parser passes the integer -0 as a float, too.
                    _ if number.to_bits() == (-0.0_f64).to_bits() => Ok(Integer(0)),
                    _ => Err(E::invalid_type(de::Unexpected::Float(number), &self)),
                }
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

/// One integer.
pub(crate) fn one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<isize, D::Error> {
    Integer::deserialize(deserializer).map(|Integer(number)| number)
}

/// One integer, or null.
pub(crate) fn perhaps<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<isize>, D::Error> {
    Ok(Option::<Integer>::deserialize(deserializer)?.map(|Integer(number)| number))
}

/// A list of integers.
pub(crate) fn many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<isize>, D::Error> {
    let numbers = Vec::<Integer>::deserialize(deserializer)?;
    Ok(numbers.into_iter().map(|Integer(number)| number).collect())
}

/// A list of integers, or null.
pub(crate) fn perhaps_many<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<isize>>, D::Error> {
    let numbers = Option::<Vec<Integer>>::deserialize(deserializer)?;
    Ok(numbers.map(|numbers| numbers.into_iter().map(|Integer(number)| number).collect()))
}

#[cfg(test)]
mod tests {
    use super::Integer;

    #[test]
    fn integers_beyond_64_bits_are_the_nearest_that_fit() {
        for (text, number) in [
            ("-7", -7),
            ("-0", 0),
            ("9223372036854775807", isize::MAX),
            ("9223372036854775808", isize::MAX),
            ("18446744073709551616", isize::MAX),
            ("99999999999999999999999999", isize::MAX),
            ("-9223372036854775808", isize::MIN),
            ("-9223372036854775809", isize::MIN),
            ("-99999999999999999999999999", isize::MIN),
        ] {
            assert_eq!(text.parse(), Ok(Integer(number)), "{text}");
            assert_eq!(serde_json::from_str::<Integer>(text).map_err(|e| e.to_string()), Ok(Integer(number)));
        }
        for text in ["1.5", "1.0", "\"1\"", "true", "[]", "null"] {
            assert!(
                text.parse::<Integer>().is_err() && serde_json::from_str::<Integer>(text).is_err(),
                "{text}"
            );
        }
    }
}
