//! Counts operations that a profiled stream captures.

use std::fmt::Write as _;

use super::log::Operation;

/// The counted operations of a capture, by name, in the order of first use.
#[derive(Debug, Default)]
pub(super) struct CapturedOperations {
    counts: Vec<(&'static str, usize)>,
    pub(super) len_bytes: usize,
}

impl CapturedOperations {
    pub(super) fn add(&mut self, operation: &Operation) {
        let (name, len_bytes) = operation.name_and_bytes();
        self.len_bytes += len_bytes;
        match self.counts.iter_mut().find(|(of, _)| *of == name) {
            Some((_, count)) => *count += 1,
            None => self.counts.push((name, 1)),
        }
    }

    /// `7 operations: 4 map, 2 reduce, 1 fill`.
    pub(super) fn text(&self) -> String {
        let all: usize = self.counts.iter().map(|(_, count)| count).sum();
        let mut text = format!("{all} operations");
        for (at, (name, count)) in self.counts.iter().enumerate() {
            let before = if at == 0 { ": " } else { ", " };
            let _ = write!(text, "{before}{count} {name}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;

    #[test]
    fn operations_are_counted_in_the_order_of_the_first_of_each() {
        let mut operations = CapturedOperations::default();
        assert_eq!(operations.text(), "0 operations");
        for (name, len_bytes) in [("map", 8), ("fill", 4), ("map", 16)] {
            operations.add(&Operation::new(name, Location::caller()).bytes(len_bytes));
        }
        operations.add(&Operation::new("wait", Location::caller()));
        assert_eq!(
            (operations.text().as_str(), operations.len_bytes),
            ("4 operations: 2 map, 1 fill, 1 wait", 28)
        );
    }
}
