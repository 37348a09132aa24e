//! Exchanges whose calls are not compared.
#![allow(unsafe_code)] // makes the same calls on all ranks, and says so

use std::thread;

use devarray::{
    Array, Error,
    backend::Collects,
    collective::{Combination, Communicator},
};

use super::{Rank, bits, combined, counts, numbers, on_each, told};
use crate::{
    Harness, Outcome, Violation,
    patterns::elements,
    rank_programs::{Functions, RankProgram},
    violation::{ensure, same},
};

/// The communicator, for checks that make equal calls on all ranks.
fn unchecked<D: Collects>(ranks: Communicator<D>) -> Communicator<D> {
    // SAFETY: the checks below make the same exchanges on all ranks.
    unsafe { ranks.into_unchecked() }
}

/// Exchanges that are not compared have the same values as others, in the order of streams; also those between
/// two ranks that others take no part in.
pub fn not_compared<D: Collects>(harness: &Harness<D>) -> Outcome {
    const LEN: usize = 900;
    for count in counts(harness) {
        on_each(harness, count, |Rank { number, ranks, stream, other }| {
            let mut ranks = unchecked(ranks);
            let due = combined(Combination::Sum, count, LEN);
            for round in 0..5 {
                let mut own = Array::from_slice(&stream, &[LEN], &numbers(number, LEN))?;
                ranks.all_reduce_in_place(&stream, Combination::Sum, &mut own)?;
                let sum = own.view().to_contiguous(&other, devarray::Order::C)?;
                own.view_mut().fill(&other, 3.0)?;
                same(&bits(&sum.to_vec(&other)?), &bits(&due), "a sum that was not compared")?;
                // Only the first two exchange; the others are ahead.
                let of = |rank: usize| elements::<u64>(10 * round + rank as u64, 50);
                let given = Array::from_slice(&stream, &[50], &of(number))?;
                if number == 0 {
                    ranks.send(&stream, 1, &given)?;
                    let back = ranks.receive::<u64>(&other, 1, &[50])?;
                    same(&back.to_vec(&stream)?, &of(1), "what was sent back")?;
                } else if number == 1 {
                    let came = ranks.receive::<u64>(&stream, 0, &[50])?;
                    ranks.send(&other, 0, &given)?;
                    same(&came.to_vec(&stream)?, &of(0), "what was sent")?;
                }
                let none = Array::<u8, D>::zeros(&stream, &[0])?;
                drop(ranks.all_gather(&stream, &none)?);
                let all = ranks.all_gather(&stream, &given)?.to_vec(&other)?;
                same(&all, &(0..count).flat_map(of).collect::<Vec<_>>(), "what all gave")?;
            }
            // These are compared, whatever the communicator is.
            ranks.barrier()?;
            let Some(mut group) = ranks.split(Some(0))? else {
                return Err(Violation::new("a rank with a color has no group"));
            };
            let mut x = Array::full(&stream, &[1 + number], 1_u8)?;
            told(group.broadcast(&stream, 0, &mut x))?;
            ranks.broadcast(&stream, 0, &mut x.view_mut().slice_axis(0, ..1)?).map_err(Violation::from)
        })?;
    }
    Ok(())
}

/// A call that fails on one rank, an abort and a panic end an unchecked communicator for all: nobody waits for
/// a rank that does not come.
pub fn broken_off<D: Collects>(harness: &Harness<D>) -> Outcome {
    let cases = if counts(harness).is_empty() { 0..0 } else { 0..3 };
    for case in cases {
        on_each(harness, 2, |Rank { number, ranks, stream, .. }| {
            let mut ranks = unchecked(ranks);
            let mut x = Array::full(&stream, &[4], 1_i32)?;
            ranks.all_reduce_in_place(&stream, Combination::Sum, &mut x)?;
            x.to_vec(&stream)?;
            if number == 0 {
                match case {
                    0 => ranks.abort(),
                    1 => {
                        // A strict stream refuses what is not ordered.
                        let strict = ranks.context().strict_stream()?;
                        x.view_mut().fill(&stream, 2)?;
                        let refused = ranks.all_reduce_in_place(&strict, Combination::Sum, &mut x);
                        ensure(refused.is_err(), || "a hazard is not refused".to_owned())?;
                        told(ranks.all_reduce_in_place(&stream, Combination::Sum, &mut x))?;
                    }
                    _ => {
                        let panics = move || {
                            let _gone = ranks;
                            std::panic::resume_unwind(Box::new("on purpose"));
                        };
                        let panicked = thread::scope(|scope| scope.spawn(panics).join());
                        ensure(panicked.is_err(), || "a thread did not panic".to_owned())?;
                    }
                }
                return Ok(());
            }
            // The end of a communicator cuts off exchanges that are on a stream. The next call fails.
            for _ in 0..3 {
                let failed = ranks.all_reduce_in_place(&stream, Combination::Sum, &mut x);
                match failed {
                    Ok(()) => {}
                    // A library may see the end first.
                    Err(Error::Collective { .. } | Error::Library { .. }) => return Ok(()),
                    Err(other) => return Err(Violation::new(format!("the end is told as {other}"))),
                }
                stream.synchronize()?;
            }
            Err(Violation::new("calls go on without the other rank"))
        })?;
    }
    Ok(())
}

/// Random programs of ranks have the bits of vectors.
pub fn programs<D: Collects>(harness: &Harness<D>) -> Outcome {
    for count in counts(harness) {
        let first = harness.seed().wrapping_mul(0x1_0000).wrapping_add(count as u64);
        let programs: Vec<RankProgram> = (0..harness.cases().div_ceil(4) as u64)
            .map(|case| RankProgram::drawn(first.wrapping_add(case), count))
            .collect();
        on_each(harness, count, |Rank { number, mut ranks, .. }| {
            for program in &programs {
                let Some(group) = ranks.split(Some(0))? else {
                    return Err(Violation::new("a rank with a color has no group"));
                };
                program.compare(number, &program.play(group, Functions::of_host())?)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}
