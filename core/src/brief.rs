//! The output of `{:?}`: one short line on a value, without the objects that it keeps alive.

use std::{any, fmt};

use crate::{
    backend::Device,
    layout::{Layout, List, NdLayout},
    operations::Elements,
};

/// A device as errors and people name it: `mock:0`.
pub(crate) struct On<'d, D>(pub(crate) &'d D);

impl<D: Device> fmt::Display for On<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.0.info();
        write!(f, "{}:{}", info.backend, info.ordinal)
    }
}

impl<D: Device> fmt::Debug for On<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Typed elements: `Array<f32>[2, 3, 4] C on mock:0`.
pub(crate) fn typed<T, D: Device>(
    f: &mut fmt::Formatter<'_>,
    kind: &str,
    elements: &Elements<'_, D>,
) -> fmt::Result {
    write!(f, "{kind}<{}>", type_name::<T>())?;
    placed(f, elements)
}

/// Elements of some bytes: `ErasedArray<4 bytes>[2, 3, 4] C on mock:0`.
pub(crate) fn erased<D: Device>(
    f: &mut fmt::Formatter<'_>,
    kind: &str,
    elements: &Elements<'_, D>,
) -> fmt::Result {
    write!(f, "{kind}<{} bytes>", elements.item_bytes)?;
    placed(f, elements)
}

fn placed<D: Device>(f: &mut fmt::Formatter<'_>, elements: &Elements<'_, D>) -> fmt::Result {
    write!(f, "{} on {}", Form(elements.layout), On(&elements.allocation.core.device))
}

/// Shape and order, or strides where there is no order: `[2, 3, 4] C`.
struct Form<'l>(&'l Layout);

impl fmt::Display for Form<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", List(self.0.shape()))?;
        match (self.0.is_c_contiguous(), self.0.is_f_contiguous()) {
            (true, _) => f.write_str(" C"),
            (false, true) => f.write_str(" F"),
            (false, false) => write!(f, " strides {:?}", List(self.0.strides())),
        }
    }
}

/// The name of a type without the paths to it.
pub(crate) fn type_name<T>() -> String {
    let (mut name, mut word) = (String::new(), 0);
    for letter in any::type_name::<T>().chars() {
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
