//! Rows of elements, one after another.
#![allow(unsafe_code)] // looks at the elements that callers vouch for

use std::{ops::Range, ptr};

use bytemuck::Pod;

use super::{
    raw::Raw,
    reduce::Rows,
    runner::{Part, Runner, Sink, linear},
};
use crate::Combine;

/// What takes the elements of rows.
pub(super) trait RowSink<V> {
    type Element: Pod;

    /// The next elements of the row.
    fn add(&mut self, elements: &[Raw<Self::Element>], values: &mut Vec<V>);

    /// The end of the row; the next begins.
    fn end(&mut self, values: &mut Vec<V>);
}

/// Values that are finished at once, while they are in a near cache.
const AT_ONCE: usize = 8192;

/// All elements of some rows. `finish` takes the values in order, some at a time.
///
/// # Safety
///
/// They may be read, and are of the sink's type.
pub(super) unsafe fn all<V, S: RowSink<V>>(
    all: &Rows<'_>,
    rows: Range<usize>,
    sink: &mut S,
    mut finish: impl FnMut(&[V]),
) {
    let range = rows.start * all.row_len..rows.end * all.row_len;
    let mut cut = Cut { row_len: all.row_len, sink, values: Vec::new(), finish: &mut finish };
    // SAFETY: as the caller promises
    unsafe { blocks(all, range, &mut cut) }
    (cut.finish)(&cut.values);
}

/// A part of a row.
///
/// # Safety
///
/// As [`all`].
pub(super) unsafe fn part<V, S: RowSink<V>>(all: &Rows<'_>, range: Range<usize>, sink: &mut S) {
    let mut cut = Cut { row_len: usize::MAX, sink, values: Vec::new(), finish: &mut |_: &[V]| {} };
    // SAFETY: as the caller promises
    unsafe { blocks(all, range, &mut cut) }
}

/// # Safety
///
/// As [`all`].
unsafe fn blocks(all: &Rows<'_>, range: Range<usize>, sink: &mut impl Sink) {
    let (code, nest) = (&all.prepared.code, &all.nest(0..all.shape.len()));
    let mut runner = Runner::new(code, all.scalars, range.len(), 0);
    // Elements that need no steps are looked at where they lie.
    let in_place =
        code.steps.is_empty() && nest.operands.len() == 1 && nest.is_dense(0) && code.fixed.is_empty();
    let block_len = if in_place { Combine::SEGMENT } else { code.block_len };
    let part = Part { nest, shape: all.shape, range, first: block_len, block_len };
    // SAFETY: as the caller promises
    unsafe { linear(&mut runner, part, sink) }
}

/// Cuts blocks at the ends of rows.
struct Cut<'a, V, S, F> {
    row_len: usize,
    sink: &'a mut S,
    values: Vec<V>,
    finish: &'a mut F,
}

impl<V, S: RowSink<V>, F: FnMut(&[V])> Sink for Cut<'_, V, S, F> {
    fn target(&mut self, _range: Range<usize>) -> *mut u8 {
        ptr::null_mut()
    }

    unsafe fn take(&mut self, range: Range<usize>, result: *const u8) {
        let first = result.cast::<Raw<S::Element>>();
        // SAFETY: the caller promises as many elements
        let mut elements = unsafe { std::slice::from_raw_parts(first, range.len()) };
        let mut at = range.start % self.row_len;
        while !elements.is_empty() {
            let (part, rest) = elements.split_at(elements.len().min(self.row_len - at));
            self.sink.add(part, &mut self.values);
            at += part.len();
            if at == self.row_len {
                self.sink.end(&mut self.values);
                at = 0;
            }
            if self.values.len() >= AT_ONCE {
                (self.finish)(&self.values);
                self.values.clear();
            }
            elements = rest;
        }
    }
}
