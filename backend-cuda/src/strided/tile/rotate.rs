//! Bank rotation: which of the four words of its vector a thread gathers first. For elements of one
//! byte whose runs start anywhere.
//!
//! The threads of a warp read one byte at a time, each from another row: the next thread along a
//! run sixteen rows further, a thread of the next run some rows back, because that run's first
//! aligned vector begins earlier. With odd strides on both sides, these are the same words of each
//! 16 bytes. In a cube with reversed axes, for example, stride times stride is 1 modulo 16, and
//! four runs use only eight of the 32 banks. A thread that begins with another word reads four rows
//! further, from other banks.

use super::{place::VECTOR_WORDS, sides::Sides};

pub(super) const WARP: u32 = 32;
const BANKS: u32 = 32;

/// The bank accesses of a warp: different words of one bank are read one after the other.
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

/// The first word of a thread, as a step for each run and for each vector of a run; and whether
/// bytes within a word are rotated by the vector's number as well.
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

/// The rotation with the fewest bank conflicts for rows `pitch` bytes apart, with the logarithm of
/// the threads along a run; nothing if even that has too many.
pub(super) fn best(sides: &Sides<'_>, pitch: u32) -> Option<(Rotation, u32)> {
    /// Two accesses for each byte. With more, a table of rows that are spread over the banks is
    /// cheaper.
    const MOST: u32 = 2 * VECTOR_WORDS;
    let cost = |&(rotation, lanes_log2): &(Rotation, u32), enough| {
        accesses(sides, pitch, rotation, lanes_log2, enough)
    };
    // Rotation takes about 20 more instructions a vector.
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

/// Bank accesses of a warp for the first byte of each word of its vectors: [`VECTOR_WORDS`] at
/// best, counted up to `enough`. The first run is taken as aligned.
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
