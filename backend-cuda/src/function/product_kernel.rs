//! The kernels of products that functions can follow, as texts.

use devarray::function::ElementType;

use crate::{driver::Answer, packed::packed};

/// The kernel of a product that a function can follow.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ProductKernel {
    /// The major number of the device's compute capability.
    pub(crate) major: u32,
    pub(crate) name: &'static str,
    pub(crate) element_type: ElementType,
    /// Dynamic shared memory of a block.
    pub(crate) shared_bytes: u32,
    /// The number of words of the product's own parameter.
    pub(crate) own_words: usize,
}

/// The text of the kernels for a generation; `None` before 8.0.
fn image(major: u32, element_type: ElementType) -> Option<Answer<&'static [u8]>> {
    match (major, element_type) {
        (0..=7, _) => None,
        (9.., ElementType::F64) => Some(packed!("products/" "mapped_doubles" ".90.ptx").image()),
        _ => Some(packed!("products/" "mapped" ".80.ptx").image()),
    }
}

impl ProductKernel {
    /// Whether functions can follow products on a generation.
    pub(crate) fn is_there(major: u32) -> bool {
        major >= 8
    }

    /// The text that all kernels share, and the text of this kernel.
    pub(super) fn text(&self) -> Option<(String, &'static str)> {
        let text = std::str::from_utf8(image(self.major, self.element_type)?.ok()?).ok()?;
        let start = text.find(&format!(".visible .entry {}(", self.name))?;
        let entry = &text[start..];
        let entry = &entry[..entry.find("\n}\n")? + 3];
        let is_common = |line: &&str| {
            [".version", ".target", ".address_size", ".extern .shared"].iter().any(|of| line.starts_with(of))
        };
        let before = &text[..text.find(".visible .entry")?];
        let lines: Vec<&str> = before.lines().filter(is_common).collect();
        Some((lines.join("\n") + "\n", entry))
    }
}
