//! Small changes of bytes, drawn from a seed: like a fuzzer, but without observing the code.

/// Numbers near limits.
const EDGES: [u64; 12] =
    [0, 1, 7, 8, 0x7F, 0x80, 0xFF, 0x7FFF_FFFF, 0xFFFF_FFFF, i64::MAX as u64, i64::MIN as u64, u64::MAX];
/// Numbers and marks as they occur in texts.
const WORDS: [&str; 10] =
    ["0", "-1", "9223372036854775807", "-9223372036854775808", "1e400", "null", "[]", "(", ")", ",,"];

/// Draws inputs: each is a member of the corpus after one to four changes.
#[derive(Debug)]
pub struct Mutator<'a> {
    corpus: &'a [Vec<u8>],
    state: u64,
}

impl<'a> Mutator<'a> {
    /// Draws inputs near the members of a corpus, which must not be empty. A seed always gives the same
    /// sequence.
    ///
    /// # Panics
    ///
    /// If the corpus is empty.
    #[must_use]
    pub fn new(corpus: &'a [Vec<u8>], seed: u64) -> Self {
        assert!(!corpus.is_empty(), "inputs are drawn from others");
        Self { corpus, state: seed }
    }

    /// The next input.
    #[must_use]
    pub fn draw(&mut self) -> Vec<u8> {
        let mut input = self.member().to_vec();
        for _ in 0..=self.below(4) {
            self.change(&mut input);
        }
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        let end = (at + 1 + self.below(12)).min(input.len());
        match self.below(9) {
            0 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << (self.bits() % 8);
                }
            }
            1 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = self.bits() as u8;
                }
            }
            2 => drop(input.drain(at.min(end)..end)),
            3 => input.truncate(at),
            4 => {
                let repeated = input[at.min(end)..end].to_vec();
                input.splice(at..at, repeated);
            }
            5 => {
                let edge = EDGES[self.below(EDGES.len())].to_le_bytes();
                let width = [1, 2, 4, 8][self.below(4)].min(input.len() - at);
                input[at..at + width].copy_from_slice(&edge[..width]);
            }
            6 => {
                let word = WORDS[self.below(WORDS.len())];
                input.splice(at.min(end)..end, word.bytes());
            }
            7 => {
                let other = self.member();
                let from = self.below(other.len() + 1);
                let until = (from + 1 + self.below(24)).min(other.len());
                input.splice(at.min(end)..end, other[from.min(until)..until].iter().copied());
            }
            _ => {
                let other = self.member();
                let from = self.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
        }
    }

    fn member(&mut self) -> &'a [u8] {
        &self.corpus[self.below(self.corpus.len())]
    }

    fn below(&mut self, end: usize) -> usize {
        (self.bits() % end.max(1) as u64) as usize
    }

    /// SplitMix64.
    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }
}
