//! Freed pages that are kept for later, by size.

use std::collections::BTreeMap;

use super::pages::Pages;

/// Pages that nobody uses.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    by_len: BTreeMap<usize, Vec<Pages>>,
    len_bytes: usize,
}

impl Kept {
    /// The number of bytes of all of them.
    pub(crate) fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    pub(crate) fn push(&mut self, pages: Pages) {
        self.len_bytes += pages.len_bytes();
        self.by_len.entry(pages.len_bytes()).or_default().push(pages);
    }

    /// Pages of at least `len_bytes` bytes and at most an eighth more: the smallest such, and the
    /// last one kept of that size.
    pub(crate) fn take(&mut self, len_bytes: usize) -> Option<Pages> {
        let most_bytes = len_bytes.saturating_add(len_bytes / 8);
        let (&found, _) = self.by_len.range(len_bytes..=most_bytes).next()?;
        self.take_of(found)
    }

    /// The largest pages.
    pub(crate) fn take_largest(&mut self) -> Option<Pages> {
        let (&found, _) = self.by_len.last_key_value()?;
        self.take_of(found)
    }

    fn take_of(&mut self, len_bytes: usize) -> Option<Pages> {
        let list = self.by_len.get_mut(&len_bytes)?;
        let pages = list.pop();
        if list.is_empty() {
            self.by_len.remove(&len_bytes);
        }
        self.len_bytes -= pages.as_ref().map_or(0, Pages::len_bytes);
        pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_reused_up_to_an_eighth_larger() {
        let mut kept = Kept::default();
        kept.push(Pages::new(9 << 20).expect("some"));
        assert!(kept.take((8 << 20) - (64 << 10)).is_none(), "more than an eighth");
        assert!(kept.take((9 << 20) + 1).is_none(), "too small");
        let pages = kept.take(8 << 20).expect("an eighth larger");
        assert_eq!((pages.len_bytes(), kept.len_bytes()), (9 << 20, 0));
        assert!(kept.take(8 << 20).is_none(), "it is taken");
    }
}
