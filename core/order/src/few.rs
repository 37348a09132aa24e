//! Finds distinct elements where there are only a few, so that a table of them stays in the first
//! caches.

use crate::{
    kind::Kind,
    word::Word,
    workers::{Cut, Workers, collect, fill},
};

/// The most distinct keys in a table.
const FEW: usize = 1 << 11;
const SLOTS: usize = 4 * FEW;

/// A free slot.
const NONE: u32 = u32::MAX;

/// Slots by key, each with the number of the key's group.
struct Table<W> {
    slots: Vec<(W, u32)>,
}

impl<W: Word> Table<W> {
    fn new() -> Self {
        Self { slots: vec![(W::ZERO, NONE); SLOTS] }
    }

    /// The slot that has the key, or is free for it. At least one slot is free.
    #[inline(always)]
    fn slot(&self, key: W) -> usize {
        let mixed = key.wide().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut at = (mixed >> 40) as usize % SLOTS;
        while self.slots[at].0 != key && self.slots[at].1 != NONE {
            at = (at + 1) % SLOTS;
        }
        at
    }
}

/// Groups of equal values, in the order of first use: their keys, first positions and counts.
#[derive(Debug)]
pub(crate) struct Met<W> {
    groups: Vec<(W, usize, usize)>,
}

impl<W: Word> Met<W> {
    /// The first position and the count of each group, in the order of keys. If `inverse` is given, it
    /// gets the group of each element.
    pub(crate) fn finish<K: Kind<Bits = W>>(
        mut self,
        x: &[W],
        inverse: Option<&mut [i64]>,
        workers: &dyn Workers,
    ) -> (Vec<usize>, Vec<usize>) {
        self.groups.sort_unstable();
        if let Some(inverse) = inverse {
            let lookup = Lookup::new(&self.groups);
            fill(workers, Cut::new(x.len(), workers), inverse, |range, part| {
                for (group, &bits) in part.iter_mut().zip(&x[range]) {
                    *group = lookup.number(K::key(bits));
                }
            });
        }
        self.groups.iter().map(|&(_, first, count)| (first, count)).unzip()
    }
}

/// The groups of `x`, if they are few.
pub(crate) fn few<K: Kind>(x: &[K::Bits], workers: &dyn Workers) -> Option<Met<K::Bits>> {
    if K::Bits::BITS <= 16 {
        return Some(by_value::<K>(x, workers));
    }
    let cut = Cut::new(x.len(), workers);
    let pieces = collect(workers, cut.pieces, |piece| {
        let mut table = Table::new();
        let mut groups: Vec<(K::Bits, usize, usize)> = Vec::with_capacity(FEW);
        for at in cut.range(piece) {
            let key = K::key(x[at]);
            let slot = table.slot(key);
            let number = table.slots[slot].1;
            if number != NONE {
                groups[number as usize].2 += 1;
            } else if groups.len() == FEW {
                return None;
            } else {
                table.slots[slot] = (key, crate::sort::narrow(groups.len()));
                groups.push((key, at, 1));
            }
        }
        Some(groups)
    });
    let mut all = pieces.into_iter().collect::<Option<Vec<_>>>()?.concat();
    all.sort_unstable();
    all.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            earlier.2 += later.2;
        }
        same
    });
    (all.len() <= FEW).then_some(Met { groups: all })
}

/// Uses a table with one place for each of at most 65,536 keys.
fn by_value<K: Kind>(x: &[K::Bits], workers: &dyn Workers) -> Met<K::Bits> {
    let values = 1_usize << K::Bits::BITS;
    let key = |at: usize| K::key(x[at]).digit(0, values - 1);
    let counts = crate::counts::totals(x.len(), values, workers, key);
    let mut missing = counts.iter().filter(|&&count| count > 0).count();
    let mut firsts = vec![usize::MAX; values];
    for at in 0..x.len() {
        if missing == 0 {
            break;
        }
        let first = &mut firsts[key(at)];
        missing -= usize::from(*first == usize::MAX);
        *first = at.min(*first);
    }
    let groups = (0..values).filter(|&value| counts[value] > 0);
    Met {
        groups: groups.map(|value| (K::Bits::narrow(value as u64), firsts[value], counts[value])).collect(),
    }
}

/// Finds the numbers of groups once the groups are sorted by their keys.
enum Lookup<W> {
    Direct(Vec<u32>),
    Slots(Table<W>),
}

impl<W: Word> Lookup<W> {
    fn new(groups: &[(W, usize, usize)]) -> Self {
        let numbered =
            groups.iter().enumerate().map(|(number, group)| (group.0, crate::sort::narrow(number)));
        if W::BITS <= 16 {
            let mut numbers = vec![0; 1 << W::BITS];
            numbered.for_each(|(key, number)| numbers[key.digit(0, usize::MAX)] = number);
            return Self::Direct(numbers);
        }
        let mut table = Table::new();
        for (key, number) in numbered {
            let slot = table.slot(key);
            table.slots[slot] = (key, number);
        }
        Self::Slots(table)
    }

    /// The number of the group of a key, which is in one.
    #[inline(always)]
    fn number(&self, key: W) -> i64 {
        match self {
            Self::Direct(numbers) => numbers[key.digit(0, usize::MAX)].into(),
            Self::Slots(table) => table.slots[table.slot(key)].1.into(),
        }
    }
}
