//! What decides the text of a kernel that reduces, and where things are in its parameter.

use std::sync::Arc;

use devarray::{
    backend::ReduceForm,
    function::{Combine, ElementType, primitive::Program},
};

use super::{normalize::Last, twice::First};

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
    Rows { threads: u16, steps: u16, vector: bool },
    /// `threads` of a warp combine a short row, four elements each of `chunks` chunks, and `rows`
    /// of these at once.
    Short { threads: u16, rows: u16, chunks: u16, vector: bool },
    /// A thread combines `lanes` lanes one after another, `at_once` of them with `steps` elements
    /// each at once, of each of `vector` columns; `across` threads lie side by side, and
    /// `split` blocks share a segment. `single`: no lane has more than one element.
    Columns { across: u16, lanes: u16, at_once: u16, steps: u16, vector: u16, split: u16, single: bool },
    /// `threads` combine a row twice, of which they load four elements each, `loads` times.
    Twice { threads: u16, loads: u16 },
    /// `threads` compute `pieces` times 4 elements each of a running form, or the total of them.
    Running { threads: u16, pieces: u16, what: Running },
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

/// Where things are in the parameter, in words of 8 bytes. Axes are counted from the innermost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    pub(super) operands: usize,
    pub(super) scalars: usize,
    pub(super) finish_scalars: usize,
    pub(super) kept: usize,
    pub(super) reduced: usize,
}

impl Words {
    /// Address of an operand's first element; the first is the result, or parts that are stored.
    pub(super) const fn base(self, operand: usize) -> usize {
        operand
    }

    /// Address of indices that are stored beside parts.
    pub(super) const fn indices(self) -> usize {
        self.operands
    }

    /// Address of what precedes tiles.
    pub(super) const fn carry(self) -> usize {
        self.operands + 1
    }

    /// Elements of a row.
    pub(super) const fn row_len(self) -> usize {
        self.operands + 2
    }

    /// Number of units that threads are dealt to; above it, segments or tiles of a row.
    pub(super) const fn units(self) -> usize {
        self.operands + 3
    }

    /// Divider by the latter.
    pub(super) const fn segments_divider(self) -> usize {
        self.operands + 4
    }

    /// Segments or tiles of a row.
    pub(super) const fn segments(self) -> usize {
        self.operands + 5
    }

    /// Number of columns.
    pub(super) const fn columns(self) -> usize {
        self.operands + 6
    }

    /// Blocks that lie side by side.
    pub(super) const fn across(self) -> usize {
        self.operands + 7
    }

    /// Divider by the latter.
    pub(super) const fn across_divider(self) -> usize {
        self.operands + 8
    }

    /// Stride of an operand from column to column.
    pub(super) const fn column(self, operand: usize) -> usize {
        self.operands + 9 + operand
    }

    /// The first scalar of the program.
    pub(super) const fn scalars(self) -> usize {
        2 * self.operands + 9
    }

    /// The first scalar of the finish.
    pub(super) const fn finish_scalars(self) -> usize {
        self.scalars() + self.scalars
    }

    /// Divider by the extent of an axis that is kept; behind it, the extent and strides.
    pub(super) const fn kept(self, axis: usize) -> usize {
        self.finish_scalars() + self.finish_scalars + axis * (2 + self.operands)
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
