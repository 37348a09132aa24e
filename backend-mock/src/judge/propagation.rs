//! The bytes of a copy's destination that get given bytes of its source.

use devarray::copy::Plan;
use smallvec::SmallVec;

use super::{
    bytes::Bytes,
    strided::{Parts, Strided},
};

/// An axis of a plan, reversed if needed so that the source runs forward.
#[derive(Debug, Clone, Copy)]
struct Axis {
    /// Positive.
    src: usize,
    dst: isize,
    count: usize,
}

/// A plan, ordered by source addresses. No source byte is read twice, except through axes of stride 0
/// (`repeated`).
#[derive(Debug)]
struct Way {
    src: usize,
    dst: usize,
    run: usize,
    /// By source stride, the largest first; a step of each axis is larger than everything behind it.
    axes: SmallVec<[Axis; 6]>,
    /// Axes that repeat the source: (stride, count) in the destination.
    repeated: SmallVec<[(isize, usize); 2]>,
}

/// The steps along the axes of a way, and the byte within a run.
type Steps = SmallVec<[isize; 7]>;

/// The bytes of the destination that get a byte of a subset of the source. `among` returns the bytes of a set
/// that are in the subset.
pub(super) fn through(plan: &Plan, source: &Bytes, among: impl Fn(&Strided) -> Parts) -> Bytes {
    let mut parts = Parts::new();
    if let Some(way) = Way::of(plan) {
        let sets = source.sets().flat_map(among);
        sets.for_each(|set| way.bring(&set, &mut parts));
    } else {
        for (src, dst, len_bytes) in plan.runs() {
            let there = among(&Strided::of(src..src + len_bytes));
            parts.extend(there.into_iter().map(|set| set.moved(src, dst)));
        }
    }
    Bytes::of_parts(parts)
}

impl Way {
    /// None if source elements overlap.
    fn of(plan: &Plan) -> Option<Self> {
        let (mut src, mut dst) = (plan.src_offset_bytes(), plan.dst_offset_bytes());
        let (mut axes, mut repeated) = (SmallVec::<[Axis; 6]>::new(), SmallVec::new());
        for axis in plan.axes() {
            let (stride, count) = (axis.src_stride_bytes.unsigned_abs(), axis.extent);
            let mut forward = axis.dst_stride_bytes;
            if stride == 0 {
                repeated.push((forward, count));
                continue;
            }
            if axis.src_stride_bytes < 0 {
                src -= stride * (count - 1);
                dst = dst.checked_add_signed(forward * (count - 1).cast_signed())?;
                forward = -forward;
            }
            axes.push(Axis { src: stride, dst: forward, count });
        }
        axes.sort_unstable_by_key(|axis| std::cmp::Reverse(axis.src));
        let mut extent = plan.run_bytes();
        for axis in axes.iter().rev() {
            if axis.src < extent {
                return None;
            }
            extent += axis.src * (axis.count - 1);
        }
        Some(Self { src, dst, run: plan.run_bytes(), axes, repeated })
    }

    /// The steps that lead to a byte of the source.
    fn steps_to(&self, byte: usize) -> Steps {
        let mut inside = byte - self.src;
        let mut steps = Steps::new();
        for axis in &self.axes {
            let step = (inside / axis.src).min(axis.count - 1);
            inside -= step * axis.src;
            steps.push(step.cast_signed());
        }
        steps.push(inside.cast_signed());
        steps
    }

