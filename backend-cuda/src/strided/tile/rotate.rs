//! Which of the four words of its vector a thread puts together first, of elements of one byte
//! whose runs start anywhere.
//!
//! The threads of a warp read one byte at a time, each from a row of its own: a neighbour along a
//! run sixteen rows further, one of the next run as many rows further back as that run's first
//! aligned vector begins before it. With odd strides on both sides those are the same words of each
//! 16 bytes: in a cube whose axes are rotated round, stride times stride is 1 modulo 16, and four
//! runs meet in eight of the 32 banks. A thread that begins with another word reads four rows
//! further, in other banks.

use super::{place::VECTOR_WORDS, sides::Sides};

pub(super) const WARP: u32 = 32;
const BANKS: u32 = 32;

/// What the threads of a warp access at once: words that differ and are in one bank, one after the
/// other.
pub(super) struct Banks {
    seen: [[i64; WARP as usize]; BANKS as usize],
    counts: [usize; BANKS as usize],
}

impl Banks {
    pub(super) fn new() -> Self {
        Self { seen: [[0; WARP as usize]; BANKS as usize], counts: [0; BANKS as usize] }
    }

    /// A thread accesses a byte.
    pub(super) fn access(&mut self, byte: i64) {
        let word = byte.div_euclid(4);
        let bank = usize::try_from(word.rem_euclid(BANKS.into())).unwrap_or(0);
        let count = &mut self.counts[bank];
        if !self.seen[bank][..*count].contains(&word) {
            self.seen[bank][*count] = word;
            *count += 1;
        }
    }

    /// Accesses that takes.
    pub(super) fn most(&self) -> u32 {
        self.counts.iter().max().and_then(|&most| u32::try_from(most).ok()).unwrap_or(0)
    }
}

/// By how many words threads begin later, for each run and for each vector of one that they are
/// further; and whether by a byte for each vector as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Rotation {
    pub(super) by_run: u32,
    pub(super) by_vector: u32,
    pub(super) bytes: bool,
}

impl Rotation {
    pub(super) const fn new(by_run: u32, by_vector: u32) -> Self {
        Self { by_run, by_vector, bytes: false }
    }
}

/// What lets threads meet least in banks, for rows `pitch` bytes apart in order, and the logarithm
/// of the threads along a run then; nothing if they meet too often all the same.
pub(super) fn best(sides: &Sides<'_>, pitch: u32) -> Option<(Rotation, u32)> {
    /// Two accesses for each byte. More cost more than to look bytes up in rows that are spread
    /// over the banks.
    const MOST: u32 = 2 * VECTOR_WORDS;
    let cost = |&(rotation, lanes_log2): &(Rotation, u32), enough| {
        accesses(sides, pitch, rotation, lanes_log2, enough)
    };
    // To rotate takes some 20 instructions a vector more.
    let plain = [3, 2].map(|lanes_log2| (Rotation::default(), lanes_log2));
    if let Some(plain) = plain.into_iter().find(|plain| cost(plain, MOST + 1) <= MOST) {
        return Some(plain);
    }
    let all = 1..VECTOR_WORDS * VECTOR_WORDS;
    let of_lanes = |lanes_log2| {
        all.clone().map(move |by| (Rotation::new(by / VECTOR_WORDS, by % VECTOR_WORDS), lanes_log2))
    };
    let (mut best, mut least) = (None, MOST + 1);
    for rotation in of_lanes(3).chain(of_lanes(2)) {
        let accesses = cost(&rotation, least);
        if accesses < least {
            (best, least) = (Some(rotation), accesses);
        }
        if least == VECTOR_WORDS {
            break;
        }
    }
    best
}

/// How often banks are accessed for the first byte of each word of a warp's vectors, one after the
/// other: [`VECTOR_WORDS`] at best, and not counted further than `enough`. Runs start where the
/// first of them is aligned.
fn accesses(sides: &Sides<'_>, pitch: u32, rotation: Rotation, lanes_log2: u32, enough: u32) -> u32 {
    let of_word = |word: u32| {
        let mut banks = Banks::new();
        for thread in 0..WARP {
            let (mut rest, lane) = (thread >> lanes_log2, thread % (1 << lanes_log2));
            let rotated = (word + rest * rotation.by_run + lane * rotation.by_vector) % VECTOR_WORDS;
            let (mut to, mut x) = (0_i64, 0_i64);
            for axis in &sides.store {
                let c = i64::from(rest % axis.extent.divisor);
                rest /= axis.extent.divisor;
                to = to.wrapping_add(c.wrapping_mul(axis.dst));
                x += c * i64::from(axis.x);
            }
            let over = to & i64::from(sides.start_mask);
            let row = i64::from((lane * VECTOR_WORDS + rotated) * 4) - over;
            banks.access(row * i64::from(pitch) + x);
        }
        banks.most()
    };
    (0..VECTOR_WORDS).fold(0, |all, word| if all < enough { all + of_word(word) } else { all })
}
