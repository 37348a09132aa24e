//! Numbers of exchanges that each rank counts for itself.

use std::collections::BTreeMap;

use super::Exchange;

/// Set in numbers that ranks count for themselves: those that they agree on begin at 1.
const OWN: u64 = 1 << 63;
/// Set in the numbers of exchanges between two ranks.
const OF_TWO: u64 = 1 << 62;
/// Bits of a rank. There are 65,536 at most.
const RANK_BITS: u32 = 16;
/// Bits of what counts the exchanges from one rank to one other. They may begin again: all but the last
/// ones are over by then.
const COUNT_BITS: u32 = 62 - 2 * RANK_BITS;

/// Counts exchanges of all ranks, and exchanges from one rank to one other: each participant counts alike
/// without asking.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    of_all: u64,
    of_two: BTreeMap<(usize, usize), u64>,
}

impl Numbers {
    pub(super) fn next(&mut self, exchange: Exchange) -> u64 {
        let Exchange::Transfer { from, to } = exchange else {
            self.of_all += 1;
            return OWN | self.of_all;
        };
        let count = self.of_two.entry((from, to)).or_default();
        *count = (*count + 1) % (1 << COUNT_BITS);
        let pair = ((from as u64) << RANK_BITS) | to as u64;
        OWN | OF_TWO | (pair << COUNT_BITS) | *count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn participants_count_alike_and_no_number_comes_twice() {
        let (mut one, mut two) = (Numbers::default(), Numbers::default());
        let transfer = |from, to| Exchange::Transfer { from, to };
        // The second does not take part in the first transfer.
        let first = one.next(transfer(0, 2));
        let calls =
            [Exchange::AllGather, transfer(0, 1), transfer(1, 0), transfer(0, 1), Exchange::AllReduce];
        let [one, two] = [&mut one, &mut two].map(|of| calls.map(|call| of.next(call)));
        assert_eq!(one, two);
        let all: std::collections::BTreeSet<u64> = one.into_iter().chain([first]).collect();
        assert_eq!(all.len(), 6);
        let last = Numbers::default().next(transfer(65_535, 65_534));
        assert!(last > 1 << 63 && last != Numbers::default().next(transfer(65_535, 65_533)));
    }
}
