//! Rows of a counted exchange.

use std::{fmt, ops::Range, sync::Arc};

/// Numbers that a message shows of each list.
const SHOWN: usize = 16;

/// The rows that a rank sends to each rank, and those that it gets from each, in the order of ranks.
#[derive(Clone, PartialEq, Eq)]
pub struct RowCounts {
    sent: Arc<[usize]>,
    /// None where the ranks are about to tell each other.
    received: Option<Arc<[usize]>>,
}

impl RowCounts {
    pub(super) fn new(sent: &[usize], received: Option<&[usize]>) -> Self {
        Self { sent: sent.into(), received: received.map(Arc::from) }
    }

    /// Rows for each rank.
    #[must_use]
    pub fn sent(&self) -> &[usize] {
        &self.sent
    }

    /// Rows from each rank; none if the rank does not know them yet.
    #[must_use]
    pub fn received(&self) -> Option<&[usize]> {
        self.received.as_deref()
    }

    /// The rows of the source that go to a rank.
    #[must_use]
    pub fn sent_to(&self, rank: usize) -> Range<usize> {
        rows(&self.sent, rank)
    }

    /// The rows of the result that come from a rank; empty if they are not known yet.
    #[must_use]
    pub fn received_from(&self, rank: usize) -> Range<usize> {
        rows(self.received.as_deref().unwrap_or_default(), rank)
    }

    /// Whether each of these, in the order of ranks, gets what the others send.
    pub(super) fn fit(all: &[&Self]) -> bool {
        let fits = |(rank, of): (usize, &&Self)| {
            let sent = all.iter().map(|other| other.sent.get(rank).copied());
            of.received().is_none_or(|received| sent.eq(received.iter().map(|&count| Some(count))))
        };
        all.iter().enumerate().all(fits)
    }
}

/// The elements of a list that lie side by side, numbered through, at one place.
fn rows(counts: &[usize], at: usize) -> Range<usize> {
    // Another process may tell any numbers.
    let begin = counts.iter().take(at).fold(0, |sum: usize, &count| sum.saturating_add(count));
    begin..begin.saturating_add(counts.get(at).copied().unwrap_or(0))
}

/// Prints `[1, 2] sent, [0, 4] received`.
impl fmt::Display for RowCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, counts: &[usize]| {
            let texts: Vec<String> = counts.iter().take(SHOWN).map(ToString::to_string).collect();
            let more = if counts.len() > SHOWN { ", …" } else { "" };
            write!(f, "[{}{more}]", texts.join(", "))
        };
        list(f, &self.sent)?;
        f.write_str(" sent")?;
        if let Some(received) = &self.received {
            f.write_str(", ")?;
            list(f, received)?;
            f.write_str(" received")?;
        }
        Ok(())
    }
}

impl fmt::Debug for RowCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let received = self.received.as_ref().map(|received| received.iter().sum::<usize>());
        write!(f, "RowCounts({} sent, received {received:?})", self.sent.iter().sum::<usize>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_fit_if_each_gets_what_is_sent() {
        let two = [RowCounts::new(&[1, 2], Some(&[1, 0])), RowCounts::new(&[0, 3], None)];
        assert!(RowCounts::fit(&two.each_ref()));
        let other = RowCounts::new(&[0, 3], Some(&[2, 4]));
        assert!(!RowCounts::fit(&[&two[0], &other]));
        assert_eq!((two[0].sent_to(1), two[0].received_from(1)), (1..3, 1..1));
        assert_eq!((two[1].sent_to(0), two[1].received_from(0)), (0..0, 0..0));
        assert_eq!(two[0].to_string(), "[1, 2] sent, [1, 0] received");
        assert_eq!(RowCounts::new(&[7; 20], None).to_string(), format!("[{}…] sent", "7, ".repeat(16)));
        assert_eq!(format!("{other:?}"), "RowCounts(3 sent, received Some(6))");
    }
}
