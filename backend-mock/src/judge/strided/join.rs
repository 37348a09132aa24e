//! Merges several sets into fewer.

use super::{Level, Parts, Strided};

impl Strided {
    /// Merges a set that begins after this one, if both form one set.
    pub(in crate::judge) fn join(&mut self, next: &Self) -> bool {
        let ahead = next.start - self.start;
        if ahead == self.run && self.levels == next.levels {
            self.run += next.run;
            self.close();
            return true;
        }
        self.goes_on(next, ahead)
    }

    /// Merges a set that continues the outermost level.
    fn goes_on(&mut self, next: &Self, ahead: usize) -> bool {
        if self.run != next.run {
            return false;
        }
        let (mine, theirs) = (self.levels.as_slice(), next.levels.as_slice());
        let joined = match (mine.split_last(), theirs.split_last()) {
            (Some((a, inner)), _) if inner == theirs && ahead == a.stride * a.count => a.count + 1,
            (Some((a, inner)), Some((b, other)))
                if inner == other && a.stride == b.stride && ahead == a.stride * a.count =>
            {
                a.count + b.count
            }
            (_, Some((b, inner))) if inner == mine && ahead == b.stride => {
                self.levels.push(Level { stride: b.stride, count: b.count + 1 });
                return true;
            }
            _ => return false,
        };
        if let Some(last) = self.levels.last_mut() {
            last.count = joined;
        }
        true
    }

    /// Merges runs that have grown until they touch.
    fn close(&mut self) {
        let levels = std::mem::take(&mut self.levels);
        levels.into_iter().for_each(|level| self.repeat(level.stride, level.count));
    }
}

/// The number of previous sets that are checked for whether a set continues them.
const NEAR: usize = 3;

/// Merges sets, given in the order of their starts, with earlier ones if the two form one set. The
/// result is in any order.
pub(in crate::judge) fn joined(parts: &mut Parts) {
    if parts.len() < 2 {
        return;
    }
    let mut kept = Parts::new();
    for mut set in parts.drain(..) {
        // A set that has grown may continue, or be continued by, another one.
        while let Some(near) =
            (0..kept.len()).rev().take(NEAR).find(|&near| join_either(&mut set, &kept[near]))
        {
            kept.remove(near);
        }
        kept.push(set);
    }
    *parts = kept;
}

/// Merges a set before this one or after it, if both form one set.
fn join_either(set: &mut Strided, other: &Strided) -> bool {
    if set.start < other.start {
        return set.join(other);
    }
    let mut joined = other.clone();
    let is_one = joined.join(set);
    if is_one {
        *set = joined;
    }
    is_one
}

/// Finds repetitions among the parts from `from` on.
pub(in crate::judge) fn compress(parts: &mut Parts, from: usize) {
    let mut fresh: Parts = parts.drain(from..).collect();
    fresh.sort_unstable_by_key(Strided::start);
    loop {
        let before = fresh.len();
        let mut fewer = Parts::new();
        for part in fresh {
            let taken = fewer.last_mut().is_some_and(|last| last.join(&part) || last.pair(&part));
            if !taken {
                fewer.push(part);
            }
        }
        fresh = fewer;
        if fresh.len() == before {
            break;
        }
    }
    parts.extend(fresh);
}

impl Strided {
    /// Merges a later set of the same form, as the second element of a new level.
    fn pair(&mut self, next: &Self) -> bool {
        let pairs = self.run == next.run && self.levels == next.levels && self.end() <= next.start;
        if pairs {
            self.repeat(next.start - self.start, 2);
        }
        pairs
    }
}