    /// Adds the bytes of the destination that get the bytes of a set. All bytes of the set must be in the
    /// source.
    fn bring(&self, set: &Strided, parts: &mut Parts) {
        let run = set.first_run();
        let first = self.steps_to(run.start);
        let left_of_run = self.run - first[self.axes.len()].cast_unsigned();
        if run.len() > left_of_run {
            // A run that crosses elements of the plan is brought in parts; the parts between both ends are
            // brought together.
            return set.cuts(left_of_run, self.run).iter().for_each(|part| self.bring(part, parts));
        }
        // From the first byte, every step of a level leads the same way, unless it leaves an axis.
        let (mut low, mut high) = (first.clone(), first.clone());
        let mut axes: SmallVec<[(isize, usize); 8]> = self.repeated.iter().copied().collect();
        for (stride, count) in set.levels() {
            let second = self.steps_to(run.start + stride);
            let mut bytes = 0;
            for (k, (there, here)) in second.iter().zip(&first).enumerate() {
                let step = there - here;
                bytes += step * self.axes.get(k).map_or(1, |axis| axis.dst);
                let all = step * (count - 1).cast_signed();
                *(if all < 0 { &mut low } else { &mut high }).get_mut(k).unwrap_or(&mut 0) += all;
            }
            axes.push((bytes, count));
        }
        let fits = low.iter().all(|&low| low >= 0)
            && self.axes.iter().zip(&high).all(|(axis, &high)| high.cast_unsigned() < axis.count)
            && high[self.axes.len()].cast_unsigned() + run.len() <= self.run;
        if !fits {
            return set.halves().iter().for_each(|part| self.bring(part, parts));
        }
        let bytes: isize = first
            .iter()
            .enumerate()
            .map(|(k, step)| step * self.axes.get(k).map_or(1, |axis| axis.dst))
            .sum();
        let to = Bytes::strided(self.dst.wrapping_add_signed(bytes), run.len(), axes.into_iter());
        parts.extend(to.sets().cloned());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use devarray::{Layout, Order, backend::Capabilities};

    use super::*;
    use crate::{judge::strided::every_byte, rng::SplitMix64};

    /// Compares plans with any strides, and parts of the source that have a value, with a walk over the
    /// bytes.
    #[test]
    fn each_byte_goes_where_the_runs_of_the_plan_bring_it() {
        let (mut rng, mut plans, mut nested) = (SplitMix64::new(9), 0, 0);
        for _ in 0..20_000 {
            let shape = [1 + rng.below(4), 1 + rng.below(4), 1 + rng.below(4)];
            let strides = [0; 3].map(|_: usize| isize::try_from(rng.below(40)).unwrap() - 14);
            let item_bytes = 1 + rng.below(4);
            let order = if rng.below(2) == 0 { Order::C } else { Order::F };
            let dst = Layout::contiguous(&shape, order).unwrap();
            let src = if rng.below(2) == 0 {
                Layout::contiguous(&shape, Order::C).unwrap()
            } else {
                Layout::new(&shape, &strides, 200).unwrap()
            };
            let plan = Plan::new(&dst, &src, item_bytes, &Capabilities::default()).unwrap();
            let mut given: Vec<Strided> = Vec::new();
            for start in [src.span().start * item_bytes, src.span().start * item_bytes + 40] {
                let (stride, run) = (2 + rng.below(12), 1 + rng.below(2));
                given.extend(Strided::along(start + rng.below(9), run, &[(stride, 2 + rng.below(5))]));
            }
            given.truncate(1 + rng.below(2));
            if given.len() == 2 {
                let mut apart = Parts::new();
                given[1].without(&given[0], &mut apart);
                given.truncate(1);
                given.extend(apart);
            }
            let has: HashSet<usize> = given.iter().flat_map(every_byte).collect();
            let among = |set: &Strided| {
                let mut parts = Parts::new();
                given.iter().for_each(|given| given.common(set, &mut parts));
                parts
            };
            let found = through(&plan, &Bytes::source(&plan), among);
            let expected: HashSet<usize> = plan
                .runs()
                .flat_map(|(src, dst, len)| (0..len).map(move |k| (src + k, dst + k)))
                .filter_map(|(src, dst)| has.contains(&src).then_some(dst))
                .collect();
            let bytes: Vec<usize> = found.sets().flat_map(every_byte).collect();
            assert_eq!(bytes.len(), expected.len(), "{plan:?} {given:?}");
            assert_eq!(HashSet::from_iter(bytes), expected, "{plan:?} {given:?}");
            plans += usize::from(!expected.is_empty());
            nested += usize::from(Way::of(&plan).is_some());
        }
        assert!(plans > 10_000 && nested > 10_000, "{plans} {nested}");
    }
}
