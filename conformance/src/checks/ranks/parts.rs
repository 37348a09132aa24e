//! Exchanges in place, and of as many rows as each rank likes.

use devarray::{
    Array, Error,
    backend::Collects,
    collective::{CollectiveError, Combination},
    ix,
};

use super::{Rank, bits, combined, counts, numbers, on_each, told};
use crate::{
    Harness, Outcome,
    patterns::elements,
    violation::{ensure, same},
};

/// A rank's part of a gathered array is given where it lies, and its part of a combined one replaces what it gave;
/// so in views, too.
pub fn in_place<D: Collects>(harness: &Harness<D>) -> Outcome {
    for count in counts(harness) {
        on_each(harness, count, |Rank { number, mut ranks, stream, .. }| {
            for len in [0, 1, 3, 700] {
                let what = |call: &str| format!("{call} in place, of {len} elements a part, {count} ranks");
                let own = |rank: usize| elements::<u16>(rank as u64 + 1, count * len);
                let part = |of: &[u16], rank: usize| of[rank * len..(rank + 1) * len].to_vec();
                let due: Vec<u16> = (0..count).flat_map(|rank| part(&own(rank), rank)).collect();
                let mut all = Array::from_slice(&stream, &[count, len], &own(number))?;
                ranks.all_gather_in_place(&stream, &mut all)?;
                same(&all.to_vec(&stream)?, &due, &what("all_gather"))?;
                // Every other column, and the rows from the last on.
                let mut wide = Array::full(&stream, &[count, 2 * len], 7_u16)?;
                let mut view = wide.view_mut().index(&ix![..; -1, ..; 2])?;
                view.copy_from_slice(&stream, &own(number))?;
                ranks.all_gather_in_place(&stream, &mut view)?;
                same(&view.as_view().to_vec(&stream)?, &due, &what("all_gather of a view"))?;
                let beside = wide.view().index(&ix![.., 1..; 2])?.to_vec(&stream)?;
                same(&beside, &vec![7; count * len], &what("elements beside the view of all_gather"))?;

                let mut due = numbers(number, count * len);
                let mut sums = Array::from_slice(&stream, &[count, len], &due)?;
                ranks.reduce_scatter_in_place(&stream, Combination::Sum, &mut sums)?;
                let combined = combined(Combination::Sum, count, count * len);
                let own = number * len..(number + 1) * len;
                due[own.clone()].copy_from_slice(&combined[own]);
                same(&bits(&sums.to_vec(&stream)?), &bits(&due), &what("reduce_scatter"))?;
            }
            let mut rows = Array::full(&stream, &[count + 1, 2], 1_i32)?;
            let refused = ranks.all_gather_in_place(&stream, &mut rows).err();
            ensure(matches!(refused, Some(Error::Layout { .. })), || format!("too many parts: {refused:?}"))?;
            let refused = ranks.reduce_scatter_in_place(&stream, Combination::Sum, &mut rows).err();
            ensure(matches!(refused, Some(Error::Layout { .. })), || format!("too many parts: {refused:?}"))
        })?;
    }
    Ok(())
}

/// Rows that a rank sends to another.
fn rows(from: usize, to: usize, round: usize) -> usize {
    // None in the first round, and none from the last rank to the first in any.
    if from > to + 1 { 0 } else { (from * 2 + to + round) * round % 5 }
}

/// Parts have as many rows as their ranks like, or none, and come to the right place; counts that differ are told to all
/// ranks, with the counts.
pub fn counted<D: Collects>(harness: &Harness<D>) -> Outcome {
    for count in counts(harness) {
        on_each(harness, count, |Rank { number, mut ranks, stream, .. }| {
            for (round, width) in [(0, 3), (1, 1), (2, 0), (3, 40), (4, 2)] {
                let what = |call: &str| format!("{call} of rows of {width}, {count} ranks, round {round}");
                let sent =
                    |rank: usize| -> Vec<usize> { (0..count).map(|to| rows(rank, to, round)).collect() };
                let own = |rank: usize| {
                    elements::<u32>(
                        100 * round as u64 + rank as u64,
                        sent(rank).iter().sum::<usize>() * width,
                    )
                };
                let received: Vec<usize> = (0..count).map(|from| rows(from, number, round)).collect();
                let due: Vec<u32> = (0..count)
                    .flat_map(|from| {
                        let before: usize = sent(from)[..number].iter().sum();
                        own(from)[before * width..(before + received[from]) * width].to_vec()
                    })
                    .collect();
                let (total, given) = (received.iter().sum::<usize>(), sent(number).iter().sum::<usize>());
                let source = Array::from_slice(&stream, &[given, width], &own(number))?;
                let (found, counts) = ranks.all_to_all_counted(&stream, &source, &sent(number))?;
                same(&counts, &received, &what("the counts of all_to_all_counted"))?;
                same(found.shape(), &[total, width], &what("the shape of all_to_all_counted"))?;
                same(&found.to_vec(&stream)?, &due, &what("all_to_all_counted"))?;
                // Columns, into columns.
                let mut turned = Array::full(&stream, &[width, total], 9_u32)?;
                let view = source.view().transpose().to_contiguous(&stream, devarray::Order::C)?;
                let mut columns = turned.view_mut().transpose();
                ranks.all_to_all_counted_into(
                    &stream,
                    &view.transpose(),
                    &sent(number),
                    &mut columns,
                    &received,
                )?;
                same(&columns.as_view().to_vec(&stream)?, &due, &what("all_to_all_counted_into"))?;
            }
            let source = Array::full(&stream, &[count, 2], 1_u8)?;
            let refused = ranks.all_to_all_counted(&stream, &source, &vec![2; count]).err();
            ensure(matches!(refused, Some(Error::Layout { .. })), || format!("more rows: {refused:?}"))?;
            // The last rank waits for one row more than rank 0 sends.
            let mut receive = vec![1; count];
            if number + 1 == count {
                receive[0] = 2;
            }
            let total = receive.iter().sum::<usize>();
            let mut result = Array::full(&stream, &[total, 2], 5_u8)?;
            let sent = vec![1; count];
            let error = told(ranks.all_to_all_counted_into(&stream, &source, &sent, &mut result, &receive))?;
            let text = error.to_string();
            let due = matches!(error, CollectiveError::Disagree(_)) && text.contains("[2, 1");
            ensure(due, || format!("counts that differ are told as {text}"))?;
            same(&result.to_vec(&stream)?, &vec![5; total * 2], "elements of a call that was refused")
        })?;
    }
    Ok(())
}
