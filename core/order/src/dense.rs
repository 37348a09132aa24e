//! Brings operands to dense memory, and results back from it.
#![allow(unsafe_code)] // reads and writes the elements that the caller vouches for

use std::{borrow::Cow, slice};

use devarray_function::interpreter::ResultElements;
use devarray_layout::{
    Axes, Layout, Order,
    copy::{Limits, Plan, execute},
};

use crate::word::Word;

/// The layout with an axis moved to the end.
pub(crate) fn last_axis(layout: &Layout, axis: usize) -> Layout {
    let axes: Axes<isize> =
        (0..layout.rank()).filter(|&other| other != axis).chain([axis]).map(usize::cast_signed).collect();
    layout.permute(&axes[..]).expect("each axis once")
}

fn dense_layout(layout: &Layout) -> Layout {
    Layout::contiguous(layout.shape(), Order::C).expect("as large as the layout, or as its broadcast")
}

/// The elements in row-major order: in place if they already lie so, otherwise copied.
///
/// # Safety
///
/// The elements are words that may be read, and nobody writes them while the result lives.
pub(crate) unsafe fn read<'a, W: Word>(start: *const u8, layout: &Layout) -> Cow<'a, [W]> {
    if layout.is_empty() {
        return Cow::Borrowed(&[]);
    }
    let first = start.cast::<W>().wrapping_add(layout.offset());
    if layout.is_contiguous(Order::C) && first.is_aligned() {
        // SAFETY: as the caller promises
        return Cow::Borrowed(unsafe { slice::from_raw_parts(first, layout.len()) });
    }
    let plan = Plan::new(&dense_layout(layout), layout, size_of::<W>(), Limits::default())
        .expect("one shape, and a destination without repetition");
    let mut copied = vec![W::ZERO; layout.len()];
    // SAFETY: the elements may be read, as the caller promises, and as many are written
    unsafe { execute(&plan, start, copied.as_mut_ptr().cast()) };
    Cow::Owned(copied)
}

/// Lets `write` fill the elements of a result in row-major order: in place if they lie so, otherwise
/// in other memory, from which they are copied.
///
/// # Safety
///
/// The elements are initialized words that may be written, and nobody else touches them meanwhile.
pub(crate) unsafe fn written<W: Word, R>(
    result: ResultElements<'_>,
    layout: &Layout,
    write: impl FnOnce(&mut [W]) -> R,
) -> R {
    if layout.is_empty() {
        return write(&mut []);
    }
    let first = result.start.cast::<W>().wrapping_add(layout.offset());
    if layout.is_contiguous(Order::C) && first.is_aligned() {
        // SAFETY: as the caller promises
        return write(unsafe { slice::from_raw_parts_mut(first, layout.len()) });
    }
    let plan = Plan::new(layout, &dense_layout(layout), size_of::<W>(), Limits::default())
        .expect("one shape, and a destination without repetition");
    let mut own = vec![W::ZERO; layout.len()];
    let outcome = write(&mut own);
    // SAFETY: the elements may be written, as the caller promises, and as many are read
    unsafe { execute(&plan, own.as_ptr().cast(), result.start) };
    outcome
}

/// Like [`written`], but `write` finds the old elements.
///
/// # Safety
///
/// The conditions of [`written`].
pub(crate) unsafe fn updated<W: Word, R>(
    result: ResultElements<'_>,
    layout: &Layout,
    write: impl FnOnce(&mut [W]) -> R,
) -> R {
    let lies_so =
        layout.is_contiguous(Order::C) && result.start.cast::<W>().wrapping_add(layout.offset()).is_aligned();
    // SAFETY: nothing writes them before `written` does
    let before = (!lies_so).then(|| unsafe { read::<W>(result.start, layout) }.into_owned());
    let update = |to: &mut [W]| {
        if let Some(before) = &before {
            to.copy_from_slice(before);
        }
        write(to)
    };
    // SAFETY: as the caller promises; what was read is a copy
    unsafe { written(result, layout, update) }
}

/// Copies rows of elements to a result that has room for some number of rows. Rows that fit are
/// copied.
///
/// # Safety
///
/// The conditions of [`written`].
pub(crate) unsafe fn write_first<W: Word>(result: ResultElements<'_>, elements: &[W], row_len: usize) {
    let rows = elements.len().checked_div(row_len).unwrap_or(0);
    let capacity = result.layout.shape()[0].min(rows);
    let layout = result.layout.slice_axis(0, ..capacity).expect("no more than there are");
    let written_first = |to: &mut [W]| to.copy_from_slice(&elements[..capacity * row_len]);
    // SAFETY: as the caller promises
    unsafe { written(result, &layout, written_first) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_and_go_by_their_layouts() {
        let memory: Vec<u32> = (0..24).collect();
        let layout = Layout::new(&[2, 3], &[-8, 2], 10).expect("inside");
        // SAFETY: the layout reaches 2..=14 of 24 elements
        let read: Cow<'_, [u32]> = unsafe { read(memory.as_ptr().cast(), &layout) };
        assert_eq!(read[..], [10, 12, 14, 2, 4, 6]);
        let moved = last_axis(&layout, 0);
        assert_eq!((moved.shape(), moved.strides()), (&[3, 2][..], &[2, -8][..]));
        let mut out = vec![0_u32; 24];
        let result = ResultElements { start: out.as_mut_ptr().cast(), layout: &layout };
        // SAFETY: as before
        unsafe { written(result, &layout, |to: &mut [u32]| to.copy_from_slice(&read)) };
        assert!(
            (0..24).all(|at| out[at] == if [2, 4, 6, 10, 12, 14].contains(&at) { memory[at] } else { 0 })
        );
    }
}
