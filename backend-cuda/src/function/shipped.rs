//! Kernels that are shipped as machine code, found by their text.
//!
//! `kernels/shipped.py` writes the file: the texts of common functions, and what NVIDIA's assembler
//! makes of each. A text that is there word for word need not be compiled; for any other, and on
//! other devices, nothing is found. So the file can be out of date and never wrong.

use std::io::Read;

use flate2::read::DeflateDecoder;

static IMAGE: &[u8] = include_bytes!("../../kernels/functions/shipped.bin");

/// Major numbers of the generations that machine code is shipped for. It runs on all devices of its
/// generation.
const GENERATIONS: [u32; 3] = [7, 8, 9];

/// Most bytes of a text, or of its code.
const MOST_BYTES: u64 = 1 << 20;

/// The machine code of a text for devices of generation `major.x`, aligned so that the driver may
/// read it in words.
pub(super) fn machine_code(text: &str, major: u32) -> Option<Vec<u64>> {
    let generation = GENERATIONS.iter().position(|&known| known == major)?;
    let [shipped, codes @ ..] = find(fnv(text))?;
    // Two texts can have one hash.
    if inflated(shipped)? != text.as_bytes() {
        return None;
    }
    let code = inflated(codes[generation])?;
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_ne_bytes(word)
    };
    Some(code.chunks(8).map(word).collect())
}

/// The text of that hash, and its code for each generation, all deflated.
fn find(wanted: u64) -> Option<[&'static [u8]; 1 + GENERATIONS.len()]> {
    let number = |word: usize| {
        let bytes = IMAGE.get(8 * word..8 * word + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let count = usize::try_from(number(0)?).ok()?;
    let words = 2 + GENERATIONS.len();
    let mut rest = IMAGE.get(8 * (1 + words * count)..)?;
    for first in (0..count).map(|nth| 1 + words * nth) {
        let mut parts = [&[][..]; 1 + GENERATIONS.len()];
        for (nth, part) in parts.iter_mut().enumerate() {
            (*part, rest) = rest.split_at_checked(usize::try_from(number(first + 1 + nth)?).ok()?)?;
        }
        if number(first)? == wanted {
            return Some(parts);
        }
    }
    None
}

fn inflated(deflated: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    DeflateDecoder::new(deflated).take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
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
        let count = usize::try_from(u64::from_le_bytes(IMAGE[..8].try_into().unwrap())).unwrap();
        let hash = |nth: usize| IMAGE[8 + 40 * nth..][..8].try_into().unwrap();
        let text = |nth| find(u64::from_le_bytes(hash(nth))).and_then(|[text, ..]| inflated(text)).unwrap();
        (0..count).map(|nth| String::from_utf8(text(nth)).unwrap()).collect()
    }

    #[test]
    fn each_text_has_machine_code_of_each_generation() {
        let texts = texts();
        assert!(texts.len() > 200);
        for text in &texts {
            assert!(text.contains(".visible .entry map("), "{text}");
            for major in GENERATIONS {
                let code = machine_code(text, major).unwrap();
                let bytes: Vec<u8> = code.into_iter().flat_map(u64::to_ne_bytes).collect();
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
