//! The output of `{:?}`: one short line on a value, without the objects that it keeps alive.

use std::{any, fmt};

use crate::backend::Device;

/// A device as errors and people name it: `mock:0`.
pub(crate) struct DeviceName<'d, D>(pub(crate) &'d D);

impl<D: Device> fmt::Display for DeviceName<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.0.info();
        write!(f, "{}:{}", info.backend, info.ordinal)
    }
}

impl<D: Device> fmt::Debug for DeviceName<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The name of a type without the paths to it.
pub(crate) fn type_name<T>() -> String {
    without_paths(any::type_name::<T>())
}

/// The name without the paths in it.
pub(crate) fn without_paths(full: &str) -> String {
    let (mut name, mut word) = (String::new(), 0);
    for letter in full.chars() {
        match letter {
            ':' => name.truncate(word),
            _ => {
                name.push(letter);
                if !letter.is_alphanumeric() && letter != '_' {
                    word = name.len();
                }
            }
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::type_name;

    #[test]
    fn types_are_named_without_paths() {
        assert_eq!(type_name::<f32>(), "f32");
        assert_eq!(type_name::<[[std::num::Wrapping<u8>; 2]; 3]>(), "[[Wrapping<u8>; 2]; 3]");
    }
}
