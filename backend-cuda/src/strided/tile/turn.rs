//! Which of the four words of its vector a thread puts together first, of elements of one byte whose runs start anywhere.
//!
//! The threads of a warp read one byte at a time, each from a row of its own: a neighbour along a run sixteen rows further, one of the
//! next run as many rows further back as that run's first aligned vector begins before it. With odd strides on both sides those are the same
//! words of each 16 bytes: in a cube whose axes are turned round, stride times stride is 1 modulo 16, and four runs meet in eight
//! of the 32 banks. A thread that begins with another word reads four rows further, in other banks (`NOTES.md`, version 13).

use super::{Layout, place::VECTOR_WORDS};

pub(super) const WARP: u32 = 32;
const BANKS: u32 = 32;

/// What the threads of a warp access at once: words that differ and are in one bank, one after the other.
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

/// By how many words threads begin later, for each run and for each vector of one that they are further; and threads along a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) by_run: u32,
    pub(super) by_vector: u32,
    pub(super) lanes_log2: u32,
}

impl Turn {
    /// What lets threads meet least in banks, for rows `pitch` bytes apart in order; nothing if they meet too often all the same.
    pub(super) fn best(layout: &Layout<'_>, pitch: u32) -> Option<Self> {
        /// Two accesses for each byte. More cost more than to look bytes up in rows that are spread over the banks.
        const MOST: u32 = 2 * VECTOR_WORDS;
        let cost = |turn: &Self, least| turn.accesses(layout, pitch, least);
        let of_lanes = |lanes_log2| move |(by_run, by_vector)| Self { by_run, by_vector, lanes_log2 };
        // To turn takes some 20 instructions a vector more.
        let plain = [3, 2].map(|lanes_log2| of_lanes(lanes_log2)((0, 0)));
        if let Some(plain) = plain.into_iter().find(|turn| cost(turn, MOST + 1) <= MOST) {
            return Some(plain);
        }
        let turns =
            || (1..VECTOR_WORDS * VECTOR_WORDS).map(|turn| (turn / VECTOR_WORDS, turn % VECTOR_WORDS));
        let (mut best, mut least) = (None, MOST + 1);
        for turn in turns().map(of_lanes(3)).chain(turns().map(of_lanes(2))) {
            let accesses = cost(&turn, least);
            if accesses < least {
                (best, least) = (Some(turn), accesses);
            }
            if least == VECTOR_WORDS {
                break;
            }
        }
        best
    }

    /// How often banks are accessed for the first byte of each word of a warp's vectors, one after the other: [`VECTOR_WORDS`] at
    /// best, and not counted further than `enough`. Runs start where the first of them is aligned.
    fn accesses(self, layout: &Layout<'_>, pitch: u32, enough: u32) -> u32 {
        (0..VECTOR_WORDS)
            .fold(0, |all, word| if all < enough { all + self.accesses_of(layout, pitch, word) } else { all })
    }

    fn accesses_of(self, layout: &Layout<'_>, pitch: u32, word: u32) -> u32 {
        let p = &layout.params;
        let mut banks = Banks::new();
        for thread in 0..WARP {
            let (mut rest, lane) = (thread >> self.lanes_log2, thread % (1 << self.lanes_log2));
            let turned = (word + rest * self.by_run + lane * self.by_vector) % VECTOR_WORDS;
            let (mut to, mut x) = (0_i64, 0_i64);
            for axis in &p.store[..p.store_axes as usize] {
                let c = i64::from(rest % axis.extent.divisor);
                rest /= axis.extent.divisor;
                to = to.wrapping_add(c.wrapping_mul(axis.dst));
                x += c * i64::from(axis.x);
            }
            let over = to & i64::from(p.start_mask);
            let row = i64::from((lane * VECTOR_WORDS + turned) * 4) - over;
            banks.access(row * i64::from(pitch) + x);
        }
        banks.most()
    }
}
