//! Exchanges between ranks, which are threads here, each with a device of its own.

mod parts;
mod recorded;
mod unchecked;

use std::{thread, time::Duration};

use devarray::{
    Array, Context, Error, Result, StreamHandle,
    backend::{Capability, Collects},
    collective::{CollectiveError, Combination, Communicator, CommunicatorId},
};

pub use self::{
    parts::{counted, in_place},
    recorded::{recorded, recorded_refused},
    unchecked::{broken_off, not_compared, programs},
};
use crate::{
    Harness, Outcome, Pattern, Rng, Violation,
    harness::no_background_errors,
    patterns::{SHAPES, elements},
    violation::{ensure, same},
};

/// The time that a call may take if a rank does not come: a law is broken then.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// One rank.
struct Rank<D: Collects> {
    number: usize,
    ranks: Communicator<D>,
    stream: StreamHandle<D>,
    /// Another stream of the rank.
    other: StreamHandle<D>,
}

/// The numbers of ranks to try; if there are none, the law is not run.
fn counts<D: Collects>(harness: &Harness<D>) -> Vec<usize> {
    let counts = harness.rank_counts();
    if counts.is_empty() {
        harness.leave_out("there are not enough devices for two ranks");
    }
    counts
}

/// Runs a law on a thread for each rank; on none if the device says that it has no ranks, or if the library that
/// it needs is not on this machine.
fn on_each<D: Collects>(
    harness: &Harness<D>,
    count: usize,
    law: impl Fn(Rank<D>) -> Outcome + Sync,
) -> Outcome {
    let first = harness.context()?;
    if !first.device().info().capabilities.extras.has(Capability::Collectives) {
        let refused = Communicator::join(&first, &CommunicatorId::new(), 0, 1).err();
        let due = matches!(refused, Some(Error::Unsupported { capability: Capability::Collectives, .. }));
        return ensure(due, || format!("a device without ranks answers {refused:?}"));
    }
    if let Err(error @ Error::Library { .. }) = Communicator::join(&first, &CommunicatorId::new(), 0, 1) {
        harness.leave_out(error.to_string());
        return Ok(());
    }
    let contexts = harness.rank_contexts(count)?;
    let (id, law) = (&CommunicatorId::with_time_limit(TIME_LIMIT), &law);
    let run = |number: usize, context: &Context<D>| {
        let (stream, other) = (context.stream()?, context.stream()?);
        law(Rank { number, ranks: Communicator::join(context, id, number, count)?, stream, other })
    };
    let outcomes: Vec<Outcome> = thread::scope(|scope| {
        let start = |(number, context)| scope.spawn(move || run(number, context));
        let threads: Vec<_> = contexts.iter().enumerate().map(start).collect();
        let ended = |thread: thread::ScopedJoinHandle<'_, Outcome>| {
            thread.join().unwrap_or_else(|_| Err(Violation::new("a rank panicked")))
        };
        threads.into_iter().map(ended).collect()
    });
    // Report the rank that failed first. The other ranks only report that it is gone.
    let told =
        |outcome: &&Outcome| !matches!(outcome, Err(violation) if violation.message.contains("is gone"));
    outcomes
        .iter()
        .filter(told)
        .chain(&outcomes)
        .find(|outcome| outcome.is_err())
        .cloned()
        .unwrap_or(Ok(()))?;
    contexts.iter().try_for_each(no_background_errors)
}

/// The mistake that a call told of.
fn told<T>(outcome: Result<T>) -> Result<CollectiveError, Violation> {
    match outcome {
        Err(Error::Collective { error, .. }) => Ok(error),
        Err(other) => Err(Violation::new(format!("a mistake of several ranks is told as {other}"))),
        Ok(_) => Err(Violation::new("a mistake of several ranks is not told")),
    }
}

/// Numbers whose sum shows in which order they were added.
fn numbers(rank: usize, len: usize) -> Vec<f32> {
    (0..len).map(|k| 1.0 / (1 + (k * 7 + rank * 13) % 101) as f32).collect()
}

fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

/// The elements of all ranks, combined from rank 0 on.
fn combined(combination: Combination, count: usize, len: usize) -> Vec<f32> {
    let all: Vec<Vec<f32>> = (0..count).map(|rank| numbers(rank, len)).collect();
    let one = |k: usize| {
        let ranks = all.iter().map(|of| of[k]);
        match combination {
            Combination::Product => ranks.reduce(|a, b| a * b),
            Combination::Minimum => ranks.reduce(f32::min),
            Combination::Maximum => ranks.reduce(f32::max),
            Combination::Mean => ranks.reduce(|a, b| a + b).map(|sum| sum / count as f32),
            _ => ranks.reduce(|a, b| a + b),
        }
        .unwrap_or(0.0)
    };
    (0..len).map(one).collect()
}

