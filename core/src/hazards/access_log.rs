//! The accesses to one allocation that later operations may have to wait for.

use std::sync::Mutex;

use smallvec::SmallVec;

use super::Footprint;

/// The most accesses that are kept apart. If there are more, accesses of one lane and kind are
/// merged. So this limits how many disjoint parts of one array can be in flight and still be told
/// apart. Each operation looks at all accesses; few arrays have more than a handful.
const KEPT_APART: usize = 64;

/// The number of accesses that are kept without the heap: the last write and one or two reads. It
/// is small because allocations are moved about.
const INLINE: usize = 2;

/// One access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) lane: usize,
    pub(crate) sequence: u64,
    pub(crate) footprint: Footprint,
    pub(crate) write: bool,
    /// Several accesses were merged into this one, so its footprint may hold bytes that none of
    /// them touched.
    pub(crate) blurred: bool,
    /// Nothing was enqueued: the memory came in, for use after the earlier work of the stream.
    pub(crate) nominal: bool,
}

/// What one operation does to one allocation.
pub(crate) trait Touch {
    /// The accesses to the allocation so far.
    fn uses(&self) -> &Mutex<AccessLog>;

    /// The bytes.
    fn footprint(&self) -> Footprint;

    /// Whether it writes them.
    fn writes(&self) -> bool;

    /// Makes the access of the operation with this number on this lane.
    fn as_use(&self, lane: usize, sequence: u64) -> Access {
        let (footprint, write) = (self.footprint(), self.writes());
        Access { lane, sequence, footprint, write, blurred: false, nominal: false }
    }
}

impl Access {
    /// An access of the host, which comes after all lanes that it conflicts with.
    pub(crate) fn of_host(footprint: Footprint, write: bool) -> Self {
        Self { lane: usize::MAX, sequence: 0, footprint, write, blurred: false, nominal: false }
    }

    /// Whether the two must be ordered.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        (self.write || other.write) && self.footprint.meets(&other.footprint)
    }
}

/// All unretired accesses to one allocation: every reader, not the last one.
#[derive(Debug, Default)]
pub(crate) struct AccessLog(SmallVec<[Access; INLINE]>);

impl AccessLog {
    /// The log of a new allocation of `len_bytes` bytes, which counts as a write by operation
    /// `sequence` of a lane.
    #[inline]
    pub(crate) fn of_alloc(lane: usize, sequence: u64, len_bytes: usize) -> Self {
        Self::of_first(lane, sequence, len_bytes, false)
    }

    /// Like [`of_alloc`](Self::of_alloc), for memory that existed before: the device does nothing to
    /// it.
    #[inline]
    pub(crate) fn of_adoption(lane: usize, sequence: u64, len_bytes: usize) -> Self {
        Self::of_first(lane, sequence, len_bytes, true)
    }

    #[inline]
    fn of_first(lane: usize, sequence: u64, len_bytes: usize, nominal: bool) -> Self {
        let footprint = Footprint::solid(0, len_bytes);
        let mut uses = SmallVec::new();
        uses.push(Access { lane, sequence, footprint, write: true, blurred: false, nominal });
        Self(uses)
    }

    /// Whether nothing was enqueued, so that nobody needs to wait.
    pub(crate) fn is_nominal(&self) -> bool {
        self.0.iter().all(|u| u.nominal)
    }

    /// The accesses that `next` must be ordered after. Accesses of its own lane are left out,
    /// because a lane is in order.
    #[inline]
    pub(crate) fn conflicting<'a>(&'a self, next: &'a Access) -> impl Iterator<Item = &'a Access> {
        self.0.iter().filter(move |u| u.lane != next.lane && u.conflicts(next))
    }

