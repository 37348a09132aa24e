//! Kernels that are shipped as machine code, found by their text.
//!
//! `kernels/shipped.py` writes the file: the texts of common functions, and the machine code that
//! NVIDIA's assembler makes of each, all compressed. A text that is in the file word for word need
//! not be compiled; any other text, and any other device, finds nothing. So the file may be out of
//! date but never wrong.

use std::{iter, sync::OnceLock};

use crate::packed::Image;

static SHIPPED: &[u8] = include_bytes!("../../kernels/functions/shipped.bin");

/// The major numbers of the generations for which machine code is shipped. The code runs on all
/// devices of its generation.
const GENERATIONS: [u32; 3] = [7, 8, 9];

/// A text, and its code for each generation.
const PARTS: usize = 1 + GENERATIONS.len();

/// A hash and its data, compressed.
type Row = (u64, [&'static [u8]; PARTS]);

/// The machine code of a text for devices of generation `major.x`.
pub(super) fn machine_code(text: &str, major: u32) -> Option<Image> {
    let generation = GENERATIONS.iter().position(|&known| known == major)?;
    let hash = fnv(text);
    let row = rows()?.skip(1).find(|&(known, _)| known == hash)?;
    // Two texts can have one hash.
    if unpacked(&row, 0)?.bytes() != text.as_bytes() {
        return None;
    }
    unpacked(&row, 1 + generation)
}

/// The valid rows of the file. The first one holds dictionaries.
fn rows() -> Option<impl Iterator<Item = Row>> {
    let number = |word: usize| {
        let bytes = SHIPPED.get(8 * word..8 * word + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let count = usize::try_from(number(0)?).ok()?;
    let mut rest = SHIPPED.get(8 * (1 + (1 + PARTS) * count)..)?;
    let mut firsts = (0..count).map(|nth| 1 + (1 + PARTS) * nth);
    Some(iter::from_fn(move || {
        let first = firsts.next()?;
        let mut parts = [&[][..]; PARTS];
        for (nth, part) in parts.iter_mut().enumerate() {
            (*part, rest) = rest.split_at_checked(usize::try_from(number(first + 1 + nth)?).ok()?)?;
        }
        Some((number(first)?, parts))
    }))
}

fn unpacked((_, parts): &Row, part: usize) -> Option<Image> {
    static DICTIONARIES: [OnceLock<Option<Image>>; PARTS] = [const { OnceLock::new() }; PARTS];
    let dictionary = DICTIONARIES[part].get_or_init(|| Image::of(rows()?.next()?.1[part], &[]));
    Image::of(parts[part], dictionary.as_ref()?.bytes())
}

/// FNV-1a of 64 bits.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text that is shipped, by the file alone.
    fn texts() -> Vec<String> {
        let text = |row| String::from_utf8(unpacked(&row, 0).unwrap().bytes().into()).unwrap();
        let texts: Vec<String> = rows().unwrap().skip(1).map(text).collect();
        assert_eq!(texts.len() + 1, usize::from(SHIPPED[0]) + 256 * usize::from(SHIPPED[1]));
        texts
    }

    #[test]
    fn each_text_has_machine_code_of_each_generation() {
        let texts = texts();
        assert!(texts.len() > 200);
        for text in &texts {
            assert!(text.contains(".visible .entry map("), "{text}");
            for major in GENERATIONS {
                let code = machine_code(text, major).unwrap();
                let bytes = code.bytes();
                assert!(bytes.starts_with(b"\x7fELF"));
                // The generation is in the low byte of the flags of the header.
                assert_eq!(u32::from(bytes[48]) / 10, major);
            }
        }
    }

    #[test]
    fn any_other_text_has_none() {
        let text = texts().swap_remove(0);
        assert!(machine_code(&text, 9).is_some());
        assert!(machine_code(&text, 6).is_none() && machine_code(&text, 10).is_none());
        assert!(machine_code(&format!("{text} "), 9).is_none());
        assert!(machine_code(&text.replacen("mov", "mvo", 1), 9).is_none());
    }
}
