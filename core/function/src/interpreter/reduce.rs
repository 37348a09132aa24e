//! Computes reductions and scans on host memory.
#![allow(unsafe_code)] // computes elements into memory of its own

use std::{mem, ops::Range};

use bytemuck::Pod;

use super::{
    InputElements, ResultElements,
    accumulator::{Half, Ordered, Summed, extreme, takes_place},
    interpret_range,
};
use crate::{Combine, ElementType, ReduceForm, primitive::Program};
use devarray_layout::{Layout, Order};

/// The computations of a reduction or a scan.
#[derive(Clone, Copy)]
pub struct Reducing<'a> {
    /// The program of each element. Its results are combined.
    pub program: &'a Program,
    /// The scalars of the program.
    pub scalars: &'a [u64],
    /// The combination of elements.
    pub combine: Combine,
    /// The function of the combined elements. It has one input, of the type
    /// [`Combine::result_type`].
    pub finish: &'a Program,
    /// The scalars of `finish`.
    pub finish_scalars: &'a [u64],
}

/// Combines elements of the inputs for a range of rows, counted in row-major order: the elements of
/// a total, or the rows of a scan.
///
/// The inputs have the shape `shape`. A total keeps its first axes and combines the others; a scan
/// has all axes and runs along the last. An empty range does nothing.
///
/// # Panics
///
/// The panics of [`interpret`](super::interpret); also if `combine` does not take the type of the program.
///
/// # Safety
///
/// The elements of the inputs may be read, the elements of the result may be written, and meanwhile
/// no other thread writes inputs or touches the result. Inputs and result share no byte.
pub unsafe fn interpret_reduction(
    work: &Reducing<'_>,
    form: ReduceForm,
    inputs: &[InputElements<'_>],
    shape: &[usize],
    result: ResultElements<'_>,
    rows: Range<usize>,
) {
    let row_len = match form {
        ReduceForm::Total => shape[result.layout.rank()..].iter().product(),
        ReduceForm::Inclusive | ReduceForm::Exclusive => shape.last().copied().unwrap_or(1),
    };
    if rows.is_empty() || row_len == 0 {
        return;
    }
    assert!(work.combine.takes(work.program.result_type()), "elements of a type that is combined");
    // SAFETY: as the caller promises
    let values = unsafe { by_type(work, inputs, shape, row_len, rows.clone(), form) };
    let each = if form == ReduceForm::Total { 1 } else { row_len };
    // SAFETY: as the caller promises; as many values are there
    unsafe { finish(work, &values, result, rows.start * each..rows.end * each) }
}

/// Computes the finish of the combined values.
///
/// # Safety
///
/// The elements of the result in the range may be written, and there are as many values.
unsafe fn finish(work: &Reducing<'_>, values: &[u8], result: ResultElements<'_>, range: Range<usize>) {
    let item_bytes = work.finish.inputs()[0].len_bytes();
    let layout = Layout::contiguous(result.layout.shape(), Order::C).expect("as large as the result");
    // This would be position 0 of the whole result; only the range exists.
    let start = values.as_ptr().wrapping_sub(range.start * item_bytes);
    let input = InputElements { start, layout: &layout };
    // SAFETY: only the range of the values is read, and it exists
    unsafe { interpret_range(work.finish, &[input], work.finish_scalars, result, range) }
}

/// # Safety
///
/// The conditions of [`interpret_reduction`].
unsafe fn by_type(
    work: &Reducing<'_>,
    inputs: &[InputElements<'_>],
    shape: &[usize],
    row_len: usize,
    rows: Range<usize>,
    form: ReduceForm,
) -> Vec<u8> {
    let rows = Rows { work, inputs, shape, row_len, rows };
    macro_rules! all {
        ($combined:ty, $first:expr) => {
            // SAFETY: as the caller promises; an element is as wide as the type says
            unsafe { rows.all(<$combined>::new($first, form)) }
        };
    }
    let element_type = work.program.result_type();
    if matches!(work.combine, Combine::Sum | Combine::Product) {
        let product = work.combine == Combine::Product;
        return match element_type {
            ElementType::I64 => all!(Totals<i64>, product),
            ElementType::U64 => all!(Totals<u64>, product),
            ElementType::F32 => all!(Totals<f32>, product),
            ElementType::F64 => all!(Totals<f64>, product),
            other => unreachable!("sums of {other} are refused before"),
        };
    }
    match element_type {
        ElementType::Bool | ElementType::U8 => all!(Extremes<u8>, work.combine),
        ElementType::I8 => all!(Extremes<i8>, work.combine),
        ElementType::I16 => all!(Extremes<i16>, work.combine),
        ElementType::U16 => all!(Extremes<u16>, work.combine),
        ElementType::I32 => all!(Extremes<i32>, work.combine),
        ElementType::U32 => all!(Extremes<u32>, work.combine),
        ElementType::I64 => all!(Extremes<i64>, work.combine),
        ElementType::U64 => all!(Extremes<u64>, work.combine),
        ElementType::F16 => all!(Extremes<Half<false>>, work.combine),
        ElementType::BF16 => all!(Extremes<Half<true>>, work.combine),
        ElementType::F32 => all!(Extremes<f32>, work.combine),
        ElementType::F64 => all!(Extremes<f64>, work.combine),
    }
}

/// Rows of elements. Each row is combined.
struct Rows<'a> {
    work: &'a Reducing<'a>,
    inputs: &'a [InputElements<'a>],
    shape: &'a [usize],
    row_len: usize,
    rows: Range<usize>,
}

