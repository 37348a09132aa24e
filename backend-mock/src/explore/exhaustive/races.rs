//! The steps of a run that could have been in another order, and the forks that lead there.
//!
//! After Flanagan and Godefroid, "Dynamic partial-order reduction for model checking software"
//! (2005). The host and the streams are the processes. A step is one operation that runs, or one
//! action of the host.

use std::collections::{BTreeMap, BTreeSet};

use crate::{engine::Happened, judge::Touch};

/// A point of a run at which several processes could continue.
#[derive(Debug, Clone)]
pub(super) struct Fork {
    /// The number of choices of the run before this one.
    pub(super) choices: usize,
    /// The processes that could continue, in the order of the ways. The host is 0, and a stream is
    /// its number plus 1.
    pub(super) who: Vec<usize>,
    /// The way that was taken.
    pub(super) way: usize,
}

/// A step of one process.
struct Step<'a> {
    who: usize,
    /// The number of the fork that let it continue, if another process could have continued.
    fork: Option<usize>,
    /// The steps without which it could not have happened: the previous step of the same process,
    /// and the steps that enabled it.
    needs: Vec<usize>,
    action: Action<'a>,
}

enum Action<'a> {
    Ran { at: Option<(usize, u64)>, touches: &'a [Touch], frees: bool },
    Asked((usize, u64)),
    AskedForMemory,
    Other,
}

impl Action<'_> {
    /// Whether the order of the two matters.
    fn conflicts(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Ran { touches: one, .. }, Self::Ran { touches: two, .. }) => {
                one.iter().any(|one| two.iter().any(|two| one.conflicts(two)))
            }
            (Self::Ran { at, .. }, Self::Asked(mark)) | (Self::Asked(mark), Self::Ran { at, .. }) => {
                *at == Some(*mark)
            }
            (Self::Ran { frees, .. }, Self::AskedForMemory)
            | (Self::AskedForMemory, Self::Ran { frees, .. }) => *frees,
            _ => false,
        }
    }
}

/// The forks of a run.
pub(super) fn forks(history: &[Happened]) -> Vec<Fork> {
    let fork = |happened: &Happened| match happened {
        Happened::Open { choices, lanes, may_return, way } => {
            let who = lanes.iter().map(|lane| lane + 1).chain(may_return.then_some(0)).collect();
            Some(Fork { choices: *choices, who, way: *way })
        }
        _ => None,
    };
    history.iter().filter_map(fork).collect()
}

/// Pairs of a fork's number and a way at that fork that leads to another order of conflicting
/// steps.
pub(super) fn turns(history: &[Happened], forks: &[Fork]) -> BTreeSet<(usize, usize)> {
    let steps = steps(history);
    let mut before: Vec<BTreeSet<usize>> = Vec::with_capacity(steps.len());
    let mut turns = BTreeSet::new();
    for (at, step) in steps.iter().enumerate() {
        let mut enabled: BTreeSet<usize> = step.needs.iter().copied().collect();
        for &need in &step.needs {
            enabled.extend(&before[need]);
        }
        let mut all = enabled.clone();
        for earlier in (0..at).rev() {
            if all.contains(&earlier) || !steps[earlier].action.conflicts(&step.action) {
                continue;
            }
            if let Some(number) = steps[earlier].fork {
                turns.extend(
                    ways(&forks[number], &steps, earlier, step.who, &enabled).map(|way| (number, way)),
                );
            }
            all.insert(earlier);
            all.extend(&before[earlier]);
        }
        before.push(all);
    }
    turns
}

/// The ways, at the fork that let `earlier` continue, that lead to a step of `who` before
/// `earlier`. `enabled` are the steps without which that step could not happen.
fn ways(
    fork: &Fork,
    steps: &[Step<'_>],
    earlier: usize,
    who: usize,
    enabled: &BTreeSet<usize>,
) -> impl Iterator<Item = usize> {
    let way_of = |who: usize| fork.who.iter().position(|&other| other == who);
    let on_the_way = || enabled.range(earlier + 1..).find_map(|&step| way_of(steps[step].who));
    match way_of(who).or_else(on_the_way) {
        Some(way) => way..way + 1,
        None => 0..fork.who.len(),
    }
}

fn steps(history: &[Happened]) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    let mut last: BTreeMap<usize, usize> = BTreeMap::new();
    let (mut enqueued, mut ran) = (BTreeMap::new(), BTreeMap::new());
    let (mut forks, mut fork) = (0, None);
    for happened in history {
        let mark = |mark: &crate::engine::Mark| (mark.lane, mark.position);
        let (who, enabled_by, action) = match happened {
            Happened::Open { .. } => {
                fork = Some(forks);
                forks += 1;
                continue;
            }
            Happened::Enqueued(number) => {
                enqueued.insert(*number, steps.len());
                (0, vec![], Action::Other)
            }
            Happened::Ran { lane, number, at, after, touches, frees } => {
                let at = at.as_ref().map(mark);
                let enabled_by = enqueued.get(number).into_iter();
                let enabled_by = enabled_by.chain(after.iter().filter_map(|after| ran.get(&mark(after))));
                let enabled_by = enabled_by.copied().collect();
                if let Some(at) = at {
                    ran.insert(at, steps.len());
                }
                (lane + 1, enabled_by, Action::Ran { at, touches, frees: *frees })
            }
            Happened::Asked(asked) => (0, vec![], Action::Asked(mark(asked))),
            Happened::AskedForMemory => (0, vec![], Action::AskedForMemory),
            Happened::Waited(waited) => {
                (0, ran.get(&mark(waited)).copied().into_iter().collect(), Action::Other)
            }
        };
        let before = last.insert(who, steps.len());
        let needs = before.into_iter().chain(enabled_by).collect();
        steps.push(Step { who, fork: fork.take(), needs, action });
    }
    steps
}