/// Each combination of any number of elements has the value of its order: in a new array, in place, at
/// the root, and in parts.
pub fn reduced<D: Collects>(harness: &Harness<D>) -> Outcome {
    const COMBINATIONS: [Combination; 5] = [
        Combination::Sum,
        Combination::Product,
        Combination::Minimum,
        Combination::Maximum,
        Combination::Mean,
    ];
    for count in counts(harness) {
        on_each(harness, count, |Rank { number, mut ranks, stream, .. }| {
            for (case, len) in [0, 1, 2, 7, 255, 5000].into_iter().enumerate() {
                let combination = COMBINATIONS[case % COMBINATIONS.len()];
                for combination in [combination, Combination::Sum] {
                    let due = combined(combination, count, len);
                    let what = |call: &str| format!("{call}({combination}) of {len} elements, {count} ranks");
                    let mut own = Array::from_slice(&stream, &[len], &numbers(number, len))?;
                    let new = ranks.all_reduce(&stream, combination, &own)?.to_vec(&stream)?;
                    same(&bits(&new), &bits(&due), &what("all_reduce"))?;
                    let root = ranks.reduce(&stream, combination, 1, &own)?;
                    ensure(root.is_some() == (number == 1), || {
                        what("reduce, a result that is not the root's")
                    })?;
                    if let Some(root) = root {
                        same(&bits(&root.to_vec(&stream)?), &bits(&due), &what("reduce"))?;
                    }
                    ranks.all_reduce_in_place(&stream, combination, &mut own)?;
                    same(&bits(&own.to_vec(&stream)?), &bits(&due), &what("all_reduce in place"))?;
                    let parts = Array::from_slice(&stream, &[count, len], &numbers(number, count * len))?;
                    let part = ranks.reduce_scatter(&stream, combination, &parts)?.to_vec(&stream)?;
                    let due = combined(combination, count, count * len);
                    let due = &due[number * len..(number + 1) * len];
                    same(&bits(&part), &bits(due), &what("reduce_scatter"))?;
                }
            }
            let of = |rank: usize| u64::MAX - rank as u64;
            let mut own = Array::full(&stream, &[5], of(number))?;
            ranks.reduce_in_place(&stream, Combination::Sum, 0, &mut own)?;
            let sum = (0..count).map(of).fold(0, u64::wrapping_add);
            let due = if number == 0 { sum } else { of(number) };
            same(&own.to_vec(&stream)?, &[due; 5], "reduce in place, which leaves others as they were")
        })?;
    }
    Ok(())
}

/// Elements that are only moved come to the right place of the right rank, in any number.
pub fn moved<D: Collects>(harness: &Harness<D>) -> Outcome {
    for count in counts(harness) {
        on_each(harness, count, |Rank { number, mut ranks, stream, .. }| {
            for len in [0, 1, 3, 64, 4097] {
                let of = |rank: usize| elements::<u16>(rank as u64 + 1, count * len);
                let what = |call: &str| format!("{call} of {len} elements a part, {count} ranks");
                let own = Array::from_slice(&stream, &[count, len], &of(number))?;
                let all: Vec<u16> = (0..count).flat_map(of).collect();
                same(&ranks.all_gather(&stream, &own)?.to_vec(&stream)?, &all, &what("all_gather"))?;
                let part = |rank: usize| of(rank)[number * len..(number + 1) * len].to_vec();
                let due: Vec<u16> = (0..count).flat_map(part).collect();
                same(&ranks.all_to_all(&stream, &own)?.to_vec(&stream)?, &due, &what("all_to_all"))?;
                for root in 0..count {
                    let mut copy = Array::from_slice(&stream, &[count, len], &of(number))?;
                    ranks.broadcast(&stream, root, &mut copy)?;
                    same(&copy.to_vec(&stream)?, &of(root), &what("broadcast"))?;
                }
                // From each rank to the next, the last one first.
                for from in (0..count).rev() {
                    let to = (from + 1) % count;
                    if number == from {
                        ranks.send(&stream, to, &own)?;
                    } else if number == to {
                        let received = ranks.receive::<u16>(&stream, from, &[count * len])?;
                        same(&received.to_vec(&stream)?, &of(from), &what("receive"))?;
                    }
                }
            }
            ranks.barrier().map_err(Violation::from)
        })?;
    }
    Ok(())
}

