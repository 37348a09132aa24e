//! The form of a reducing kernel, which determines its text, and the layout of its parameter.

use std::sync::Arc;

use devarray::{
    backend::ReduceForm,
    function::{Combine, ElementType, interpreter::Reducing, primitive::Program},
};

use super::{
    reduce_operands::ReduceOperands,
    sizes::{SIDE, WARP},
};
use crate::function::text::BLOCK;

/// The key of a reduction's text, besides the program of its elements and the operands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::function) struct Kernel {
    pub(super) form: Form,
    pub(super) combine: Combine,
    /// The type in which elements are combined.
    pub(super) element_type: ElementType,
    /// Whether the elements are partials from another launch, instead of values of a program.
    pub(super) of_partials: bool,
    /// The function of the outcome. `None`: partials are stored for another launch.
    pub(super) finish: Option<Program>,
    /// Number of axes.
    pub(super) kept: u8,
    pub(super) reduced: u8,
    /// Whether a row has more than one segment.
    pub(super) segmented: bool,
    /// Whether the last block of a row combines the segments.
    pub(super) joined: bool,
    /// Whether a row has 2^31 elements or more.
    pub(super) long: bool,
    /// A first reduction of each row, whose outcome this one reads.
    pub(super) first: Option<Arc<First>>,
    /// A last function of every element, which gives the result.
    pub(super) last: Option<Arc<Last>>,
}

impl Kernel {
    /// A kernel for rows of one segment, which finishes the totals of elements.
    pub(super) fn new(form: Form, work: &Reducing<'_>, operands: &ReduceOperands) -> Option<Self> {
        Some(Self {
            form,
            combine: work.combine,
            element_type: work.program.result_type(),
            of_partials: false,
            finish: Some(work.finish.clone()),
            kept: u8::try_from(operands.kept.len()).ok()?,
            reduced: u8::try_from(operands.reduced.len()).ok()?,
            segmented: false,
            joined: false,
            long: operands.row_len() >= 1 << 31,
            first: None,
            last: None,
        })
    }

    /// The type of the combined value that is kept for each element, if there is one.
    pub(super) fn combined_type(&self) -> Option<ElementType> {
        self.last.as_ref().and_then(|last| last.combined_type())
    }

    /// Number of scalars of the finish.
    pub(super) fn finish_scalars(&self) -> usize {
        self.finish.as_ref().map_or(0, |finish| finish.scalars().len())
    }

    /// Whether launches say how much shared memory they need.
    pub(in crate::function) fn has_dynamic(&self) -> bool {
        matches!(self.form, Form::TwoReductions { storage: RowStorage::Shared { .. }, .. })
    }
}

/// The distribution of elements over threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::function) enum Form {
    /// `threads` combine a segment of a row, in `steps` steps. Each has 4 lanes side by side, and
    /// loads their elements at once if `vector`.
    Rows { threads: usize, steps: usize, vector: bool },
    /// `threads` of a warp combine `rows` short rows at once. Each has four elements of each of a
    /// row's `chunks` chunks.
    Short { threads: usize, rows: usize, chunks: usize, vector: bool },
    /// Threads lie across rows.
    Columns(Division),
    /// `threads` combine a row twice. Each takes four elements at a time.
    TwoReductions { threads: usize, storage: RowStorage },
    /// Threads compute a scan of a tile, or its total.
    Scan { tile: ScanTile, pass: ScanPass },
}

impl Form {
    /// Elements of a segment or of a tile.
    pub(super) fn segment_len(self) -> u64 {
        let len = if let Self::Scan { tile, .. } = self { tile.len() } else { Combine::SEGMENT };
        len as u64
    }

    /// Elements of an operand that a thread reaches side by side: of a row, or of columns.
    pub(super) fn side(self) -> u64 {
        let side = if let Self::Columns(division) = self { division.vector } else { SIDE };
        side as u64
    }

    /// Number of blocks of a launch, and number of blocks across the columns: 1 for rows.
    pub(super) fn blocks(self, operands: &ReduceOperands) -> (u64, u64) {
        let segments = operands.row_len().div_ceil(self.segment_len());
        let (threads, rows) = match self {
            Self::Columns(division) => {
                let across = operands.rows().div_ceil(division.across as u64);
                return (across * segments * division.split as u64, across);
            }
            Self::Short { threads, rows, .. } => (threads, rows),
            Self::Rows { threads, .. } | Self::TwoReductions { threads, .. } => (threads, 1),
            Self::Scan { tile, .. } => (tile.threads, 1),
        };
        let of_block = rows * (BLOCK as usize / threads);
        ((operands.rows() * segments).div_ceil(of_block as u64), 1)
    }
}

