//! Lays out a printed array: brackets, lines, and ellipses, like NumPy's `array2string`.

use std::fmt::{self, Write};

/// Arrays with more elements are shortened.
const THRESHOLD: usize = 1000;
/// The number of positions shown at each end of a shortened axis.
const EDGE: usize = 3;
/// Columns of a line, NumPy's default.
const LINE_WIDTH: usize = 75;
/// Printed in place of the positions that are left out.
const ELLIPSIS: &str = "...";

/// The part of one axis that is printed.
#[derive(Clone, Copy)]
struct Shown {
    extent: usize,
    /// The number of positions printed: all, or the same number at both ends.
    count: usize,
}

impl Shown {
    fn is_cut(self) -> bool {
        self.count < self.extent
    }

    fn positions(self) -> impl Iterator<Item = usize> + Clone {
        let skipped = self.extent - self.count;
        (0..self.count).map(move |at| if at < EDGE { at } else { at + skipped })
    }
}

/// The part of each axis that is printed; `None` if there are no elements.
fn axes(shape: &[usize]) -> Option<Vec<Shown>> {
    let len: usize = shape.iter().product();
    let shown = |&extent: &usize| {
        let cut = len > THRESHOLD && extent > 2 * EDGE;
        Shown { extent, count: if cut { 2 * EDGE } else { extent } }
    };
    (len > 0).then(|| shape.iter().map(shown).collect())
}

/// The positions of the elements of a dense array that are printed, in C order.
pub(super) fn shown(shape: &[usize]) -> Vec<usize> {
    let Some(axes) = axes(shape) else { return Vec::new() };
    axes.into_iter().fold(vec![0], |before, axis| {
        before.iter().flat_map(|before| axis.positions().map(move |at| before * axis.extent + at)).collect()
    })
}

/// Writes words, one for each element [`shown`], in brackets.
///
/// An array without elements is `[]` for any shape; an array without axes is its bare word.
pub(super) fn write(out: &mut impl Write, shape: &[usize], words: &[String]) -> fmt::Result {
    let Some(axes) = axes(shape) else { return out.write_str("[]") };
    let rank = axes.len();
    let mut index = vec![0; rank];
    let mut row = Row::new(rank);
    repeat(out, '[', rank)?;
    for (count, word) in words.iter().enumerate() {
        let ended = index.iter().zip(&axes).rev().take_while(|(at, axis)| **at + 1 == axis.count).count();
        if let (1.., Some(axis)) = (count, rank.checked_sub(ended + 1)) {
            // The odometer's next step: the axes inside `axis` start at 0 again.
            index[axis] += 1;
            index[axis + 1..].fill(0);
            let ellipsis = axes[axis].is_cut() && index[axis] == EDGE;
            if ended > 0 {
                row.finish(out)?;
                row = Row::new(rank);
                repeat(out, ']', ended)?;
                if ellipsis {
                    between_blocks(out, axis, ended)?;
                    out.write_str(ELLIPSIS)?;
                }
                between_blocks(out, axis, ended)?;
                repeat(out, '[', ended)?;
            } else if ellipsis {
                row.push(out, ELLIPSIS)?;
            }
        }
        row.push(out, word)?;
    }
    row.finish(out)?;
    repeat(out, ']', rank)
}

/// Separates the positions of an axis with `inner` axes inside: that many new lines, then spaces to
/// the column of its blocks.
fn between_blocks(out: &mut impl Write, axis: usize, inner: usize) -> fmt::Result {
    repeat(out, '\n', inner)?;
    repeat(out, ' ', axis + 1)
}

fn repeat(out: &mut impl Write, character: char, count: usize) -> fmt::Result {
    (0..count).try_for_each(|_| out.write_char(character))
}

/// The words of the last axis, broken into lines.
struct Row {
    /// The column at which each line starts: the brackets.
    indent: usize,
    /// The column reached, padding included.
    column: usize,
    /// Spaces owed: the padding of the last word, which is dropped at the end of a line.
    owed: usize,
    is_empty: bool,
}

impl Row {
    fn new(indent: usize) -> Self {
        Self { indent, column: indent, owed: 0, is_empty: true }
    }

    fn push(&mut self, out: &mut impl Write, word: &str) -> fmt::Result {
        let width = word.chars().count();
        if !self.is_empty {
            self.column += 1;
            self.owed += 1;
            // Leaves room for the closing brackets, which are as many as the indent.
            if self.column + width > LINE_WIDTH.saturating_sub(self.indent) {
                out.write_char('\n')?;
                (self.column, self.owed) = (self.indent, self.indent);
            }
        }
        self.is_empty = false;
        repeat(out, ' ', self.owed)?;
        let visible = word.trim_end_matches(' ');
        out.write_str(visible)?;
        self.owed = width - visible.chars().count();
        self.column += width;
        Ok(())
    }

    fn finish(&self, out: &mut impl Write) -> fmt::Result {
        repeat(out, ' ', self.owed)
    }
}
