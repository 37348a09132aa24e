//! The class of a launch, which determines its kernel's text. All other values are in the
//! parameter.

use std::sync::Arc;

use devarray::function::primitive::Instruction;

use super::{axes::Axes, operands::Kind, product_kernel::ProductKernel, reduce::Kernel};

/// The kernel for a program and one kind of layouts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Class {
    pub(super) family: Family,
    /// The number of outer axes. Every thread, or every block, computes its position along each.
    pub(super) outer: u8,
    /// Whether distances in bytes need 64 bits.
    pub(super) wide: bool,
    pub(super) operands: Vec<(Kind, Access)>,
}

impl Class {
    pub(super) fn new(
        family: Family,
        axes: &Axes,
        accesses: impl IntoIterator<Item = Access>,
    ) -> Option<Self> {
        let outer = u8::try_from(axes.outer.rank()).ok()?;
        let operands = axes.outer.kinds.iter().copied().zip(accesses).collect();
        Some(Self { family, outer, wide: axes.are_wide(), operands })
    }

    /// The operand that an instruction reads.
    pub(super) fn operand(&self, instruction: Instruction) -> usize {
        let found = self.operands.iter().position(|(kind, _)| kind.is_read_by(instruction));
        found.expect("what a program reads is an operand")
    }
}

/// The distribution of elements over threads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Family {
    /// A thread computes `vector` consecutive elements along the inner axis, at each of the `deal`
    /// positions of another, short axis.
    Lines { vector: u8, deal: u8 },
    /// A block computes a box: `wide` elements along the result's inner axis by `high` along
    /// another. Inputs that are fastest along the other axis go through shared memory.
    Tiles { wide: u16, high: u16 },
    /// Threads bring a few bytes to the host.
    Fetch,
    /// The function follows a product: its text is part of that product's kernel.
    Product(ProductKernel),
    /// Elements are combined.
    Reduce(Arc<Kernel>),
}

/// A thread's access to the elements of an operand. Widths count the elements of one access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Access {
    /// One element serves all elements of a thread.
    Uniform,
    /// There is one element for each position along the short axis.
    Each,
    /// Elements side by side along the inner axis.
    Span { width: u8 },
    /// Elements side by side along the inner axis, the same at all positions along the short axis.
    Row { width: u8 },
    /// Elements side by side in the reverse direction of the axis.
    Reversed { width: u8 },
    /// Every second, third or fourth element. The elements between them are loaded, too.
    Picked { step: u8, width: u8 },
    /// Elements side by side, first along the short axis, then along the inner one; or backwards
    /// along the short one.
    Dealt { width: u8, backwards: bool },
    /// Elements go through shared memory: they lie side by side along the other axis of a tile.
    Transposed { width: u8 },
    /// The position along the inner axis, if one thread takes the whole axis: a constant for each
    /// of its elements.
    Counted,
    /// Elements are accessed one by one.
    Single,
}

/// Where values are in the parameter, in words of 8 bytes. The addresses of operands come first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    operands: usize,
    /// The first scalar argument.
    pub(super) scalars: usize,
    /// Low half: extent of the inner axis. High half: elements that the first thread leaves out, or
    /// the extent of the other axis.
    pub(super) extent: usize,
    /// The divider by the number of pieces along the inner axis.
    pub(super) pieces_divider: usize,
    /// Low half: the number of these pieces. High half: the number of threads.
    pub(super) pieces: usize,
    /// Divider by the number of tiles along the other axis, and that number.
    pub(super) tiles_divider: usize,
    pub(super) tiles: usize,
    /// Number of words.
    pub(super) count: usize,
}

impl Words {
    pub(super) const fn new(operands: usize, scalars: usize, outer: usize) -> Self {
        let extent = 3 * operands + scalars;
        Self {
            operands,
            scalars: 3 * operands,
            extent,
            pieces_divider: extent + 1,
            pieces: extent + 2,
            tiles_divider: extent + 3,
            tiles: extent + 4,
            count: extent + 5 + outer * (2 + operands),
        }
    }

    /// The stride of an operand along the inner axis.
    pub(super) const fn inner(self, operand: usize) -> usize {
        self.operands + operand
    }

    /// Its stride along the short axis, or along the other axis of a tile.
    pub(super) const fn other(self, operand: usize) -> usize {
        2 * self.operands + operand
    }

    /// The divider by the extent of an outer axis; the innermost is axis 0. The extent and the
    /// strides of all operands follow.
    pub(super) const fn axis(self, axis: usize) -> usize {
        self.extent + 5 + axis * (2 + self.operands)
    }
}