impl Rows<'_> {
    /// # Safety
    ///
    /// The conditions of [`interpret_reduction`]; an element is a `T`.
    unsafe fn all<T: Pod, R: Row<T>>(&self, mut combined: R) -> Vec<u8> {
        let layout = Layout::contiguous(self.shape, Order::C).expect("as large as the inputs");
        // Many short rows are computed at once; a long row is computed by segments.
        let piece = self.row_len.min(Combine::SEGMENT);
        let at_once = (Combine::SEGMENT / piece).max(1);
        let mut elements = vec![T::zeroed(); piece * at_once];
        let (mut out, mut row) = (Vec::new(), self.rows.start);
        while row < self.rows.end {
            let until = self.rows.end.min(row + at_once);
            let mut at = row * self.row_len;
            while at < until * self.row_len {
                let len = (until * self.row_len - at).min(piece * at_once);
                let to = elements.as_mut_ptr().cast::<u8>().wrapping_sub(at * size_of::<T>());
                let result = ResultElements { start: to, layout: &layout };
                let range = at..at + len;
                // SAFETY: as the caller promises of the inputs; as many elements are there as the
                // range has
                unsafe { interpret_range(self.work.program, self.inputs, self.work.scalars, result, range) };
                for part in elements[..len].chunks(piece) {
                    combined.add(part, &mut out);
                    at += part.len();
                    if at.is_multiple_of(self.row_len) {
                        combined.end(&mut out);
                    }
                }
            }
            row = until;
        }
        out
    }
}

/// Combines the elements of a row.
trait Row<T> {
    /// Takes the next elements: a segment, or the rest of the row.
    fn add(&mut self, elements: &[T], out: &mut Vec<u8>);

    /// Ends the row, which had at least one element; the next one begins.
    fn end(&mut self, out: &mut Vec<u8>);
}

/// The least or greatest so far, and its position.
struct Extremes<T> {
    greater: bool,
    of_position: bool,
    form: ReduceForm,
    count: i64,
    found: Option<(T, i64)>,
}

impl<T: Ordered> Extremes<T> {
    fn new(combine: Combine, form: ReduceForm) -> Self {
        let greater = matches!(combine, Combine::Maximum | Combine::ArgMaximum);
        let of_position = matches!(combine, Combine::ArgMinimum | Combine::ArgMaximum);
        Self { greater, of_position, form, count: 0, found: None }
    }
}

