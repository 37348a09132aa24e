//! The order among recorded calls. A call comes behind an earlier one if both use the same bytes and one of them
//! writes them; calls that do not conflict may run side by side.

use std::collections::HashMap;

use crate::hazards::Footprint;

/// Stands for the reports of calls that may find an index that has no place: they are told in the order of the calls.
pub(super) const REPORTS: Side = Side { number: usize::MAX, footprint: Footprint::solid(0, 1), write: true };

/// The access of a call to the memory of a number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side {
    pub(super) number: usize,
    pub(super) footprint: Footprint,
    pub(super) write: bool,
}

impl Side {
    fn conflicts(&self, other: &Self) -> bool {
        (self.write || other.write) && self.footprint.meets(&other.footprint)
    }
}

/// The uses of the memory of a number.
#[derive(Debug, Default)]
struct Uses {
    /// The calls that use it, in order.
    calls: Vec<usize>,
    /// The accesses by call, without those that a later write covers: what conflicts with them comes behind that
    /// write, which comes behind them.
    accesses: Vec<(usize, Side)>,
}

/// The order of recorded calls.
#[derive(Debug, Default)]
pub(super) struct Branches {
    uses: HashMap<usize, Uses>,
    /// All calls that come before each call.
    before: Vec<CallSet>,
    /// The calls that each call comes directly behind.
    behind: Vec<Box<[usize]>>,
    /// The last call that lies between all earlier and all later ones.
    between: Option<usize>,
}

impl Branches {
    /// Adds a call that comes behind all so far, and that all later ones come behind. The calls between two of them
    /// have an order among each other.
    pub(super) fn add_between(&mut self, sides: &[Side]) {
        self.add(sides);
        let call = self.behind.len() - 1;
        (0..call).for_each(|earlier| self.before[call].insert(earlier));
        self.between = Some(call);
    }

    /// Adds a call.
    pub(super) fn add(&mut self, sides: &[Side]) {
        let call = self.behind.len();
        let mut conflicts = Vec::new();
        for side in sides {
            let Some(uses) = self.uses.get(&side.number) else { continue };
            let met = uses.accesses.iter().filter(|(_, earlier)| earlier.conflicts(side));
            conflicts.extend(met.map(|(earlier, _)| *earlier));
        }
        // A call behind another comes later, so the last one is not behind any other of them.
        conflicts.sort_unstable_by(|one, other| other.cmp(one));
        let (mut before, mut behind) = (CallSet::default(), Vec::new());
        if let Some(between) = self.between {
            before.join(&self.before[between]);
            before.insert(between);
        }
        for earlier in conflicts {
            if !before.contains(earlier) {
                before.join(&self.before[earlier]);
                before.insert(earlier);
                behind.push(earlier);
            }
        }
        for side in sides {
            let uses = self.uses.entry(side.number).or_default();
            if side.write {
                uses.accesses.retain(|(_, earlier)| !side.footprint.covers(&earlier.footprint));
            }
            uses.accesses.push((call, *side));
            if uses.calls.last() != Some(&call) {
                uses.calls.push(call);
            }
        }
        self.before.push(before);
        self.behind.push(behind.into());
    }

    /// The memory that has the bytes of each memory: itself, or another whose uses all come before its own
    /// ones. `lens_bytes` has the length of each memory that may be moved. Puts no call behind another.
    pub(super) fn homes(&self, lens_bytes: &[Option<usize>]) -> Vec<usize> {
        let mut homes: Vec<usize> = (0..lens_bytes.len()).collect();
        let mut movable: Vec<(&[usize], usize, usize)> = (0..)
            .zip(lens_bytes)
            .filter_map(|(number, len_bytes)| Some((&*self.uses.get(&number)?.calls, number, (*len_bytes)?)))
            .collect();
        movable.sort_unstable();
        // The last memory that lies in each.
        let mut tenants: Vec<(&[usize], usize, usize)> = Vec::new();
        for (calls, number, len_bytes) in movable {
            let before_all = |of: usize| calls.iter().all(|call| self.before[*call].contains(of));
            let most = len_bytes.saturating_add(len_bytes / MOST_WASTED);
            let home = tenants.iter_mut().find(|(tenant, _, home_bytes)| {
                (len_bytes..=most).contains(home_bytes) && tenant.iter().all(|of| before_all(*of))
            });
            match home {
                Some((tenant, home, _)) => (*tenant, homes[number]) = (calls, *home),
                None => tenants.push((calls, number, len_bytes)),
            }
        }
        homes
    }

