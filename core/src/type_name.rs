//! Names of types, as people read them.

use std::any;

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