impl<T: Ordered> Row<T> for Extremes<T> {
    fn add(&mut self, elements: &[T], out: &mut Vec<u8>) {
        for (at, &element) in (self.count..).zip(elements) {
            self.found = match self.found {
                None => Some((element, at)),
                Some((so_far, _)) if self.of_position && takes_place(self.greater, so_far, element) => {
                    Some((element, at))
                }
                Some((so_far, _)) if !self.of_position => Some((extreme(self.greater, so_far, element), at)),
                same => same,
            };
            if self.form != ReduceForm::Total {
                out.extend(self.found.iter().flat_map(|(found, _)| bytemuck::bytes_of(found)));
            }
        }
        self.count += elements.len().cast_signed() as i64;
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.count = 0;
        let Some((found, at)) = self.found.take() else { return };
        match (self.form, self.of_position) {
            (ReduceForm::Total, true) => out.extend_from_slice(bytemuck::bytes_of(&at)),
            (ReduceForm::Total, false) => out.extend_from_slice(bytemuck::bytes_of(&found)),
            _ => {}
        }
    }
}

/// The sum or product so far.
struct Totals<T> {
    identity: T,
    combine: fn(T, T) -> T,
    form: ReduceForm,
    /// The results of segments.
    segments: Vec<T>,
    /// Aligned blocks of a scan, the largest first: the number of elements, their total, and the
    /// total of all elements up to the end of the block.
    blocks: Vec<(usize, T, T)>,
}

impl<T: Summed> Totals<T> {
    fn new(product: bool, form: ReduceForm) -> Self {
        let (identity, combine): (T, fn(T, T) -> T) =
            if product { (T::ONE, T::times) } else { (T::ZERO, T::plus) };
        Self { identity, combine, form, segments: Vec::new(), blocks: Vec::new() }
    }
}

impl<T: Summed> Row<T> for Totals<T> {
    fn add(&mut self, elements: &[T], out: &mut Vec<u8>) {
        if self.form == ReduceForm::Total {
            return self.segments.extend(segment(elements, self.combine));
        }
        for &element in elements {
            let before = self.blocks.last().map_or(self.identity, |&(.., all)| all);
            let all = (self.combine)(before, element);
            out.extend_from_slice(bytemuck::bytes_of(if self.form == ReduceForm::Exclusive {
                &before
            } else {
                &all
            }));
            // Carries like a binary counter: two blocks of one size become one.
            let (mut len, mut total) = (1, element);
            while let Some((_, left, _)) = self.blocks.pop_if(|&mut (left_len, ..)| left_len == len) {
                (len, total) = (2 * len, (self.combine)(left, total));
            }
            let before = self.blocks.last().map_or(self.identity, |&(.., all)| all);
            self.blocks.push((len, total, (self.combine)(before, total)));
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.blocks.clear();
        let mut segments = mem::take(&mut self.segments);
        while segments.len() > 1 {
            segments =
                segments.chunks(Combine::SEGMENT).filter_map(|part| segment(part, self.combine)).collect();
        }
        if let Some(&total) = segments.first() {
            out.extend_from_slice(bytemuck::bytes_of(&(self.combine)(self.identity, total)));
        }
    }
}

/// Combines at most a segment of elements, lane by lane; `None` if there are none.
fn segment<T: Summed>(elements: &[T], combine: fn(T, T) -> T) -> Option<T> {
    let (first, rest) = elements.split_at(elements.len().min(Combine::LANES));
    let mut lanes = first.to_vec();
    for row in rest.chunks(Combine::LANES) {
        for (lane, &element) in lanes.iter_mut().zip(row) {
            *lane = combine(*lane, element);
        }
    }
    while lanes.len() > 1 {
        lanes =
            lanes.chunks(2).map(|pair| if let &[a, b] = pair { combine(a, b) } else { pair[0] }).collect();
    }
    lanes.first().copied()
}
