//! Reductions and scans: rows of elements that are combined to one each, or summed as they go.
//!
//! [`rows`] combines a row element after element. Where neighbouring rows lie side by side,
//! [`strips`] combines a strip of rows at once. Both add in the order of [`Combine`], so the bits
//! are the same.
#![allow(unsafe_code)] // computes the elements that callers vouch for

use std::ops::Range;

use bytemuck::Pod;

use super::{
    Prepared,
    extremes::Extremes,
    map,
    nest::Nest,
    rows::{self, Rows},
    scans::{RunningExtreme, RunningSum},
    strips,
    sums::Sums,
};
use crate::{
    Combine, ElementType, ReduceForm,
    interpreter::{InputElements, Reducing, ResultElements, environment::FloatEnvironment},
};

/// The bits of a combined part of a row, and, for positions, where it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partial {
    bits: u64,
    position: i64,
}

impl Partial {
    pub(super) fn new<T: Pod>(value: T, position: i64) -> Self {
        let mut bits = [0; 8];
        bits[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
        Self { bits: u64::from_ne_bytes(bits), position }
    }

    pub(super) fn value<T: Pod>(self) -> T {
        bytemuck::pod_read_unaligned(&self.bits.to_ne_bytes()[..size_of::<T>()])
    }
}

/// Picks the types in which a combination is computed.
macro_rules! by_type {
    ($combine:expr, $of:expr, sums $t:ident $product:ident => $sums:expr, extremes $e:ident $greater:ident => $extremes:expr) => {{
        macro_rules! sums {
            ($type:ident) => {{
                type $t = $type;
                if $combine == Combine::Product {
                    const $product: bool = true;
                    $sums
                } else {
                    const $product: bool = false;
                    $sums
                }
            }};
        }
        macro_rules! extremes {
            ($type:ty) => {{
                type $e = $type;
                if matches!($combine, Combine::Maximum | Combine::ArgMaximum) {
                    const $greater: bool = true;
                    $extremes
                } else {
                    const $greater: bool = false;
                    $extremes
                }
            }};
        }
        match ($combine, $of) {
            (Combine::Sum | Combine::Product, ElementType::I64) => sums!(i64),
            (Combine::Sum | Combine::Product, ElementType::U64) => sums!(u64),
            (Combine::Sum | Combine::Product, ElementType::F32) => sums!(f32),
            (Combine::Sum | Combine::Product, ElementType::F64) => sums!(f64),
            (Combine::Sum | Combine::Product, other) => unreachable!("sums of {other} are refused before"),
            (_, ElementType::Bool | ElementType::U8) => extremes!(u8),
            (_, ElementType::I8) => extremes!(i8),
            (_, ElementType::I16) => extremes!(i16),
            (_, ElementType::U16) => extremes!(u16),
            (_, ElementType::I32) => extremes!(i32),
            (_, ElementType::U32) => extremes!(u32),
            (_, ElementType::I64) => extremes!(i64),
            (_, ElementType::U64) => extremes!(u64),
            (_, ElementType::F16) => extremes!(super::extremes::Half<false>),
            (_, ElementType::BF16) => extremes!(super::extremes::Half<true>),
            (_, ElementType::F32) => extremes!(f32),
            (_, ElementType::F64) => extremes!(f64),
        }
    }};
}

pub(super) use by_type;

/// Combines elements of the inputs for a range of rows, with the bits of
/// [`interpret_reduction`](crate::interpreter::interpret_reduction).
///
/// Several threads can share the work by ranges of rows. A few long rows can be shared by
/// [`execute_segments`], or [`execute_scan_part`](super::execute_scan_part).
///
/// # Panics
///
/// The conditions of [`execute`](super::execute); also if `combine` does not take the type of the program.
///
/// # Safety
///
/// The elements of the inputs may be read, the elements of the result may be written, and meanwhile
/// no other thread writes inputs or touches the result. Inputs and result share no byte.
pub unsafe fn execute_reduction(
    work: &Reducing<'_>,
    form: ReduceForm,
    inputs: &[InputElements<'_>],
    shape: &[usize],
    result: ResultElements<'_>,
    rows: Range<usize>,
) {
    let kept = if form == ReduceForm::Total { result.layout.rank() } else { shape.len().saturating_sub(1) };
    let all = of_rows(work, inputs, shape, kept);
    if rows.is_empty() || all.row_len == 0 {
        return;
    }
    let _standard = FloatEnvironment::standard();
    let (combine, of) = (work.combine, work.program.result_type());
    let arg = matches!(combine, Combine::ArgMinimum | Combine::ArgMaximum);
    let each = if form == ReduceForm::Total { 1 } else { all.row_len };
    let finish = |values: &[u8], from: usize| {
        // SAFETY: as the caller promises; the values belong to the result from there on
        unsafe { finish(work, values, result, from) }
    };
    let machine = all.prepared.machine;
    if form == ReduceForm::Total
        && let Some(strips) = strips::of(&all)
    {
        by_type!(combine, of,
            sums T PRODUCT => {
                // SAFETY: as the caller promises
                unsafe { strips.sums::<T, PRODUCT>(&all, rows, finish) }
            },
            extremes T GREATER => {
                // SAFETY: as the caller promises
                unsafe { strips.extremes::<T, GREATER>(&all, rows, arg, finish) }
            }
        );
        return;
    }
    let exclusive = form == ReduceForm::Exclusive;
    if let Some(strips) = strips::of(&all).filter(|_| form != ReduceForm::Total) {
        let results = Results::new(work, result, kept);
        let store = |values: &[u8], row: usize, k: usize| {
            // SAFETY: as the caller promises; the values belong to the rows at the position
            unsafe { results.store(work, values, row, k) }
        };
        by_type!(combine, of,
            sums T PRODUCT => {
                // SAFETY: as the caller promises
                unsafe { strips.running_sums::<T, PRODUCT>(&all, rows, exclusive, store) }
            },
            extremes T GREATER => {
                // SAFETY: as the caller promises
                unsafe { strips.running_extremes::<T, GREATER>(&all, rows, store) }
            }
        );
        return;
    }
    let mut from = rows.start * each;
    by_type!(combine, of,
        sums T PRODUCT => {
            let next = |values: &[T]| {
                finish(bytemuck::cast_slice(values), from);
                from += values.len();
            };
            // SAFETY: as the caller promises
            unsafe {
                if form == ReduceForm::Total {
                    rows::all(&all, rows, &mut Sums::<T, PRODUCT>::new(machine), next);
                } else {
                    rows::all(&all, rows, &mut RunningSum::<T, PRODUCT>::new(machine, exclusive), next);
                }
            }
        },
        extremes T GREATER => {
            // SAFETY: as the caller promises
            unsafe {
                if form != ReduceForm::Total {
                    rows::all(&all, rows, &mut RunningExtreme::<T, GREATER>::new(machine), |values: &[T]| {
                        finish(bytemuck::cast_slice(values), from);
                        from += values.len();
                    });
                } else if arg {
                    let mut totals = Extremes::<T, GREATER>::new(machine, arg);
                    rows::all(&all, rows, &mut totals.positions(), |values: &[i64]| {
                        finish(bytemuck::cast_slice(values), from);
                        from += values.len();
                    });
                } else {
                    rows::all(&all, rows, &mut Extremes::<T, GREATER>::new(machine, arg), |values: &[T]| {
                        finish(bytemuck::cast_slice(values), from);
                        from += values.len();
                    });
                }
            }
        }
    );
}

/// Combines a range of segments of one row of a total. Each has [`Combine::SEGMENT`] elements, the
/// last perhaps fewer. [`finish_segments`] takes the parts of all segments, in order. So several
/// threads can share a long row, and the bits do not depend on how many there are.
///
/// # Panics
///
/// The conditions of [`execute_reduction`].
///
/// # Safety
///
/// All elements of the inputs may be read, also in other segments, and no other thread writes them
/// meanwhile.
#[must_use]
pub unsafe fn execute_segments(
    work: &Reducing<'_>,
    inputs: &[InputElements<'_>],
    shape: &[usize],
    kept: usize,
    row: usize,
    segments: Range<usize>,
) -> Vec<Partial> {
    let all = of_rows(work, inputs, shape, kept);
    let end = all.row_len.min(segments.end * Combine::SEGMENT);
    let within = segments.start * Combine::SEGMENT..end;
    if within.is_empty() {
        return Vec::new();
    }
    let _standard = FloatEnvironment::standard();
    let first = row * all.row_len;
    let elements = first + within.start..first + within.end;
    let (combine, of) = (work.combine, work.program.result_type());
    let arg = matches!(combine, Combine::ArgMinimum | Combine::ArgMaximum);
    by_type!(combine, of,
        sums T PRODUCT => {
            let mut totals = Sums::<T, PRODUCT>::new(all.prepared.machine);
            // SAFETY: as the caller promises
            unsafe { rows::part(&all, elements, &mut totals, |_: &[T]| {}) };
            totals.into_segments().into_iter().map(|sum| Partial::new(sum, 0)).collect()
        },
        extremes T GREATER => {
            let mut totals = Extremes::<T, GREATER>::new(all.prepared.machine, arg);
            totals.start_at(within.start);
            // SAFETY: as the caller promises
            unsafe { rows::part(&all, elements, &mut totals, |_: &[T]| {}) };
            let (found, position) = totals.found();
            vec![Partial::new(found, position)]
        }
    )
}

/// Computes the outcome of a row from the parts of all its segments, in order.
///
/// # Panics
///
/// There is no part.
///
/// # Safety
///
/// The row's element of the result may be written.
pub unsafe fn finish_segments(
    work: &Reducing<'_>,
    parts: &[Partial],
    result: ResultElements<'_>,
    row: usize,
) {
    assert!(!parts.is_empty(), "a row has a segment at least");
    let _standard = FloatEnvironment::standard();
    let (combine, of) = (work.combine, work.program.result_type());
    let arg = matches!(combine, Combine::ArgMinimum | Combine::ArgMaximum);
    let finish = |value: &[u8]| {
        // SAFETY: as the caller promises
        unsafe { finish(work, value, result, row) }
    };
    let machine = Prepared::of(work.program).machine;
    by_type!(combine, of,
        sums T PRODUCT => {
            let sums: Vec<T> = parts.iter().map(|part| part.value::<T>()).collect();
            let total = Sums::<T, PRODUCT>::new(machine).of_segments(sums);
            finish(bytemuck::bytes_of(&total));
        },
        extremes T GREATER => {
            let mut totals = Extremes::<T, GREATER>::new(machine, arg);
            parts.iter().for_each(|part| totals.join(part.value::<T>(), part.position));
            let (found, position) = totals.found();
            if arg { finish(bytemuck::bytes_of(&position)) } else { finish(bytemuck::bytes_of(&found)) }
        }
    );
}

pub(super) fn of_rows<'a>(
    work: &Reducing<'a>,
    inputs: &'a [InputElements<'a>],
    shape: &'a [usize],
    kept: usize,
) -> Rows<'a> {
    assert!(work.combine.takes(work.program.result_type()), "elements of a type that is combined");
    let prepared = Prepared::of(work.program);
    assert_eq!(work.scalars.len(), prepared.code.scalars.len(), "as many scalars as the program has");
    prepared.check_inputs(inputs, shape);
    let row_len = shape[kept..].iter().product();
    Rows { prepared, scalars: work.scalars, inputs, shape, kept, row_len }
}

