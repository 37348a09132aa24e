//! Copies side by side in one launch, each with loops of its own.

use super::{
    super::{
        axes::{Problem, loops},
        kernel::Entry,
        launch::{Launch, THREADS},
        params::{FastDiv, MAX_PIECE_AXES, MAX_PIECES, Piece, PiecesParams},
    },
    JoinParams, narrowed,
};

/// Shorter rows are copied element by element, if they are few.
const MIN_ROW_BYTES: u32 = 16;
/// Copies of single elements that are few in any case.
const FEW_BYTES: usize = 256 << 10;
/// Blocks of a round, in which each copy has some: about as many as run at a time on the largest
/// devices.
const ROUND_BLOCKS: u32 = 1024;

/// How one of several copies is carried out.
#[derive(Debug)]
pub(super) enum Way {
    /// Rows that are contiguous on both sides, in chunks.
    Rows { problem: Problem, chunks: u32 },
    /// One element a thread.
    Elements(Problem),
}

impl Way {
    /// None for a copy that is better made alone; `total_bytes` of all copies.
    pub(super) fn of(problem: Problem, total_bytes: usize) -> Option<Self> {
        let few = problem.len_bytes <= FEW_BYTES.max(total_bytes / 16);
        let (inner, outer) = problem.axes.split_first()?;
        let contiguous = inner.src == problem.step() && inner.dst == problem.step();
        let row_bytes = inner.extent.checked_mul(problem.width)?;
        if contiguous && outer.len() <= MAX_PIECE_AXES && (row_bytes >= MIN_ROW_BYTES || !few) {
            let aligned = problem.dst.is_multiple_of(16) && outer.iter().all(|axis| axis.dst % 16 == 0);
            // Such rows are joined, so that few stores are partial.
            let follow = outer.first().is_some_and(|rows| rows.dst == i64::from(row_bytes));
            if follow && !aligned && !few {
                return None;
            }
            let over = if aligned { 0 } else { 16 - problem.width };
            let chunks = (row_bytes + over).div_ceil(16);
            return Some(Self::Rows { problem, chunks });
        }
        (few && problem.axes.len() <= MAX_PIECE_AXES).then_some(Self::Elements(problem))
    }

    fn problem(&self) -> &Problem {
        match self {
            Self::Rows { problem, .. } | Self::Elements(problem) => problem,
        }
    }

    /// Its parameters, its place among the blocks apart.
    fn piece(self, width: u32) -> Piece {
        let (problem, row_bytes, chunks) = match self {
            Self::Rows { problem, chunks } => {
                let row_bytes = problem.axes[0].extent * problem.width;
                (problem, row_bytes, chunks)
            }
            Self::Elements(problem) => (narrowed(problem, width), 0, 1),
        };
        let around = if row_bytes > 0 { &problem.axes[1..] } else { &problem.axes[..] };
        Piece {
            at: problem.operands(),
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

/// As few launches as there can be.
pub(super) fn launches(mut ways: Vec<Way>) -> Vec<Launch<JoinParams>> {
    // In the order of the destination, so that neighbours are written at about the same time.
    ways.sort_by_key(|way| way.problem().dst);
    let (mut left, mut launches) = (ways.len(), Vec::new());
    let mut ways = ways.into_iter();
    while left > 0 {
        let count = left.div_ceil(left.div_ceil(MAX_PIECES));
        launches.push(launch(ways.by_ref().take(count).collect()));
        left -= count;
    }
    launches
}

/// One launch for as many as one can have.
fn launch(ways: Vec<Way>) -> Launch<JoinParams> {
    let single = |way: &Way| matches!(way, Way::Elements(_)).then_some(way.problem().width);
    let width = ways.iter().filter_map(single).min().unwrap_or(4);
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
    Launch::new(Entry::JoinPieces, width, rounds_needed * round, JoinParams::Pieces(params))
}
