//! The pseudo-random numbers of the random schedule.

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014): every
/// seed is good, the state is one word, and a seed always reproduces the same sequence.
#[derive(Debug, Clone)]
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound`, which is not 0. The bias is below `bound / 2^64`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let wide = u128::from(mix(self.0)) * bound as u128;
        usize::try_from(wide >> 64).expect("the high half of a product is below its other factor")
    }
}

/// The finalizer of SplitMix64: a bijection of words in which every input bit moves every output
/// bit.
pub(crate) const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published reference implementation's first outputs for seed 1234567.
    #[test]
    fn agrees_with_the_published_sequence() {
        let mut state = 1_234_567_u64;
        let expected = [6_457_827_717_110_365_317_u64, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        for value in expected {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            assert_eq!(mix(state), value);
        }
    }

    #[test]
    fn stays_below_the_bound_and_reaches_all_of_it() {
        let mut rng = SplitMix64::new(7);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[rng.below(5)] = true;
        }
        assert_eq!(seen, [true; 5]);
    }
}
