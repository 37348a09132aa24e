//! Cuts the work of products into blocks, and the blocks into pieces for threads.

use std::ops::Range;

use devarray_function::Workers;

use crate::{
    block::{evenly, in_place, packed_columns},
    kind::Kind,
    operands::Products,
};

/// A piece with fewer multiplications is not worth a thread.
const MIN_PIECE: usize = 1 << 18;
/// The number of rows of a block, which all tile heights divide.
const ROWS: usize = 24;
/// About how many bytes of vectors a block's columns have.
const VECTOR_BYTES: usize = 192;
/// The number of rows of a block if its sums are not in the result.
const ROWS_ASIDE: usize = 256;
/// A matrix of at most this many columns, in bytes of numbers, is transposed, so that lanes go
/// along its rows.
const NARROW_BYTES: usize = 16;

/// The blocks of all products of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// The number of rows and columns in a block.
    each: [usize; 2],
    /// The number of blocks down and across a product.
    grid: [usize; 2],
    blocks: usize,
    pub(crate) pieces: usize,
    /// Whether there are too few pieces for the threads.
    pub(crate) lacks_pieces: bool,
}

impl Plan {
    /// Brings products to the fastest form by transposing and joining them, and cuts them.
    pub(crate) fn new<K: Kind>(products: &mut Products, workers: &dyn Workers) -> Self {
        products.join_rows();
        products.turn();
        products.join_rows();
        products.turn();
        if is_turned::<K>(products) {
            products.turn();
        }
        let ([rows, depth, columns], count) = (products.extents, products.count());
        let wanted = match workers.count() {
            0 | 1 => 1,
            several => {
                let work = [rows, depth.max(1), columns].into_iter().fold(count, usize::saturating_mul);
                (work / MIN_PIECE).clamp(1, 4 * several)
            }
        };
        let aside = !in_place::<K>(depth, products.strides[2][1]);
        let vectors = VECTOR_BYTES / size_of::<K::Number>();
        let wide = packed_columns::<K::Number>();
        let needed = wanted.div_ceil(count);
        let mut across = if aside { columns.div_ceil(wide) } else { needed.min(columns.div_ceil(wide)) };
        let mut down = needed.div_ceil(across).min(rows.div_ceil(ROWS));
        across = across.max(needed.div_ceil(down).min(columns.div_ceil(vectors)));
        if aside {
            down = down.max(rows.div_ceil(ROWS_ASIDE));
        }
        let each =
            [evenly(rows, rows.div_ceil(down), ROWS), evenly(columns, columns.div_ceil(across), vectors)];
        let grid = [rows.div_ceil(each[0]), columns.div_ceil(each[1])];
        let blocks = count * grid[0] * grid[1];
        let pieces = wanted.min(blocks);
        Self { each, grid, blocks, pieces, lacks_pieces: pieces < wanted }
    }

    /// The numbers of the blocks of a piece.
    pub(crate) fn blocks(&self, piece: usize) -> Range<usize> {
        let start = |piece: usize| {
            let (each, more) = (self.blocks / self.pieces, self.blocks % self.pieces);
            piece * each + piece.min(more)
        };
        start(piece)..start(piece + 1)
    }

    /// The product that a block belongs to, and the block's rows and columns.
    pub(crate) fn block(&self, number: usize, [rows, _, columns]: [usize; 3]) -> (usize, [Range<usize>; 2]) {
        let [down, across] = self.grid;
        let (product, down_at, across_at) =
            (number / (down * across), number / across % down, number % across);
        let range = |at: usize, each: usize, all: usize| at * each..all.min((at + 1) * each);
        (product, [range(down_at, self.each[0], rows), range(across_at, self.each[1], columns)])
    }
}

/// Whether lanes go along the rows of the result.
fn is_turned<K: Kind>(products: &Products) -> bool {
    let ([rows, _, columns], [down, across]) = (products.extents, products.strides[2]);
    let narrow = |extent: usize| extent * size_of::<K::Number>() <= NARROW_BYTES;
    if narrow(columns) && rows > columns {
        true
    } else if narrow(rows) && columns >= rows {
        false
    } else {
        across != 1 && down == 1
    }
}