/// Computes the finish of combined values, which belong to the result from one position on.
///
/// # Safety
///
/// The elements of the result may be written, and there are as many values.
pub(super) unsafe fn finish(work: &Reducing<'_>, values: &[u8], result: ResultElements<'_>, from: usize) {
    let prepared = Prepared::of(work.finish);
    let code = &prepared.code;
    assert_eq!(work.finish_scalars.len(), code.scalars.len(), "as many scalars as the finish has");
    let item_bytes = code.inputs[0].len_bytes();
    let shape = result.layout.shape();
    let mut strides: super::nest::Steps<isize> = shape.iter().map(|_| 0).collect();
    let mut step = 1_isize;
    for (stride, &extent) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.wrapping_mul(extent.cast_signed());
    }
    // This would be position 0 of the whole result; only the range exists.
    let start = values.as_ptr().wrapping_sub(from * item_bytes);
    let written = (
        result.start.cast_const(),
        code.result_type.len_bytes(),
        result.layout.offset(),
        result.layout.strides(),
    );
    let nest = Nest::new(shape, [(start, item_bytes, 0, &strides[..]), written].into_iter());
    let range = from..from + values.len() / item_bytes;
    // SAFETY: as the caller promises
    unsafe { map::map(code, &nest, shape, work.finish_scalars, range) }
}