/// Sources and results are views of any layout, other ones on each rank; nothing beside them is written.
pub fn strided<D: Collects>(harness: &Harness<D>) -> Outcome {
    let cases: Vec<u64> = (0..harness.cases() as u64).collect();
    let seed = harness.seed();
    for count in counts(harness) {
        on_each(harness, count, |Rank { number, mut ranks, stream, .. }| {
            for &case in &cases {
                let shape = SHAPES[usize::try_from(case).unwrap_or(0) % SHAPES.len()];
                // The views of each rank, which all ranks know.
                let views = |rank: usize| {
                    let mut rng = Rng::new(seed.wrapping_add(1000 * case + rank as u64));
                    let result = Pattern::random(&mut rng, shape, false);
                    (result, Pattern::random(&mut rng, shape, true))
                };
                let read = |rank: usize| {
                    let (_, source) = views(rank);
                    source.picture().read(&elements::<i32>(rank as u64, source.base_len()))
                };
                let (result, source) = views(number);
                let (mut due, from) = (
                    elements::<i32>(77, result.base_len()),
                    elements::<i32>(number as u64, source.base_len()),
                );
                let mut to = Array::from_slice(&stream, &result.base, &due)?;
                let array = Array::from_slice(&stream, &source.base, &from)?;
                let view = source.view(&array)?;
                ranks.all_reduce_into(
                    &stream,
                    Combination::Maximum,
                    &view,
                    &mut result.view_mut(&mut to)?,
                )?;
                let sources: Vec<Vec<i32>> = (0..count).map(read).collect();
                let greatest = |k: usize| sources.iter().map(|of| of[k]).max().unwrap_or(0);
                let values: Vec<i32> = (0..sources[0].len()).map(greatest).collect();
                result.picture().write(&mut due, &values);
                same(&to.to_vec(&stream)?, &due, &format!("all_reduce of {source:?} into {result:?}"))?;
                let root = usize::try_from(case).unwrap_or(0) % count;
                let before = to.to_vec(&stream)?;
                ranks.broadcast(&stream, root, &mut result.view_mut(&mut to)?)?;
                let mut due = before;
                result.picture().write(&mut due, &values);
                same(&to.to_vec(&stream)?, &due, &format!("broadcast of {result:?} from rank {root}"))?;
                same(&array.to_vec(&stream)?, &from, "the source of an exchange")?;
            }
            // Contiguous parts that begin behind the first element.
            let of = |rank: usize| elements::<i32>(rank as u64, 10);
            let own = Array::from_slice(&stream, &[10], &of(number))?;
            let mut line = Array::from_slice(&stream, &[10], &of(number))?;
            let (from, mut to) = (own.slice_axis(0, 3..5)?, line.view_mut().slice_axis(0, 7..9)?);
            ranks.all_reduce_into(&stream, Combination::Minimum, &from, &mut to)?;
            let least = |k: usize| (0..count).map(|rank| of(rank)[k]).min().unwrap_or(0);
            let mut due = of(number);
            (due[7], due[8]) = (least(3), least(4));
            same(&line.to_vec(&stream)?, &due, "an exchange of a part of an array")
        })?;
    }
    Ok(())
}

/// An exchange waits for work on other streams of each rank, and later work waits for the exchange. A
/// strict stream refuses the exchange instead, on the rank without the order.
pub fn ordered<D: Collects>(harness: &Harness<D>) -> Outcome {
    const LEN: usize = 3000;
    for count in counts(harness) {
        on_each(harness, count, |Rank { number, mut ranks, stream, other }| {
            let of = |rank: usize, round: u64| elements::<u32>(round * 10 + rank as u64, LEN);
            for round in 0..6 {
                let mut own = Array::<u32, D>::zeros(&stream, &[LEN])?;
                let mut all = Array::<u32, D>::zeros(&stream, &[count, LEN])?;
                let before = all.view().to_contiguous(&other, devarray::Order::C)?;
                own.view_mut().copy_from_slice(&other, &of(number, round))?;
                ranks.all_gather_into(&stream, &own, &mut all)?;
                own.view_mut().fill(&other, 7)?;
                let seen = all.view().to_contiguous(&other, devarray::Order::C)?;
                all.view_mut().fill(&other, 8)?;
                drop((own, all));
                let recycled = Array::full(&other, &[count, LEN], 9_u32)?;
                let due: Vec<u32> = (0..count).flat_map(|rank| of(rank, round)).collect();
                same(&seen.to_vec(&other)?, &due, "the result of an exchange, on another stream")?;
                same(
                    &before.to_vec(&other)?,
                    &vec![0; count * LEN],
                    "elements that were read before an exchange",
                )?;
                same(&recycled.to_vec(&other)?, &vec![9; count * LEN], "memory after an exchange")?;
            }
            let strict = ranks.context().strict_stream()?;
            let mut own = Array::<u32, D>::zeros(&stream, &[LEN])?;
            if number == 0 {
                let refused = ranks.all_reduce_in_place(&strict, Combination::Sum, &mut own);
                let due = matches!(refused, Err(Error::Hazard { operation: "all_reduce", .. }));
                ensure(due, || format!("a strict stream that is not ordered: {refused:?}"))?;
                strict.wait(&stream.record()?)?;
            }
            let on = if number == 0 { &strict } else { &stream };
            ranks.all_reduce_in_place(on, Combination::Sum, &mut own)?;
            same(&own.to_vec(on)?, &[0; LEN], "an exchange that was refused, and made again")
        })?;
    }
    Ok(())
}