    /// The conflicting accesses of its own lane up to operation `last`, which earlier streams of the
    /// lane made.
    pub(crate) fn earlier_here<'a>(
        &'a self,
        next: &'a Access,
        last: u64,
    ) -> impl Iterator<Item = &'a Access> {
        self.0.iter().filter(move |u| u.lane == next.lane && u.sequence <= last && u.conflicts(next))
    }

    /// Notes an access. `ordered` says that it runs after every conflicting one noted before.
    ///
    /// Accesses for which `is_done` is true are forgotten: the host knows that they are finished,
    /// and nothing is left to report of them.
    pub(crate) fn note(&mut self, next: Access, ordered: bool, is_done: impl Fn(&Access) -> bool) {
        // An operation that conflicts with a dropped access also waits for `next`, which runs after
        // it.
        let dominates = |u: &Access| {
            let after = u.lane == next.lane || (ordered && next.write);
            after && next.write >= u.write && next.footprint.covers(&u.footprint)
        };
        if let [only] = &mut self.0[..]
            && (dominates(only) || is_done(only))
        {
            // Most arrays are used by one stream, over and over.
            *only = next;
            return;
        }
        self.0.retain(|u| !dominates(u) && !is_done(u));
        self.0.push(next);
        if self.0.len() > KEPT_APART {
            self.merge();
        }
    }

    /// Merges the accesses of one lane and kind. The merged access is as late as the latest, and
    /// its footprint holds all of theirs.
    fn merge(&mut self) {
        let mut merged: SmallVec<[Access; INLINE]> = SmallVec::new();
        for u in &self.0 {
            match merged.iter_mut().find(|m| m.lane == u.lane && m.write == u.write) {
                Some(m) => {
                    m.sequence = m.sequence.max(u.sequence);
                    m.footprint = m.footprint.join(&u.footprint);
                    m.blurred = true;
                    m.nominal &= u.nominal;
                }
                None => merged.push(*u),
            }
        }
        self.0 = merged;
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(lane: usize, sequence: u64, bytes: std::ops::Range<usize>, write: bool) -> Access {
        let footprint = Footprint::solid(bytes.start, bytes.end);
        Access { lane, sequence, footprint, write, blurred: false, nominal: false }
    }

    #[test]
    fn a_writer_meets_every_reader() {
        let mut uses = AccessLog::default();
        uses.note(access(1, 1, 0..8, false), true, |_| false);
        uses.note(access(2, 1, 0..8, false), true, |_| false);
        let write = access(3, 1, 0..8, true);
        let lanes: Vec<_> = uses.conflicting(&write).map(|u| u.lane).collect();
        assert_eq!(lanes, [1, 2]);
        uses.note(write, true, |_| false);
        assert_eq!(uses.len(), 1, "an ordered write stands for what it ran after");
    }

    #[test]
    fn an_unordered_write_replaces_nobody() {
        let mut uses = AccessLog::default();
        uses.note(access(1, 1, 0..8, false), true, |_| false);
        uses.note(access(2, 1, 0..8, true), false, |_| false);
        assert_eq!(uses.conflicting(&access(3, 1, 0..8, true)).count(), 2);
    }

    #[test]
    fn a_read_does_not_stand_for_a_write() {
        let mut uses = AccessLog::default();
        uses.note(access(1, 1, 0..8, true), true, |_| false);
        uses.note(access(1, 2, 0..8, false), true, |_| false);
        assert_eq!(uses.conflicting(&access(2, 1, 0..8, false)).count(), 1);
    }

    #[test]
    fn stays_short_and_loses_nothing_when_merging() {
        let mut uses = AccessLog::default();
        for k in 0..100 {
            uses.note(access(k % 3, k as u64, 10 * k..10 * k + 5, k % 2 == 0), true, |_| false);
        }
        assert!(uses.len() <= KEPT_APART + 1);
        for k in 0..100_usize {
            let probe = access(9, 1, 10 * k..10 * k + 5, true);
            let met = uses.conflicting(&probe).any(|u| u.lane == k % 3 && u.sequence >= k as u64);
            assert!(met, "access {k} forgotten");
        }
    }

    #[test]
    fn merges_no_sooner_than_it_must_and_says_so() {
        let mut uses = AccessLog::of_adoption(1, 1, 8);
        for k in 1..KEPT_APART {
            uses.note(access(1, 1 + k as u64, 10 * k..10 * k + 5, true), true, |_| false);
            assert_eq!(uses.len(), k + 1, "disjoint parts are kept apart");
        }
        let between = access(2, 1, 16..20, true);
        assert_eq!(uses.conflicting(&between).count(), 0);
        uses.note(access(1, 100, 2000..2005, true), true, |_| false);
        let merged: Vec<_> = uses.conflicting(&between).collect();
        let all = Footprint::solid(0, 2005);
        let expected =
            Access { lane: 1, sequence: 100, footprint: all, write: true, blurred: true, nominal: false };
        assert_eq!(merged, [&expected], "as late as the latest, as wide as all, and work is among it");
    }

    #[test]
    fn finished_accesses_are_forgotten() {
        let mut uses = AccessLog::default();
        uses.note(access(1, 1, 0..8, true), true, |_| false);
        uses.note(access(1, 2, 8..16, true), true, |u| u.sequence <= 1);
        assert_eq!(uses.len(), 1);
    }
}
