//! Cuts a copy into pieces. The first and the last ones are small.
//!
//! The link waits for the first piece, and the caller for the last, and meanwhile nothing overlaps.
//! So these are small. Pieces in between are large, because each costs some microseconds whatever
//! its size. Sizes grow in equal steps, so that threads that each begin a piece together do not end
//! together, and the link gets work evenly.

use crate::{
    copy::{Blocks, PAGE_BYTES, Plan},
    staging::SLOT_BYTES,
};

/// The smallest piece, in bytes. In a smaller one the cost of an operation would show.
const MIN_PIECE_BYTES: usize = 256 << 10;

/// The bytes by which pieces grow from one to the next, and shrink at the end.
const STEP_BYTES: usize = 256 << 10;

/// The pieces of a plan, in the order of its runs. Their sizes follow from the plan alone.
#[derive(Debug)]
pub(super) struct Pieces<'a> {
    blocks: Blocks<'a>,
    most_bytes: usize,
    taken_bytes: usize,
    left_bytes: usize,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        let len_bytes = plan.len_bytes();
        // Makes a few dozen pieces, if the copy is large enough.
        let most_bytes = (len_bytes / 16).next_power_of_two().clamp(MIN_PIECE_BYTES, SLOT_BYTES);
        Self { blocks: plan.blocks(most_bytes), most_bytes, taken_bytes: 0, left_bytes: len_bytes }
    }

    /// The size of a slot that fits any piece.
    pub(super) fn slot_bytes(&self) -> usize {
        self.most_bytes.min(self.taken_bytes + self.left_bytes)
    }
}

impl Iterator for Pieces<'_> {
    type Item = Plan;

    fn next(&mut self) -> Option<Plan> {
        // Pieces of 1, 2, … k steps have about (k + ½)² / 2 steps together.
        let to_end_bytes = self.taken_bytes.min(self.left_bytes);
        let grown_bytes = to_end_bytes.saturating_mul(2 * STEP_BYTES).isqrt().saturating_sub(STEP_BYTES / 2);
        let limit_bytes = grown_bytes.clamp(MIN_PIECE_BYTES, self.most_bytes);
        // Pieces end at the end of a page, if the plan allows it.
        self.blocks.limit(limit_bytes / PAGE_BYTES * PAGE_BYTES);
        let piece = self.blocks.next()?;
        self.taken_bytes += piece.len_bytes();
        self.left_bytes -= piece.len_bytes();
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{backend::Capabilities, layout::Layout};

    const MIB: usize = 1 << 20;

    /// A copy of bytes from a source with these strides to a dense destination.
    fn plan(shape: &[usize], strides: &[isize]) -> Plan {
        let src = Layout::new(shape, strides, 0).expect("small numbers");
        let dst = Layout::contiguous(shape, crate::layout::Order::C).expect("small numbers");
        Plan::new(&dst, &src, 1, &Capabilities::default()).expect("the destination does not overlap")
    }

    fn sizes(plan: &Plan) -> Vec<usize> {
        Pieces::new(plan).map(|piece| piece.len_bytes()).collect()
    }

    #[test]
    fn pieces_are_small_at_both_ends_and_as_large_as_a_slot_between() {
        for len in [32 * MIB, 64 * MIB + 4321, 1024 * MIB] {
            let sizes = sizes(&plan(&[len], &[1]));
            assert_eq!(sizes.iter().sum::<usize>(), len);
            assert_eq!(sizes[0], MIN_PIECE_BYTES);
            assert!(*sizes.last().expect("there are some") <= MIN_PIECE_BYTES);
            assert_eq!(sizes.iter().max(), Some(&SLOT_BYTES));
            let steps = |pair: &[usize]| pair[0].abs_diff(pair[1]) <= 2 * STEP_BYTES;
            assert!(sizes.windows(2).all(steps), "{sizes:?}");
            // The ramps at both ends add few pieces.
            assert!(sizes.len() <= len.div_ceil(SLOT_BYTES) + 20, "{}", sizes.len());
        }
    }

    #[test]
    fn a_copy_of_one_piece_takes_a_slot_of_its_size() {
        for len in [1, 4_000, MIN_PIECE_BYTES] {
            let plan = plan(&[len], &[1]);
            assert_eq!((sizes(&plan), Pieces::new(&plan).slot_bytes()), (vec![len], len));
        }
    }

    /// Tries dense, rows with gaps, transposed, a row larger than the first pieces, and every
    /// second byte. Each destination byte is written once, from the source that its index gives.
    #[test]
    fn pieces_are_the_copy_and_fit_their_slots() {
        let cases: [(&[usize], &[isize]); 5] = [
            (&[5 * MIB + 77], &[1]),
            (&[2_001, 3_000], &[3_100, 1]),
            (&[2_003, 1_501], &[1, 2_003]),
            (&[7, 700 << 10], &[(701 << 10), 1]),
            (&[3 * MIB], &[2]),
        ];
        for (shape, strides) in cases {
            let plan = plan(shape, strides);
            let mut from = vec![usize::MAX; plan.len_bytes()];
            let pieces = Pieces::new(&plan);
            let slot_bytes = pieces.slot_bytes();
            for piece in pieces {
                assert!(piece.len_bytes() <= slot_bytes);
                for (src, dst, len) in piece.runs() {
                    for k in 0..len {
                        assert_eq!(std::mem::replace(&mut from[dst + k], src + k), usize::MAX, "twice");
                    }
                }
            }
            let inner = shape.last().expect("not rank 0");
            for (dst, &src) in from.iter().enumerate() {
                let (row, column) = (dst / inner, dst % inner);
                let steps = if shape.len() == 1 { [0, dst] } else { [row, column] };
                let strides = if shape.len() == 1 { [0, strides[0]] } else { [strides[0], strides[1]] };
                let expected = steps[0] * strides[0].unsigned_abs() + steps[1] * strides[1].unsigned_abs();
                assert_eq!(src, expected, "byte {dst} of {shape:?}");
            }
        }
    }
}
