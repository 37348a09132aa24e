//! Finds the positions of elements that are not zero.
#![allow(unsafe_code)] // writes the rows of each piece from one thread only

use std::ops::Range;

use crate::{
    kind::Kind,
    workers::{Cut, Shared, Workers, collect, each},
};

/// Finds elements that are not zero, in a shape of any rank.
#[derive(Debug)]
pub(crate) struct Found {
    cut: Cut,
    /// The count of each piece.
    counts: Vec<usize>,
}

impl Found {
    pub(crate) fn new<K: Kind>(x: &[K::Bits], workers: &dyn Workers) -> Self {
        let cut = Cut::fine(x.len(), workers, 1 << 14);
        let counts = collect(workers, cut.pieces, |piece| {
            // Up to 255 elements are counted in bytes, many at once.
            let chunks = x[cut.range(piece)].chunks(255);
            chunks
                .map(|chunk| usize::from(chunk.iter().map(|&bits| u8::from(!K::is_zero(bits))).sum::<u8>()))
                .sum()
        });
        Self { cut, counts }
    }

    pub(crate) fn count(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Writes the positions of the first elements, row by row, as many as fit.
    pub(crate) fn write<K: Kind>(
        &self,
        x: &[K::Bits],
        shape: &[usize],
        result: &mut [i64],
        workers: &dyn Workers,
    ) {
        let rank = shape.len();
        if rank == 0 {
            return;
        }
        let capacity = result.len() / rank;
        let mut next = 0;
        let starts: Vec<usize> = self
            .counts
            .iter()
            .map(|&count| {
                next += count;
                next - count
            })
            .collect();
        let result = Shared::new(result);
        each(workers, self.cut.pieces, |piece| {
            let rows = starts[piece].min(capacity)..(starts[piece] + self.counts[piece]).min(capacity);
            // SAFETY: pieces write rows of their own
            let rows = unsafe { result.part(rows.start * rank..rows.end * rank) };
            if let &[_] = shape {
                line::<K>(x, self.cut.range(piece), rows);
            } else {
                rows_of::<K>(x, self.cut.range(piece), shape, rows);
            }
        });
    }
}

/// Writes positions along one axis.
fn line<K: Kind>(x: &[K::Bits], range: Range<usize>, rows: &mut [i64]) {
    let (mut found, mut at) = (0, range.start);
    // No branch per element, as long as there is room for each.
    while at < range.end && found < rows.len() {
        let until = range.end.min(at + (rows.len() - found));
        for (at, &bits) in (at..).zip(&x[at..until]) {
            rows[found] = at.cast_signed() as i64;
            found += usize::from(!K::is_zero(bits));
            if found == rows.len() {
                return;
            }
        }
        at = until;
    }
}

/// Writes positions along several axes.
fn rows_of<K: Kind>(x: &[K::Bits], range: Range<usize>, shape: &[usize], rows: &mut [i64]) {
    let rank = shape.len();
    let inner = shape[rank - 1];
    let mut rows = rows.chunks_exact_mut(rank);
    let mut at = range.start;
    let mut prefix = vec![0_i64; rank - 1];
    while at < range.end {
        let (mut outer, first) = (at / inner, at % inner);
        for (place, &extent) in prefix.iter_mut().zip(&shape[..rank - 1]).rev() {
            *place = (outer % extent).cast_signed() as i64;
            outer /= extent;
        }
        let len = (inner - first).min(range.end - at);
        for (k, &bits) in (first..).zip(&x[at..at + len]) {
            if !K::is_zero(bits) {
                let Some(row) = rows.next() else { return };
                row[..rank - 1].copy_from_slice(&prefix);
                row[rank - 1] = k.cast_signed() as i64;
            }
        }
        at += len;
    }
}
