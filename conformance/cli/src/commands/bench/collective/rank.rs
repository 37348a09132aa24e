//! One rank: its part in exchanges, checked and timed.
#![allow(unsafe_code)] // makes the same calls on all ranks, and says so

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use devarray::{
    Array, Context, StreamHandle,
    backend::Collects,
    collective::{Combination, Communicator, CommunicatorId},
    function::Number,
};

use super::case::{Case, Element, Name};

/// The time for which a call waits for other ranks.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(60);
/// Rounds that the median is of.
const ROUNDS: usize = 7;
/// Calls of a round, where they are small, and bytes of all of them, where they are large.
const MOST_CALLS: usize = 200;
const ROUND_BYTES: usize = 1 << 30;

/// The part of a rank in two communicators.
pub(super) struct Rank<D: Collects> {
    checked: Communicator<D>,
    unchecked: Communicator<D>,
    stream: StreamHandle<D>,
}

/// Seconds of a call, round by round.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) checked: Vec<f64>,
    pub(super) unchecked: Vec<f64>,
    /// The mistake in the result, if there is one.
    pub(super) wrong: Option<String>,
}

/// The elements of a rank.
struct Sides<T: Number, D: Collects> {
    from: Array<T, D>,
    to: Array<T, D>,
}

impl<D: Collects> Rank<D> {
    pub(super) fn join(context: &Context<D>, id: &CommunicatorId, rank: usize, ranks: usize) -> Result<Self> {
        let mut checked = Communicator::join(context, id, rank, ranks)?;
        let other = checked.split(Some(0))?.context("a rank with a color has no group")?;
        // SAFETY: all ranks measure the same cases with the same calls.
        let unchecked = unsafe { other.into_unchecked() };
        Ok(Self { checked, unchecked, stream: context.stream()? })
    }

    /// Measures a case, as all ranks do. An error ends it for all.
    pub(super) fn measure(&mut self, case: &Case) -> Result<Found> {
        let aborters = [self.checked.aborter(), self.unchecked.aborter()];
        let found = match case.element {
            Element::U8 => self.measure_of::<u8>(case),
            Element::I32 => self.measure_of::<i32>(case),
            Element::F32 => self.measure_of::<f32>(case),
            Element::F64 => self.measure_of::<f64>(case),
        };
        if found.is_err() {
            aborters.iter().for_each(devarray::collective::Aborter::abort);
        }
        found
    }

    fn measure_of<T: Number + From<u8> + PartialEq>(&mut self, case: &Case) -> Result<Found> {
        let Self { checked, unchecked, stream } = self;
        let (rank, ranks) = (checked.rank(), checked.ranks());
        let (len_from, len_to) = lens(case, ranks);
        let elements: Vec<T> = (0..len_from).map(|k| T::from(value(rank, k))).collect();
        let from = Array::from_slice(
            stream,
            &shape(case, ranks, len_from, case.name != Name::AllGather),
            &elements,
        )?;
        drop(elements);
        let to = Array::full(
            stream,
            &shape(case, ranks, len_to, case.name != Name::ReduceScatter),
            T::from(0xEE),
        )?;
        let mut sides = Sides { from, to };
        for of in [&mut *checked, &mut *unchecked] {
            if case.name == Name::Broadcast {
                let source = sides.from.view();
                sides.to.view_mut().copy_from(stream, &source)?;
            } else {
                sides.to.view_mut().fill(stream, T::from(0xEE))?;
            }
            sides.exchange(of, stream, case)?;
            let wrong = wrong(case, (rank, ranks), &sides.to.to_vec(stream)?);
            if wrong.is_some() {
                return Ok(Found { wrong, ..Found::default() });
            }
        }
        let calls = (ROUND_BYTES / case.bytes(ranks)).clamp(2, MOST_CALLS);
        let calls = if stream.context().device().info().backend == "mock" { 2 } else { calls };
        let mut found = Found::default();
        for _ in 0..ROUNDS {
            for (of, seconds) in
                [(&mut *checked, &mut found.checked), (&mut *unchecked, &mut found.unchecked)]
            {
                stream.synchronize()?;
                of.barrier()?;
                let begun = Instant::now();
                for _ in 0..calls {
                    sides.exchange(of, stream, case)?;
                }
                stream.synchronize()?;
                seconds.push(begun.elapsed().as_secs_f64() / calls as f64);
            }
        }
        Ok(found)
    }
}

/// Elements of the source and of the result.
fn lens(case: &Case, ranks: usize) -> (usize, usize) {
    let part = case.part(ranks);
    match case.name {
        Name::AllReduce | Name::Broadcast | Name::Send => (case.count, case.count),
        Name::AllGather => (part, part * ranks),
        Name::ReduceScatter => (part * ranks, part),
        Name::AllToAll => (part * ranks, part * ranks),
    }
}

/// The shape of a side: of parts, where it has one for each rank.
fn shape(case: &Case, ranks: usize, len: usize, may_have_parts: bool) -> Vec<usize> {
    let has_parts = matches!(case.name, Name::AllGather | Name::ReduceScatter | Name::AllToAll);
    if has_parts && may_have_parts { vec![ranks, len / ranks] } else { vec![len] }
}

/// Small numbers: sums of floats are exact.
#[expect(clippy::cast_possible_truncation, reason = "below 4")]
fn value(rank: usize, at: usize) -> u8 {
    ((at * 7 + rank * 5 + at / 64) % 4) as u8
}

/// The first difference in a result.
fn wrong<T: Number + From<u8> + PartialEq>(
    case: &Case,
    (rank, ranks): (usize, usize),
    found: &[T],
) -> Option<String> {
    let part = case.part(ranks);
    let sum = |at: usize| (0..ranks).fold(0_u8, |sum, rank| sum + value(rank, at));
    let due = |at: usize| match case.name {
        Name::AllReduce => sum(at),
        Name::ReduceScatter => sum(rank * part + at),
        Name::Broadcast => value(0, at),
        Name::AllGather => value(at / part, at % part),
        Name::AllToAll => value(at / part, rank * part + at % part),
        Name::Send if rank == 1 => value(0, at),
        Name::Send => 0xEE,
    };
    let at = (0..found.len()).find(|&at| found[at] != T::from(due(at)))?;
    Some(format!("element {at} of rank {rank} is not {}", due(at)))
}

impl<T: Number, D: Collects> Sides<T, D> {
    fn exchange(&mut self, ranks: &mut Communicator<D>, stream: &StreamHandle<D>, case: &Case) -> Result<()> {
        let Self { from, to } = self;
        match case.name {
            Name::AllReduce => ranks.all_reduce_into(stream, Combination::Sum, &*from, to)?,
            Name::AllGather => ranks.all_gather_into(stream, &*from, to)?,
            Name::ReduceScatter => ranks.reduce_scatter_into(stream, Combination::Sum, &*from, to)?,
            Name::Broadcast => ranks.broadcast(stream, 0, to)?,
            Name::AllToAll => ranks.all_to_all_into(stream, &*from, to)?,
            Name::Send if ranks.rank() == 0 => ranks.send(stream, 1, &*from)?,
            Name::Send if ranks.rank() == 1 => ranks.receive_into(stream, 0, to)?,
            Name::Send => {}
        }
        Ok(())
    }
}
