//! Counts elements by value, where there are only a few values.

use std::ops::Range;

use crate::workers::{Cut, Workers, collect};

/// Up to this many values, four tables are counted in turn, so that equal neighbours do not wait
/// for each other.
const FEW: usize = 1 << 11;

/// Counts the values of the positions below `len`. Each value is below `values`.
pub(crate) fn totals(
    len: usize,
    values: usize,
    workers: &dyn Workers,
    value: impl Fn(usize) -> usize + Sync,
) -> Vec<usize> {
    counted(len, values, workers, |at| Some(value(at)), |_| {})
}

/// Like [`totals`], but only for positions whose value is below `values`. `missed` is called with
/// the first other position of each piece.
pub(crate) fn counted(
    len: usize,
    values: usize,
    workers: &dyn Workers,
    value: impl Fn(usize) -> Option<usize> + Sync,
    mut missed: impl FnMut(usize),
) -> Vec<usize> {
    // Each piece has a table, which should be smaller than the piece.
    let cut =
        if workers.count() * values <= len { Cut::new(len, workers) } else { Cut::new(len, &crate::Alone) };
    let tables = collect(workers, cut.pieces, |piece| table(cut.range(piece), values, &value));
    let mut totals = vec![0; values];
    for (table, wrong) in tables {
        totals.iter_mut().zip(&table).for_each(|(total, &count)| *total += count as usize);
        wrong.into_iter().for_each(&mut missed);
    }
    totals
}

fn table(
    range: Range<usize>,
    values: usize,
    value: impl Fn(usize) -> Option<usize>,
) -> (Vec<u32>, Option<usize>) {
    let mut wrong = None;
    let mut none = |at: usize| {
        wrong.get_or_insert(at);
    };
    if values > FEW {
        let mut counts = vec![0_u32; values];
        for at in range {
            match value(at).and_then(|value| counts.get_mut(value)) {
                Some(count) => *count += 1,
                None => none(at),
            }
        }
        return (counts, wrong);
    }
    let mut four = [const { Vec::new() }; 4].map(|_: Vec<u32>| vec![0_u32; values]);
    let mut at = range.start;
    while at + 4 <= range.end {
        for (lane, counts) in four.iter_mut().enumerate() {
            match value(at + lane).and_then(|value| counts.get_mut(value)) {
                Some(count) => *count += 1,
                None => none(at + lane),
            }
        }
        at += 4;
    }
    for at in at..range.end {
        match value(at).and_then(|value| four[0].get_mut(value)) {
            Some(count) => *count += 1,
            None => none(at),
        }
    }
    let [mut sum, rest @ ..] = four;
    for other in rest {
        sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += other);
    }
    (sum, wrong)
}
