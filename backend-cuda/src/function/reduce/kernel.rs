//! What decides the text of a kernel that reduces, and where things are in its parameter.

use std::sync::Arc;

use devarray::{
    backend::ReduceForm,
    function::{Combine, ElementType, primitive::Program},
};

use super::{columns::Division, normalize::Last, twice::First};

/// What of a reduction decides the text, besides the program of the elements and the operands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::function) struct Kernel {
    pub(super) form: Form,
    pub(super) combine: Combine,
    /// Of the elements that are combined.
    pub(super) element_type: ElementType,
    /// Whether the elements are parts that another launch made, and not a program's.
    pub(super) of_parts: bool,
    /// What is computed of the outcome; `None`: parts are stored for another launch.
    pub(super) finish: Option<Program>,
    /// Number of axes.
    pub(super) kept: u8,
    pub(super) reduced: u8,
    /// Whether a row has more than one segment.
    pub(super) segmented: bool,
    /// Whether the last block of a row to end combines the segments.
    pub(super) joined: bool,
    /// Whether a row has 2^31 elements or more.
    pub(super) long: bool,
    /// What is computed of a row before, and goes into this.
    pub(super) first: Option<Arc<First>>,
    /// What is computed of every element after that, which is then the result.
    pub(super) last: Option<Arc<Last>>,
}

/// How threads are dealt to elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::function) enum Form {
    /// `threads` combine a segment of a row, each of them 4 lanes side by side, whose elements are
    /// loaded at once where `vector` says so, `steps` times one after another.
    Rows { threads: usize, steps: usize, vector: bool },
    /// `threads` of a warp combine a short row, four elements each of `chunks` chunks, and `rows`
    /// of these at once.
    Short { threads: usize, rows: usize, chunks: usize, vector: bool },
    /// Threads lie across rows.
    Columns(Division),
    /// `threads` combine a row twice, of which they load four elements each, `loads` times.
    Twice { threads: usize, loads: usize },
    /// `threads` compute `pieces` times 4 elements each of a running form, or the total of them.
    Running { threads: usize, pieces: usize, what: Running },
}

/// What comes out of a pass of a running form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::function) enum Running {
    /// The total of each tile.
    Totals,
    /// What precedes each element, or that with the element. `carried`: what precedes a tile is
    /// there.
    Elements { form: ReduceForm, carried: bool },
    /// The same of all tiles in one launch, which wait for one another.
    Linked { form: ReduceForm },
}

/// Where things are in the parameter, in words of 8 bytes. The addresses of operands come first; the
/// first of them is the result, or parts that are stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    pub(super) operands: usize,
    /// Address of indices that are stored beside parts.
    pub(super) indices: usize,
    /// Address of what precedes tiles.
    pub(super) carry: usize,
    /// Elements of a row.
    pub(super) row_len: usize,
    /// Number of units that threads are dealt to; above it, segments or tiles of a row.
    pub(super) units: usize,
    /// Divider by the latter, and segments or tiles of a row.
    pub(super) segments_divider: usize,
    pub(super) segments: usize,
    /// Number of columns.
    pub(super) columns: usize,
    /// Blocks that lie side by side, and the divider by them.
    pub(super) across: usize,
    pub(super) across_divider: usize,
    /// The first scalar of the program, and of the finish.
    pub(super) scalars: usize,
    pub(super) finish_scalars: usize,
    /// The first word of axes.
    axes: usize,
    /// Number of axes that are kept, and that are reduced, the innermost being 0.
    pub(super) kept: usize,
    pub(super) reduced: usize,
}

impl Words {
    pub(super) const fn new(
        operands: usize,
        [scalars, finish_scalars]: [usize; 2],
        [kept, reduced]: [usize; 2],
    ) -> Self {
        let first_scalar = 2 * operands + 9;
        Self {
            operands,
            indices: operands,
            carry: operands + 1,
            row_len: operands + 2,
            units: operands + 3,
            segments_divider: operands + 4,
            segments: operands + 5,
            columns: operands + 6,
            across: operands + 7,
            across_divider: operands + 8,
            scalars: first_scalar,
            finish_scalars: first_scalar + scalars,
            axes: first_scalar + scalars + finish_scalars,
            kept,
            reduced,
        }
    }

    /// Stride of an operand from column to column.
    pub(super) const fn column(self, operand: usize) -> usize {
        self.operands + 9 + operand
    }

    /// Divider by the extent of an axis that is kept; behind it, the extent and strides.
    pub(super) const fn kept(self, axis: usize) -> usize {
        self.axes + axis * (2 + self.operands)
    }

    /// The same, of an axis that is reduced.
    pub(super) const fn reduced(self, axis: usize) -> usize {
        self.kept(self.kept + axis)
    }

    /// All of them.
    pub(super) const fn count(self) -> usize {
        self.reduced(self.reduced)
    }
}