/// Calls that differ are told to all ranks, by one and the same error; nothing changes, and nothing
/// succeeds later.
pub fn refused<D: Collects>(harness: &Harness<D>) -> Outcome {
    const SUM: Combination = Combination::Sum;
    for (count, case) in counts(harness).into_iter().flat_map(|count| (0..6).map(move |case| (count, case))) {
        on_each(harness, count, |Rank { number, mut ranks, stream, .. }| {
            let last = number + 1 == count;
            let before = elements::<f32>(number as u64, 4);
            let mut x = Array::from_slice(&stream, &[4], &before)?;
            let outcome = match case {
                0 if last => ranks.all_reduce_in_place(&stream, Combination::Product, &mut x),
                1 if last => ranks.all_reduce_in_place(&stream, SUM, &mut x.view_mut().slice_axis(0, ..3)?),
                2 if last => ranks.all_reduce(&stream, SUM, &Array::full(&stream, &[4], 1_i32)?).map(drop),
                3 if last => ranks.broadcast(&stream, 0, &mut x),
                4 => ranks.broadcast(&stream, usize::from(last), &mut x),
                5 if last => ranks.barrier(),
                _ => ranks.all_reduce_in_place(&stream, SUM, &mut x),
            };
            let error = told(outcome)?;
            let CollectiveError::Disagree(states) = &error else {
                return Err(Violation::new(format!("calls that differ are told as {error}")));
            };
            ensure(states.iter().count() == count, || format!("not all ranks are named: {error}"))?;
            let later = told(ranks.all_gather(&stream, &x))?;
            ensure(later == error, || format!("{error}, and then {later}"))?;
            same(&bits(&x.to_vec(&stream)?), &bits(&before), "elements of a call that was refused")
        })?;
    }
    Ok(())
}

/// If a rank drops or aborts its communicator, the other ranks get an error, and none of them waits for it.
pub fn gone<D: Collects>(harness: &Harness<D>) -> Outcome {
    for count in counts(harness) {
        for aborts in [false, true] {
            on_each(harness, count, |Rank { number, mut ranks, stream, .. }| {
                let before = elements::<f32>(number as u64, 4);
                let mut x = Array::from_slice(&stream, &[4], &before)?;
                if number == 0 {
                    if aborts {
                        ranks.abort();
                    }
                    return Ok(());
                }
                let error = told(ranks.all_reduce_in_place(&stream, Combination::Sum, &mut x))?;
                let due = match &error {
                    CollectiveError::Gone { rank: 0, .. } => !aborts,
                    CollectiveError::Aborted => aborts,
                    _ => false,
                };
                ensure(due, || format!("a rank that is gone is told as {error}"))?;
                same(&bits(&x.to_vec(&stream)?), &bits(&before), "elements of a call that failed")
            })?;
        }
    }
    Ok(())
}

/// Groups of a split exchange among themselves, numbered in the order of ranks.
pub fn groups<D: Collects>(harness: &Harness<D>) -> Outcome {
    for count in counts(harness) {
        on_each(harness, count, |Rank { number, mut ranks, stream, .. }| {
            let color = |rank: usize| if count == 2 { 5 } else { rank % 2 };
            let members: Vec<u64> =
                (0..count).filter(|&rank| color(rank) == color(number)).map(|rank| rank as u64).collect();
            let own = Array::full(&stream, &[2], number as u64)?;
            let Some(mut group) = ranks.split(Some(color(number)))? else {
                return Err(Violation::new("a rank with a color has no group"));
            };
            let all = group.all_gather(&stream, &own)?.to_vec(&stream)?;
            let due: Vec<u64> = members.iter().flat_map(|&rank| [rank; 2]).collect();
            same(&all, &due, "the ranks of a group")?;
            let place = members.iter().position(|&rank| rank == number as u64);
            ensure(Some(group.rank()) == place && group.ranks() == members.len(), || format!("{group:?}"))?;
            let none = ranks.split(None)?;
            ensure(none.is_none(), || "a rank without a color has a group".to_owned())?;
            let all: Vec<u64> = (0..count).flat_map(|rank| [rank as u64; 2]).collect();
            same(&ranks.all_gather(&stream, &own)?.to_vec(&stream)?, &all, "all ranks after a split")
        })?;
    }
    Ok(())
}
