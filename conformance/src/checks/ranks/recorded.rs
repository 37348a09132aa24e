//! Exchanges in recorded work.

use devarray::{
    Array, ArrayView, ArrayViewMut, Error, Order, Result, StreamHandle,
    backend::Collects,
    collective::{CollectiveError, Combination, Communicator},
    ix,
    recorded::RecordingError,
};

use super::{Rank, bits, counts, numbers, on_each, told};
use crate::{
    Harness, Outcome, Violation,
    violation::{ensure, same},
};

/// Exchanges of every kind among copies and fills; it knows nothing of recordings. The source and both results have a
/// row for each rank.
fn step<D: Collects>(
    on: &StreamHandle<D>,
    source: &ArrayView<'_, f32, D>,
    sums: &mut ArrayViewMut<'_, f32, D>,
    moved: &mut ArrayViewMut<'_, f32, D>,
    ranks: &mut Communicator<D>,
) -> Result<()> {
    let (count, here) = (ranks.ranks(), ranks.rank());
    sums.copy_from(on, source)?;
    ranks.all_reduce_in_place(on, Combination::Mean, sums)?;
    let sum = ranks.all_reduce(on, Combination::Sum, source)?;
    // Two exchanges with nothing between them, and views that are packed.
    let turned = ranks.all_gather(on, &source.index(&ix![here, ..; -1])?)?;
    ranks.all_to_all_into(on, &turned.index(&ix![..; -1])?, moved)?;
    ranks.reduce_scatter_into(on, Combination::Maximum, &sum, &mut sums.reborrow().index(&ix![here])?)?;
    if let Some(least) = ranks.reduce(on, Combination::Minimum, count - 1, moved)? {
        sums.reborrow().index(&ix![0])?.copy_from(on, &least.index(&ix![1])?)?;
    }
    ranks.broadcast(on, 0, &mut sums.reborrow().index(&ix![.., ..; 2])?)?;
    match here {
        0 => ranks.send(on, 1, &sum.index(&ix![1])?)?,
        1 => ranks.receive_into(on, 0, &mut moved.reborrow().index(&ix![0])?)?,
        _ => {}
    }
    let ones = vec![1; count];
    let mut rows = Array::uninit(on, source.shape())?;
    ranks.all_to_all_counted_into(on, source, &ones, &mut rows, &ones)?;
    moved.reborrow().index(&ix![1..])?.copy_from(on, &rows.index(&ix![1..])?)?;
    sums.reborrow().index(&ix![1, ..; 3])?.fill(on, 0.5)
}

