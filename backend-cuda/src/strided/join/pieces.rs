//! Copies side by side in one launch, each with loops of its own.

use super::{
    super::{
        kernel::Entry,
        params::{FastDiv, MAX_PIECE_AXES, MAX_PIECES, Piece, PiecesParams},
        strided_copy::{StridedCopy, chunks, loops, starts_aligned},
        strided_launch::{StridedLaunch, THREADS},
    },
    JoinParams,
};

/// Shorter rows are copied element by element if `few` holds.
const MIN_ROW_BYTES: u32 = 16;
/// The number of blocks in a round, in which each copy has some: about as many as the largest
/// devices run at a time.
const ROUND_BLOCKS: u32 = 1024;

/// The way in which one of several copies is carried out.
#[derive(Debug)]
pub(super) struct Way {
    copy: StridedCopy,
    /// Bytes of a row, if rows are contiguous on both sides; 0 means one element for each thread.
    row_bytes: u32,
    /// The number of chunks in which a row is copied.
    chunks: u32,
}

impl Way {
    /// `None` for a copy that is better made alone. `few`: the copy has only a small part of all
    /// bytes.
    pub(super) fn of(copy: StridedCopy, few: bool) -> Option<Self> {
        let (inner, outer) = copy.axes.split_first()?;
        let contiguous = inner.src == copy.step() && inner.dst == copy.step();
        let row_bytes = inner.extent.checked_mul(copy.width)?;
        if contiguous && outer.len() <= MAX_PIECE_AXES && (row_bytes >= MIN_ROW_BYTES || !few) {
            let aligned = starts_aligned(copy.at.dst, outer);
            // Such rows are joined, so that few stores are partial.
            let follow = outer.first().is_some_and(|rows| rows.dst == i64::from(row_bytes));
            if follow && !aligned && !few {
                return None;
            }
            let chunks = chunks(row_bytes, copy.width, aligned);
            return Some(Self { copy, row_bytes, chunks });
        }
        let single = few && copy.axes.len() <= MAX_PIECE_AXES;
        single.then_some(Self { copy, row_bytes: 0, chunks: 1 })
    }

    /// The parameters, except the range of blocks.
    fn piece(self, width: u32) -> Piece {
        let Self { copy, row_bytes, chunks } = self;
        let copy = if row_bytes > 0 { copy } else { copy.narrowed(width) };
        let around = &copy.axes[usize::from(row_bytes > 0)..];
        Piece {
            at: copy.at,
            axes: u32::try_from(around.len()).unwrap_or(u32::MAX),
            total: around.iter().map(|axis| axis.extent).product::<u32>() * chunks,
            row_bytes,
            share: 0,
            chunks: FastDiv::new(chunks),
            begin: 0,
            axis: loops(around),
        }
    }
}

/// The fewest launches possible.
pub(super) fn launches(mut ways: Vec<Way>) -> Vec<StridedLaunch<JoinParams>> {
    // Sorted by destination, so that neighbours are written at about the same time.
    ways.sort_by_key(|way| way.copy.at.dst);
    let mut launches = Vec::new();
    while !ways.is_empty() {
        let count = ways.len().div_ceil(ways.len().div_ceil(MAX_PIECES));
        let later = ways.split_off(count);
        launches.push(launch(ways));
        ways = later;
    }
    launches
}

/// One launch for as many copies as a launch can have.
fn launch(ways: Vec<Way>) -> StridedLaunch<JoinParams> {
    let single = ways.iter().filter(|way| way.row_bytes == 0);
    let width = single.map(|way| way.copy.width).min().unwrap_or(4);
    let mut piece = [Piece::default(); MAX_PIECES];
    let count = ways.len();
    for (to, way) in piece.iter_mut().zip(ways) {
        *to = way.piece(width);
    }
    let blocks = |piece: &Piece| piece.total.div_ceil(THREADS);
    let all: u32 = piece.iter().map(blocks).sum();
    let rounds = all.div_ceil(ROUND_BLOCKS).max(1);
    let mut end = [u32::MAX; MAX_PIECES];
    let (mut round, mut rounds_needed) = (0, 1);
    for (number, piece) in piece[..count].iter_mut().enumerate() {
        piece.share = blocks(piece).div_ceil(rounds);
        rounds_needed = rounds_needed.max(blocks(piece).div_ceil(piece.share));
        piece.begin = round;
        round += piece.share;
        if number + 1 < count {
            end[number] = round;
        }
    }
    let params = PiecesParams { round: FastDiv::new(round), unused: 0, end, piece };
    StridedLaunch::new(Entry::JoinPieces, width, rounds_needed * round, JoinParams::Pieces(params))
}