/// The results of a scan. Results of neighbouring rows are stored at once.
struct Results {
    /// The axes of rows in the result.
    rows: Nest,
    /// The step from one element of a row to the next.
    step_bytes: isize,
}

impl Results {
    fn new(work: &Reducing<'_>, result: ResultElements<'_>, kept: usize) -> Self {
        let item_bytes = Prepared::of(work.finish).code.result_type.len_bytes();
        let (layout, strides) = (result.layout, result.layout.strides());
        let of_rows = (result.start.cast_const(), item_bytes, layout.offset(), &strides[..kept]);
        let rows = Nest::new(&layout.shape()[..kept], std::iter::once(of_rows));
        Self { rows, step_bytes: strides[kept].wrapping_mul(item_bytes.cast_signed()) }
    }

    /// # Safety
    ///
    /// The elements at position `k` of the rows from `row` on, one for each value, may be written.
    unsafe fn store(&self, work: &Reducing<'_>, mut values: &[u8], mut row: usize, k: usize) {
        let code = &Prepared::of(work.finish).code;
        let item_bytes = code.inputs[0].len_bytes();
        while !values.is_empty() {
            let inner = self.rows.inner();
            let len = (values.len() / item_bytes).min(inner - row % inner);
            let (part, rest) = values.split_at(len * item_bytes);
            let start = self.rows.at(0, row).wrapping_offset(super::nest::scaled(k, self.step_bytes));
            let written = self.rows.operands[0].inner();
            let nest = Nest::line(
                len,
                [
                    (part.as_ptr(), item_bytes, item_bytes.cast_signed()),
                    (start, code.result_type.len_bytes(), written),
                ],
            );
            // SAFETY: as the caller promises
            unsafe { map::map(code, &nest, &[len], work.finish_scalars, 0..len) };
            (values, row) = (rest, row + len);
        }
    }
}