/// A recorded exchange has the bits of one that is called: of the arrays and the communicator of each launch, in the
/// order of streams.
pub fn recorded<D: Collects>(harness: &Harness<D>) -> Outcome {
    for count in counts(harness) {
        on_each(harness, count, |Rank { number, mut ranks, stream, other }| {
            let Some(mut group) = ranks.split(Some(0))? else {
                return Err(Violation::new("a rank with a color has no group"));
            };
            for len in [1, 5, 900] {
                let shape = [count, len];
                let given = |round: usize| {
                    let all = numbers(number + 17 * round, 2 * count * len);
                    Array::from_slice(&stream, &[2 * count, len], &all)
                };
                let first = given(0)?;
                let (mut sums, mut moved) = (Array::zeros(&stream, &shape)?, Array::zeros(&stream, &shape)?);
                let source = first.slice_axis(0, ..count)?;
                let recorded = stream.record_work(
                    (&source, &mut sums, &mut moved, &mut ranks),
                    |on, (source, mut sums, mut moved, ranks)| {
                        step(on, &source, &mut sums, &mut moved, ranks)
                    },
                )?;
                for round in 0..4 {
                    let all = given(round)?;
                    // Elements that begin elsewhere, and every other time another communicator.
                    let source = all.slice_axis(0, round % 2 * count..(round % 2 + 1) * count)?;
                    let (with, on) = match round % 2 {
                        0 => (&mut ranks, &stream),
                        _ => (&mut group, &other),
                    };
                    let [mut due, mut due_moved] = [Array::zeros(on, &shape)?, Array::zeros(on, &shape)?];
                    step(on, &source, &mut due.view_mut(), &mut due_moved.view_mut(), with)?;
                    recorded.launch(on, (&source, &mut sums, &mut moved, with))?;
                    let what = |of: &str| format!("{of} of launch {round}, {count} ranks with rows of {len}");
                    let seen = sums.view().to_contiguous(&stream, Order::C)?;
                    sums.view_mut().fill(&other, 7.0)?;
                    same(&bits(&seen.to_vec(&other)?), &bits(&due.to_vec(&stream)?), &what("sums"))?;
                    let [found, due] = [moved.to_vec(&other)?, due_moved.to_vec(&stream)?];
                    same(&bits(&found), &bits(&due), &what("moved elements"))?;
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// A closure that is recorded.
type Work<'w, D> = dyn FnMut(&StreamHandle<D>, &mut Communicator<D>) -> Result<()> + 'w;

/// A refusal of recorded work.
fn refused(found: Result<()>, operation: &str, due: RecordingError) -> Outcome {
    let is_due = matches!(&found, Err(Error::Recording { operation: of, error, .. })
        if *of == operation && *error == due);
    ensure(is_due, || format!("{operation}: {found:?}, due is {due:?}"))
}

/// Calls and launches that do not fit are refused, and no other rank is asked; exchanges of launches that differ are
/// told to all ranks, with the lines of the recorded calls.
pub fn recorded_refused<D: Collects>(harness: &Harness<D>) -> Outcome {
    const SUM: Combination = Combination::Sum;
    for count in counts(harness) {
        on_each(harness, count, |Rank { number, mut ranks, stream, .. }| {
            let s = &stream;
            let Some(mut group) = ranks.split(Some(count - number))? else {
                return Err(Violation::new("a rank with a color has no group"));
            };
            let last = number + 1 == count;
            let before = numbers(number, 4);
            let mut x = Array::from_slice(s, &[4], &before)?;
            // Each rank alone is refused, and the others know nothing of it.
            if last {
                let not = RecordingError::NotRecorded;
                let mut record = |work: &mut Work<'_, D>| {
                    s.record_work((&mut ranks,), |on, (ranks,)| work(on, ranks)).map(drop)
                };
                refused(record(&mut |_, ranks| ranks.barrier()), "barrier", not)?;
                refused(record(&mut |_, ranks| ranks.split(None).map(drop)), "split", not)?;
                let counts = vec![0; count];
                refused(
                    record(&mut |on, ranks| {
                        let none = Array::<f32, D>::uninit(on, &[0, 2])?;
                        ranks.all_to_all_counted(on, &none, &counts).map(drop)
                    }),
                    "all_to_all_counted",
                    not,
                )?;
                let outside = RecordingError::Outside;
                refused(record(&mut |_, ranks| ranks.broadcast(s, 0, &mut x)), "broadcast", outside)?;
                let other = RecordingError::OtherRanks;
                refused(
                    record(&mut |on, _| {
                        group.all_reduce_in_place(on, SUM, &mut Array::<f32, D>::uninit(on, &[4])?)
                    }),
                    "all_reduce",
                    other,
                )?;
                let argument = RecordingError::NoArgument;
                refused(
                    record(&mut |on, ranks| ranks.all_reduce_in_place(on, SUM, &mut x)),
                    "all_reduce",
                    argument,
                )?;
                let nested = record(&mut |_, ranks| s.record_work((ranks,), |_, _| Ok(())).map(drop));
                refused(nested, "record_work", outside)?;
                let wrong = record(&mut |on, ranks| {
                    ranks.all_to_all(on, &Array::<f32, D>::uninit(on, &[count + 1, 2])?).map(drop)
                });
                ensure(matches!(wrong, Err(Error::Layout { .. })), || format!("too many parts: {wrong:?}"))?;
                let wrong = record(&mut |on, ranks| {
                    ranks.all_reduce_in_place(on, Combination::Mean, &mut Array::<i32, D>::uninit(on, &[4])?)
                });
                ensure(matches!(told(wrong)?, CollectiveError::NoMean(_)), || {
                    "a mean of integers".to_owned()
                })?;
            }
            let other = line!() + 3;
            let sums = s.record_work((&mut x, &mut ranks), |on, (mut x, ranks)| {
                x.fill(on, 3.0)?;
                ranks.all_reduce_in_place(on, SUM, &mut x)
            })?;
            let place = RecordingError::Ranks(1);
            refused(sums.launch(s, (&mut x, &mut group)), "launch", place)?;
            same(&bits(&x.to_vec(s)?), &bits(&before), "elements of a launch that was refused")?;
            sums.launch(s, (&mut x, &mut ranks))?;
            same(&x.to_vec(s)?, &[3.0 * count as f32; 4], "a launch after refusals")?;
            let line = line!() + 2;
            let part = s.record_work((&mut x, &mut ranks), |on, (x, ranks)| {
                ranks.all_reduce_in_place(on, SUM, &mut x.slice_axis(0, ..3)?)
            });
            let launched = if last { part? } else { sums };
            let error = told(launched.launch(s, (&mut x, &mut ranks)))?;
            let text = error.to_string();
            let names = |line: u32| text.contains(&format!("ranks/recorded.rs:{line}:"));
            let is_told = matches!(error, CollectiveError::Disagree(_)) && names(line) && names(other);
            ensure(is_told, || format!("launches that differ are told as {text}"))?;
            let later = told(ranks.all_gather(s, &x))?;
            ensure(later == error, || format!("{error}, and then {later}"))?;
            let due = if last { 3.0 * count as f32 } else { 3.0 };
            same(&x.to_vec(s)?, &[due; 4], "elements of a launch whose exchange failed")
        })?;
    }
    Ok(())
}
