//! Scans long rows in parts that threads share.
//!
//! A scan is made from totals of aligned blocks of 2^j elements. Parts are such blocks. Threads
//! first compute the totals of parts, then the values of parts, each from the totals before it. So
//! the additions and their order are the same as in one pass over the row.
#![allow(unsafe_code)] // computes the elements that callers vouch for
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "clippy does not find the comments in arguments of a macro of another file"
)]

use std::ops::Range;

use super::{
    reduce::{Partial, by_type, finish, of_rows},
    rows::{self, Rows},
    scans::{BLOCK, RunningExtreme, RunningSum},
};
use crate::{
    Combine, ElementType, ReduceForm,
    interpreter::{InputElements, Reducing, ResultElements, environment::FloatEnvironment},
};

/// The elements of a part, among the elements of all rows.
fn elements(all: &Rows<'_>, row: usize, part: usize, part_len: usize) -> Range<usize> {
    assert!(part_len.is_power_of_two() && part_len >= BLOCK, "parts are aligned blocks");
    let first = row * all.row_len;
    first + part * part_len..first + all.row_len.min((part + 1) * part_len)
}

/// The total of one part of a row, for the parts after it. A part has `part_len` elements, a power
/// of two from 1,024 on. The last part of a row needs no total.
///
/// # Panics
///
/// The conditions of [`execute_reduction`](super::execute_reduction); also if the length is not such a
/// power, or the part is not whole.
///
/// # Safety
///
/// All elements of the inputs may be read, and no other thread writes them meanwhile.
#[must_use]
pub unsafe fn execute_scan_total(
    work: &Reducing<'_>,
    inputs: &[InputElements<'_>],
    shape: &[usize],
    (row, part, part_len): (usize, usize, usize),
) -> Partial {
    let all = of_rows(work, inputs, shape, shape.len() - 1);
    let elements = elements(&all, row, part, part_len);
    assert_eq!(elements.len(), part_len, "the part is whole");
    let _standard = FloatEnvironment::standard();
    let machine = all.prepared.machine;
    by_type!(work.combine, work.program.result_type(),
        sums T PRODUCT => {
            let mut sums = RunningSum::<T, PRODUCT>::for_total(machine);
            // SAFETY: as the caller promises
            unsafe { rows::part(&all, elements, &mut sums, |_: &[T]| {}) };
            Partial::new(sums.total(), 0)
        },
        extremes T GREATER => {
            let mut extremes = RunningExtreme::<T, GREATER>::new(machine);
            // SAFETY: as the caller promises
            unsafe { rows::part(&all, elements, &mut extremes, |_: &[T]| {}) };
            Partial::new(extremes.total(), 0)
        }
    )
}

/// The values of one part of a row, given the totals of the parts before it by [`execute_scan_total`].
/// Together the parts have the bits of [`execute_reduction`](super::execute_reduction), whatever their
/// length is.
///
/// # Panics
///
/// The conditions of [`execute_scan_total`], except that the part need not be whole; also if there
/// are not as many totals as parts before this one.
///
/// # Safety
///
/// All elements of the inputs may be read, and the part's elements of the result may be written.
/// Meanwhile no other thread writes the inputs or touches that part.
pub unsafe fn execute_scan_part(
    work: &Reducing<'_>,
    form: ReduceForm,
    inputs: &[InputElements<'_>],
    result: ResultElements<'_>,
    (row, part, part_len): (usize, usize, usize),
    before: &[Partial],
) {
    assert_eq!(before.len(), part, "totals of the parts before");
    let shape = result.layout.shape();
    let all = of_rows(work, inputs, shape, shape.len() - 1);
    let elements = elements(&all, row, part, part_len);
    let _standard = FloatEnvironment::standard();
    let (machine, mut from) = (all.prepared.machine, elements.start);
    let mut store = |values: &[u8], len: usize| {
        // SAFETY: as the caller promises; the values belong to the result from there on
        unsafe { finish(work, values, result, from) };
        from += len;
    };
    by_type!(work.combine, work.program.result_type(),
        sums T PRODUCT => {
            let mut sums = RunningSum::<T, PRODUCT>::new(machine, form == ReduceForm::Exclusive);
            sums.start_behind(part_len, before.iter().map(|total| total.value::<T>()));
            let mut store = |values: &[T]| store(bytemuck::cast_slice(values), values.len());
            // SAFETY: as the caller promises
            unsafe { rows::part(&all, elements, &mut sums, &mut store) };
            let mut last = Vec::new();
            rows::RowSink::end(&mut sums, &mut last);
            store(&last);
        },
        extremes T GREATER => {
            let mut extremes = RunningExtreme::<T, GREATER>::new(machine);
            extremes.start_behind(before.iter().map(|total| total.value::<T>()));
            let store = |values: &[T]| store(bytemuck::cast_slice(values), values.len());
            // SAFETY: as the caller promises
            unsafe { rows::part(&all, elements, &mut extremes, store) };
        }
    );
}
