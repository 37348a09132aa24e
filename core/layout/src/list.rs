//! Prints lists with `{:?}`, here and wherever shapes are shown, as one short line.

use std::fmt;

/// The most items that are printed; further ones are left out.
const ITEMS: usize = 8;

/// Prints the first few items of a list.
#[doc(hidden)]
pub struct List<'l, T>(pub &'l [T]);

impl<T: fmt::Debug> fmt::Debug for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.get(ITEMS..) {
            Some([_, ..]) => {
                let first: Vec<String> = self.0[..ITEMS].iter().map(|item| format!("{item:?}")).collect();
                write!(f, "[{}, … {}]", first.join(", "), self.0.len())
            }
            _ => self.0.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::List;

    #[test]
    fn long_lists_are_cut() {
        assert_eq!(format!("{:?}", List(&[1; 8])), "[1, 1, 1, 1, 1, 1, 1, 1]");
        assert_eq!(format!("{:?}", List(&[1; 9])), "[1, 1, 1, 1, 1, 1, 1, 1, … 9]");
    }
}
