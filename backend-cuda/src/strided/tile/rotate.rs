//! Bank rotation: which of the four words of its vector a thread gathers first. Used for elements
//! of one byte whose runs start anywhere.
//!
//! The threads of a warp read one byte at a time, each from another row: the next thread along a
//! run reads sixteen rows further on, and a thread of the next run some rows back, because the
//! first aligned vector of that run begins earlier. If both strides are odd, these are the same
//! words of each 16 bytes. In a cube with reversed axes, for example, stride times stride is 1
//! modulo 16, and four runs use only eight of the 32 banks. A thread that begins with another word
//! reads four rows further on, from other banks.

use super::{load_and_store::Tile, sizes::VECTOR_WORDS};
use crate::strided::params::TileParams;

pub(super) const WARP: u32 = 32;
const BANKS: u32 = 32;

/// The number of accesses that a warp needs for these bytes: different words of one bank are read
/// one after the other.
pub(super) fn bank_accesses(bytes: impl Iterator<Item = i64>) -> u32 {
    /// Means that the bank has no earlier word.
    const NONE: usize = usize::MAX;
    // The last word of each bank, and for each word the previous one in its bank.
    let (mut last, mut before) = ([NONE; BANKS as usize], [NONE; WARP as usize]);
    let (mut words, mut counts) = ([0; WARP as usize], [0_u32; BANKS as usize]);
    for (thread, byte) in bytes.enumerate() {
        let word = byte.div_euclid(4);
        let bank = usize::try_from(word.rem_euclid(BANKS.into())).unwrap_or(0);
        let mut same = last[bank];
        while same != NONE && words[same] != word {
            same = before[same];
        }
        if same == NONE {
            words[thread] = word;
            before[thread] = last[bank];
            last[bank] = thread;
            counts[bank] += 1;
        }
    }
    counts.into_iter().max().unwrap_or(0)
}

/// The first word of a thread, as a step for each run and for each vector of a run.
#[derive(Clone, Copy, Default)]
pub(super) struct Rotation {
    pub(super) by_run: u32,
    pub(super) by_vector: u32,
    /// Whether bytes within a word are rotated by the vector's number as well.
    pub(super) bytes: bool,
    /// The number of vectors of each group of threads; 0 if all threads have neighbouring vectors.
    pub(super) share: u32,
}

impl Rotation {
    pub(super) fn set(self, p: &mut TileParams) {
        (p.rotate_by_run, p.rotate_by_vector) = (self.by_run, self.by_vector);
        (p.rotate_bytes, p.share) = (u32::from(self.bytes), self.share);
    }
}

/// Sets the rotation with the fewest bank conflicts for rows `pitch` bytes apart, and the number of
/// threads along a run. Returns false if even the best rotation has too many conflicts.
pub(super) fn set(tile: &mut Tile<'_>, pitch: u32) -> bool {
    /// Two accesses for each word. If more are needed, a table of rows that are spread over the
    /// banks is cheaper.
    const MOST: u32 = 2 * VECTOR_WORDS;
    const LANES_LOG2: [u32; 2] = [3, 2];
    let plain = LANES_LOG2.map(|lanes_log2| (0, lanes_log2));
    let words = 1..VECTOR_WORDS * VECTOR_WORDS;
    let rotated = LANES_LOG2.map(|lanes_log2| words.clone().map(move |by| (by, lanes_log2)));
    let (mut best, mut least) = (None, MOST + 1);
    for (by, lanes_log2) in plain.into_iter().chain(rotated.into_iter().flatten()) {
        let (by_run, by_vector) = (by / VECTOR_WORDS, by % VECTOR_WORDS);
        let rotation = Rotation { by_run, by_vector, ..Rotation::default() };
        let accesses = accesses(tile, pitch, rotation, lanes_log2, least);
        if accesses < least {
            (best, least) = (Some((rotation, lanes_log2)), accesses);
        }
        // Rotation takes about 20 more instructions for each vector.
        let good = by == 0 && best.is_some();
        if good || least == VECTOR_WORDS {
            break;
        }
    }
    let Some((rotation, lanes_log2)) = best else { return false };
    rotation.set(&mut tile.p);
    tile.most_lanes_log2 = lanes_log2;
    true
}

/// Bank accesses of a warp for the first byte of each word of its vectors: at best
/// [`VECTOR_WORDS`], counted up to `enough`. The first run is assumed to be aligned.
fn accesses(tile: &Tile<'_>, pitch: u32, rotation: Rotation, lanes_log2: u32, enough: u32) -> u32 {
    let byte = |word: u32, thread: u32| {
        let (mut rest, lane) = (thread >> lanes_log2, thread % (1 << lanes_log2));
        let rotated = (word + rest * rotation.by_run + lane * rotation.by_vector) % VECTOR_WORDS;
        let (mut to, mut x) = (0_i64, 0_i64);
        for axis in tile.stores() {
            let c = i64::from(rest % axis.extent.divisor);
            rest /= axis.extent.divisor;
            to = to.wrapping_add(c.wrapping_mul(axis.dst));
            x += c * i64::from(axis.x);
        }
        let over = to & i64::from(tile.p.start_mask);
        let row = i64::from((lane * VECTOR_WORDS + rotated) * 4) - over;
        row * i64::from(pitch) + x
    };
    let of_word = |word| bank_accesses((0..WARP).map(|thread| byte(word, thread)));
    (0..VECTOR_WORDS).fold(0, |all, word| if all < enough { all + of_word(word) } else { all })
}