/// The division of a block. All numbers are powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::function) struct Division {
    /// Threads side by side.
    pub(super) across: usize,
    /// Lanes of a thread.
    pub(super) lanes: usize,
    /// The number of these that are loaded at once, and the elements of each.
    pub(super) at_once: usize,
    pub(super) steps: usize,
    /// Columns of a thread.
    pub(super) vector: usize,
    /// Blocks that share the lanes of a segment.
    pub(super) split: usize,
    /// Whether no lane has more than one element.
    pub(super) single: bool,
}

impl Division {
    /// Threads of a warp that have lanes side by side.
    pub(super) fn near(self) -> usize {
        WARP / self.across.min(WARP)
    }

    /// Groups of warps of a block that have other lanes.
    pub(super) fn groups(self) -> usize {
        BLOCK as usize / self.across.max(WARP)
    }
}

/// The place in which a thread keeps its elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::function) enum RowStorage {
    /// Registers hold all of `loads` steps.
    Registers { loads: usize },
    /// Shared memory holds `steps` steps at a time: all, unless there are `more`.
    Shared { steps: usize, more: bool },
}

/// The reduction that is computed first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::function) struct First {
    pub(super) program: Program,
    pub(super) combine: Combine,
    pub(super) finish: Program,
    /// The input of the second program that is this outcome.
    pub(super) input: u8,
}

/// The last computation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::function) struct Last {
    /// Reads the inputs of the second reduction, its outcome, and perhaps the value that it
    /// combined.
    pub(super) program: Program,
    /// The input that is the outcome of the second reduction.
    pub(super) outcome: u8,
    /// The input that is the combined value of the same element, if one is.
    pub(super) combined: Option<u8>,
}

impl Last {
    /// The type of the combined value that is kept for each element, if there is one.
    pub(super) fn combined_type(&self) -> Option<ElementType> {
        self.combined.map(|at| self.program.inputs()[usize::from(at)])
    }
}

/// The number of threads of a tile of a scan, and the number of times that each has four elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::function) struct ScanTile {
    pub(super) threads: usize,
    pub(super) pieces: usize,
}

impl ScanTile {
    /// Its elements.
    pub(super) fn len(self) -> usize {
        self.threads * self.pieces * SIDE
    }
}

/// The result of a pass of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::function) enum ScanPass {
    /// The total of each tile.
    Totals,
    /// The total before each element, exclusive or inclusive. `carried`: the total before
    /// each tile was computed earlier.
    Elements { form: ReduceForm, carried: bool },
    /// The elements in one launch, in which tiles wait for one another.
    LookBack { form: ReduceForm },
}

/// Offsets in the parameter, in words of 8 bytes. The addresses of operands come first;
/// the first of them is the result, or partials that are stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    pub(super) operands: usize,
    /// Address of indices that are stored beside partials.
    pub(super) indices: usize,
    /// Address of the totals before tiles.
    pub(super) carry: usize,
    /// Elements of a row.
    pub(super) row_len: usize,
    /// Number of units, such as rows or segments.
    pub(super) units: usize,
    /// Divider by the segments or tiles of a row, and their number.
    pub(super) segments_divider: usize,
    pub(super) segments: usize,
    /// Number of columns.
    pub(super) columns: usize,
    /// Number of blocks side by side, and the divider by it.
    pub(super) across: usize,
    pub(super) across_divider: usize,
    /// The first scalar of the program, and the first of the finish.
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

    /// Like `kept`, for an axis that is reduced.
    pub(super) const fn reduced(self, axis: usize) -> usize {
        self.kept(self.kept + axis)
    }

    /// Stride of an operand along the innermost axis that is reduced.
    pub(super) const fn along(self, operand: usize) -> usize {
        self.reduced(0) + 2 + operand
    }

    /// Number of words.
    pub(super) const fn count(self) -> usize {
        self.reduced(self.reduced)
    }
}