    /// The calls that each call comes directly behind, and not behind a later one
    /// [between](Self::add_between).
    pub(super) fn into_behind(self) -> Vec<Box<[usize]>> {
        self.behind
    }
}

/// Memory is used again only if it is at most this part larger.
pub(super) const MOST_WASTED: usize = 8;

/// Whether each call comes behind the one before it.
pub(super) fn is_chain(behind: &[Box<[usize]>]) -> bool {
    behind.iter().enumerate().all(|(call, behind)| behind.first().copied() == call.checked_sub(1))
}

/// A set of calls.
#[derive(Debug, Default)]
struct CallSet(Vec<u64>);

impl CallSet {
    fn contains(&self, call: usize) -> bool {
        self.0.get(call / 64).is_some_and(|word| word >> (call % 64) & 1 == 1)
    }

    fn insert(&mut self, call: usize) {
        self.0.resize(self.0.len().max(call / 64 + 1), 0);
        self.0[call / 64] |= 1 << (call % 64);
    }

    fn join(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(number: usize, bytes: std::ops::Range<usize>, write: bool) -> Side {
        Side { number, footprint: Footprint::solid(bytes.start, bytes.end), write }
    }

    fn reads(number: usize) -> Side {
        side(number, 0..8, false)
    }

    fn writes(number: usize) -> Side {
        side(number, 0..8, true)
    }

    fn of(calls: &[&[Side]]) -> Branches {
        let mut branches = Branches::default();
        calls.iter().for_each(|sides| branches.add(sides));
        branches
    }

    fn behind(calls: &[&[Side]]) -> Vec<Vec<usize>> {
        of(calls).into_behind().into_iter().map(Vec::from).collect()
    }

    #[test]
    fn calls_come_behind_what_they_conflict_with_alone() {
        let two_maps_and_both =
            [&[reads(0), writes(1)][..], &[reads(0), writes(2)], &[reads(1), reads(2), writes(3)]];
        assert_eq!(behind(&two_maps_and_both), [vec![], vec![], vec![1, 0]]);
        let read_then_written =
            [&[reads(0), writes(1)][..], &[reads(0), writes(2)], &[writes(0)], &[reads(0)]];
        assert_eq!(behind(&read_then_written), [vec![], vec![], vec![1, 0], vec![2]]);
        let chain =
            [&[writes(0)][..], &[reads(0), writes(1)], &[reads(0), reads(1), writes(0)], &[writes(0)]];
        assert_eq!(behind(&chain), [vec![], vec![0], vec![1], vec![2]]);
        assert!(is_chain(&of(&chain).into_behind()) && !is_chain(&of(&two_maps_and_both).into_behind()));
        let parts = [
            &[side(0, 0..4, true)][..],
            &[side(0, 4..8, true)],
            &[side(0, 3..5, false)],
            &[side(0, 5..8, true)],
        ];
        assert_eq!(behind(&parts), [vec![], vec![], vec![1, 0], vec![1]]);
        let told = [&[reads(0), REPORTS][..], &[reads(1)], &[reads(2), REPORTS]];
        assert_eq!(behind(&told), [vec![], vec![], vec![0]]);
    }

    /// A call between all others: memory that it uses is not used again by an earlier call, whatever the earlier ones'
    /// order.
    #[test]
    fn a_call_between_others_comes_behind_all_and_before_all() {
        let mut branches = of(&[&[writes(0)], &[reads(0), writes(1)], &[writes(2)]]);
        branches.add_between(&[reads(0)]);
        branches.add(&[writes(3)]);
        branches.add(&[reads(2), reads(3)]);
        let homes = branches.homes(&[Some(8); 4]);
        assert_eq!(homes, [0, 1, 2, 0], "memory 0 is read between, and free afterwards");
        let behind: Vec<_> = branches.into_behind().into_iter().map(Vec::from).collect();
        assert_eq!((&behind[..3], &behind[4..]), (&[vec![], vec![0], vec![]][..], &[vec![], vec![4]][..]));
        let mut without = of(&[&[writes(0)], &[reads(0), writes(1)], &[reads(1), writes(2)], &[reads(0)]]);
        assert_eq!(without.homes(&[Some(8); 3]), [0, 1, 2]);
        without = of(&[&[writes(0)], &[reads(0), writes(1)], &[reads(1), writes(2)]]);
        assert_eq!(without.homes(&[Some(8); 3]), [0, 1, 0]);
    }

    /// Calls are drawn at random. Each comes before another exactly if a chain of conflicts leads there, and no call
    /// is directly behind two that come one behind the other.
    #[test]
    fn the_order_is_that_of_all_conflicts() {
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % below) as usize
        };
        for _ in 0..300 {
            let calls: Vec<Vec<Side>> = (0..1 + draw(90))
                .map(|_| {
                    let sides = 1 + draw(3);
                    let one = |_| {
                        let start = draw(6);
                        side(draw(5), start..start + 1 + draw(4), draw(2) == 0)
                    };
                    (0..sides).map(one).collect()
                })
                .collect();
            let branches = of(&calls.iter().map(|sides| &**sides).collect::<Vec<_>>());
            let mut due: Vec<Vec<bool>> = Vec::new();
            for (call, sides) in calls.iter().enumerate() {
                let mut before = vec![false; calls.len()];
                for earlier in 0..call {
                    let meets = |one: &Side| {
                        calls[earlier].iter().any(|other| one.number == other.number && one.conflicts(other))
                    };
                    if sides.iter().any(meets) {
                        before[earlier] = true;
                        before.iter_mut().zip(&due[earlier]).for_each(|(to, from)| *to |= from);
                    }
                }
                due.push(before);
            }
            for (call, due) in due.iter().enumerate() {
                let found: Vec<bool> =
                    (0..calls.len()).map(|of| branches.before[call].contains(of)).collect();
                assert_eq!(found, *due, "call {call} of {calls:?}");
                let direct = &branches.behind[call];
                assert!(
                    direct
                        .iter()
                        .all(|one| direct.iter().all(|other| !branches.before[*other].contains(*one)))
                );
            }
            // Memory that lies where other memory was is used when all uses of that come before.
            let homes = branches.homes(&[Some(8), Some(9), None, Some(8), Some(100)]);
            for (number, home) in homes.iter().enumerate() {
                for other in (0..number).filter(|other| homes[*other] == *home) {
                    let users = |of: usize| branches.uses.get(&of).map_or(&[][..], |uses| &uses.calls);
                    let apart = |one: usize, two: usize| {
                        users(one)
                            .iter()
                            .all(|one| users(two).iter().all(|two| branches.before[*two].contains(*one)))
                    };
                    assert!(
                        apart(number, other) || apart(other, number),
                        "{number} and {other} of {calls:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn memory_is_used_again_where_no_call_is_put_behind_another() {
        let chain =
            [&[writes(0)][..], &[reads(0), writes(1)], &[reads(1), writes(2)], &[reads(2), writes(3)]];
        assert_eq!(of(&chain).homes(&[Some(8); 4]), [0, 1, 0, 1]);
        assert_eq!(of(&chain).homes(&[None, Some(8), Some(8), Some(8)]), [0, 1, 2, 1]);
        assert_eq!(
            of(&chain).homes(&[Some(8), Some(8), Some(9), Some(6)]),
            [0, 1, 2, 3],
            "too small, or too large"
        );
        let apart = [&[writes(0)][..], &[writes(1)], &[reads(0), writes(2)], &[reads(1), writes(3)]];
        assert_eq!(of(&apart).homes(&[Some(8); 4]), [0, 1, 2, 3]);
        // The second part of 1 is written beside the last use of 0.
        let parts = [
            &[writes(0)][..],
            &[reads(0), side(1, 0..4, true)],
            &[reads(0), side(2, 0..4, true)],
            &[side(2, 4..8, true)],
        ];
        assert_eq!(of(&parts).homes(&[Some(8); 3]), [0, 1, 2]);
    }
}
