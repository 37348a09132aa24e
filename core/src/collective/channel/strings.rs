//! Text of other processes that lives as long as this one.
//!
//! Names of operations and types, and places in sources, are static where they come from. Here they are kept
//! for ever, each once, up to a limit that no program comes near.

use std::{collections::BTreeSet, sync::Mutex};

use crate::{
    collective::call::{MOST_NAME_BYTES, Place},
    lock::lock,
};

/// Bytes of a text. The names of longer types are cut by whoever sends them.
pub(super) const MOST_BYTES: usize = MOST_NAME_BYTES;
/// Texts that are kept.
const MOST_TEXTS: usize = 4096;
/// Places that are kept. Later ones are unknown.
const MOST_PLACES: usize = 4096;

static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
static PLACES: Mutex<BTreeSet<&'static Place>> = Mutex::new(BTreeSet::new());

/// The text, kept for ever. None if it is too long, or too many are kept.
pub(super) fn kept(text: &str) -> Option<&'static str> {
    let mut texts = lock(&TEXTS);
    if let Some(&kept) = texts.get(text) {
        return Some(kept);
    }
    if text.len() > MOST_BYTES || texts.len() >= MOST_TEXTS {
        return None;
    }
    let kept: &'static str = Box::leak(text.into());
    texts.insert(kept);
    Some(kept)
}

/// The line of a call of another process.
pub(super) fn site(file: &str, line: u32, column: u32) -> Option<&'static Place> {
    let file = kept(file)?;
    let (place, mut places) = (Place { file, line, column }, lock(&PLACES));
    if let Some(&kept) = places.get(&place) {
        return Some(kept);
    }
    if places.len() >= MOST_PLACES {
        return None;
    }
    let kept: &'static Place = Box::leak(Box::new(place));
    places.insert(kept);
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_once() {
        let (one, other) = (kept("all_reduce").unwrap(), kept(&String::from("all_reduce")).unwrap());
        assert_eq!(one.as_ptr(), other.as_ptr());
        assert_eq!(kept(&"x".repeat(MOST_BYTES + 1)), None);
        let place = Place { file: "src/main.rs", line: 3, column: 5 };
        assert_eq!(site("src/main.rs", 3, 5), Some(&place));
    }
}
