//! Poison: bytes that tell where they come from.

use std::fmt;

use crate::allocation::BufferId;

/// Every aligned word of poison begins with these bits, which make it a NaN as `f32`, and two words
/// a NaN as `f64`.
const MARK: u32 = 0xFFF8_0000;
const KIND_SHIFT: u32 = 17;
const NUMBER_MASK: u64 = 0x1_FFFF;
const GENERATION_MASK: u64 = 0x7_FFFF;

/// The pattern that fills memory that nobody has written: eight bytes, repeated from the start of
/// the memory.
///
/// It is a NaN as `f32` and `f64`, and its upper half also as `f16` and `bf16`, so sums show it
/// too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Poison {
    /// The reason why the bytes are there.
    pub kind: PoisonKind,
    /// The number of the buffer, or of the operation for a
    /// [`Destination`](PoisonKind::Destination), modulo 2¹⁷.
    pub number: u64,
    /// The generation of the buffer, modulo 2¹⁹; 0 for a destination.
    pub generation: u64,
}

/// The reason why memory holds poison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoisonKind {
    /// Device memory that was allocated and never written.
    Fresh,
    /// Device memory that was freed.
    Freed,
    /// Host memory that a download will write, but has not written yet.
    Destination,
}

impl Poison {
    pub(crate) fn of_buffer(kind: PoisonKind, id: BufferId) -> Self {
        Self { kind, number: id.number & NUMBER_MASK, generation: id.generation & GENERATION_MASK }
    }

    pub(crate) fn of_destination(operation: u64) -> Self {
        Self { kind: PoisonKind::Destination, number: operation & NUMBER_MASK, generation: 0 }
    }

    /// The eight bytes.
    #[must_use]
    pub fn bytes(self) -> [u8; 8] {
        let kind = match self.kind {
            PoisonKind::Fresh => 0,
            PoisonKind::Freed => 1,
            PoisonKind::Destination => 2_u64,
        };
        let high = (kind << KIND_SHIFT) | (self.number & NUMBER_MASK);
        let low = self.generation & GENERATION_MASK;
        let mark = u64::from(MARK);
        (((mark | high) << 32) | mark | low).to_le_bytes()
    }

    /// The poison in eight bytes at a multiple of 8 in the memory, if they are poison.
    #[must_use]
    pub fn decode(bytes: [u8; 8]) -> Option<Self> {
        let word = u64::from_le_bytes(bytes);
        let mark = u64::from(MARK);
        let (high, low) = (word >> 32, word & 0xFFFF_FFFF);
        if high & mark != mark || low & mark != mark {
            return None;
        }
        let kind = match (high >> KIND_SHIFT) & 0b11 {
            0 => PoisonKind::Fresh,
            1 => PoisonKind::Freed,
            2 => PoisonKind::Destination,
            _ => return None,
        };
        Some(Self { kind, number: high & NUMBER_MASK, generation: low & GENERATION_MASK })
    }
}

impl fmt::Display for Poison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, number, generation } = self;
        match kind {
            PoisonKind::Fresh => write!(f, "never written: buffer {number}.{generation}"),
            PoisonKind::Freed => write!(f, "freed: buffer {number}.{generation}"),
            PoisonKind::Destination => {
                write!(f, "not yet written by the download that is operation {number}")
            }
        }
    }
}

/// Repeats `pattern` over `memory`, which starts `phase` bytes into the pattern.
pub(crate) fn repeat(memory: &mut [u8], pattern: &[u8], phase: usize) {
    if let [byte] = pattern {
        return memory.fill(*byte);
    }
    let (behind, first) = pattern.split_at(phase % pattern.len().max(1));
    let mut done = 0;
    for part in [first, behind] {
        let len_bytes = part.len().min(memory.len() - done);
        memory[done..done + len_bytes].copy_from_slice(&part[..len_bytes]);
        done += len_bytes;
    }
    // Doubling runs at the speed of `memcpy`, also in debug builds.
    while done < memory.len() {
        let more = done.min(memory.len() - done);
        memory.copy_within(..more, done);
        done += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_what_it_wrote_and_nothing_else() {
        for kind in [PoisonKind::Fresh, PoisonKind::Freed, PoisonKind::Destination] {
            for (number, generation) in [(0, 0), (7, 3), (NUMBER_MASK, GENERATION_MASK)] {
                let poison = Poison { kind, number, generation };
                assert_eq!(Poison::decode(poison.bytes()), Some(poison));
            }
        }
        assert_eq!(Poison::decode([0; 8]), None);
        assert_eq!(Poison::decode(1.0_f64.to_le_bytes()), None);
        assert_eq!(Poison::decode([0xFF; 8]), None);
    }

    #[test]
    fn is_not_a_number_in_any_float() {
        let bytes = Poison { kind: PoisonKind::Fresh, number: 0, generation: 0 }.bytes();
        assert!(f64::from_le_bytes(bytes).is_nan());
        for word in bytes.as_chunks::<4>().0 {
            assert!(f32::from_le_bytes(*word).is_nan());
        }
    }

    #[test]
    fn repeats_from_any_phase() {
        for len in 0..20 {
            for phase in 0..6 {
                let mut memory = vec![0; len];
                repeat(&mut memory, &[1, 2, 3], phase);
                let expected: Vec<u8> = (0..len).map(|i| [1, 2, 3][(phase + i) % 3]).collect();
                assert_eq!(memory, expected);
            }
        }
    }
}
