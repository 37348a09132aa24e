//! Mistakes in layouts, and their messages.

use devarray::{Array, Layout, Order, Pad, field, ix};

use super::{Case, Triple};

const OUTSIDE: &str = "the strides reach elements that the view does not have";

/// The failures that are found before any backend is asked.
pub(super) const OF_LAYOUTS: &[Case] = &[
    (
        "RankMismatch",
        |s| s.grid.view_mut().copy_from(&s.stream, &s.line.view()).err(),
        "rank mismatch: expected 2 axes, found 1",
    ),
    (
        "ShapeMismatch",
        |s| {
            let shorter = Array::zeros(&s.stream, &[5]).unwrap();
            s.line.view_mut().copy_from(&s.stream, &shorter.view()).err()
        },
        "shape mismatch: expected [6], found [5]",
    ),
    ("AxisOutOfRange", |s| s.grid.view().permute(&[0, 2]).err(), "axis 2 is out of range for rank 2"),
    ("RepeatedAxis", |s| s.grid.view().permute(&[0, 0]).err(), "axis 0 is repeated"),
    (
        "IndexOutOfRange",
        |s| s.grid.view().index(&ix![2]).err(),
        "index 2 is out of range for axis 0 of extent 2",
    ),
    ("ZeroStep", |s| s.grid.view().index(&ix![..; 0]).err(), "step 0 on axis 0"),
    ("TooManyIndices", |s| s.grid.view().index(&ix![0, 0, 0]).err(), "3 indices for rank 2"),
    (
        "RepeatedEllipsis",
        |s| s.grid.view().index(&ix![Ellipsis, Ellipsis]).err(),
        "an index may hold one ellipsis",
    ),
    ("NotSqueezable", |s| s.grid.view().squeeze_axes(&[0]).err(), "cannot squeeze axis 0 of extent 2"),
    (
        "NotBroadcastable",
        |s| s.grid.view().broadcast_to(&[2, 4]).err(),
        "cannot broadcast shape [2, 3] to [2, 4]",
    ),
    (
        "SizeMismatch",
        |s| s.grid.view().reshape(&[4], Order::C).err(),
        "cannot reshape shape [2, 3] of 6 elements to [4]",
    ),
    (
        "CannotInfer",
        |s| s.grid.view().reshape(&[-1, 4], Order::C).err(),
        "cannot infer the extent -1 of [-1, 4] for shape [2, 3]",
    ),
    ("NegativeExtent", |s| s.grid.view().reshape(&[-2, -3], Order::C).err(), "negative extent -2"),
    (
        "NeedsCopy",
        |s| s.grid.view().transpose().reshape(&[6], Order::C).err(),
        "no view of this layout has that shape in that order: it needs a copy",
    ),
    (
        "UnsupportedOrder",
        |s| s.grid.view().reshape(&[6], Order::K).err(),
        "order K has no meaning for a reshape",
    ),
    (
        "Overflow",
        |s| Array::<u64, _>::zeros(&s.stream, &[usize::MAX / 4, 8]).err(),
        "extents, strides or offset overflow",
    ),
    (
        "OutOfBounds",
        |s| {
            let beyond = Layout::new(&[3], &[3], 0).unwrap();
            s.line.view_mut().copy_from_host(&s.stream, &[1, 2, 3], &beyond).err()
        },
        "layout reaches elements 0..7 of 3",
    ),
    ("OutsideView", |s| s.grid.view().restride(&[7], &[1], 0).err(), OUTSIDE),
    (
        "WindowTooLong",
        |s| s.grid.view().sliding_windows(-1, 4).err(),
        "a window of 4 is longer than axis 1 of extent 3",
    ),
    (
        "NothingToJoin",
        |s| Array::<u32, _>::concatenate(&s.stream, &[], 0).err(),
        "at least one array is needed to join",
    ),
    (
        "EmptyAxis",
        |s| {
            let empty = s.line.view().slice_axis(0, 6..).unwrap();
            empty.pad(&s.stream, &[(1, 1)], Pad::Wrap).err()
        },
        "axis 0 has no element to extend it with",
    ),
    (
        "NotLent",
        |s| {
            let shared = Array::<u8, _>::zeros_exportable(&s.stream, &[4, 3]).unwrap();
            let whole = shared.export(&s.stream).unwrap().array().clone();
            let column = whole.layout().index(&devarray::ix![.., 1]).unwrap();
            let part = whole.clone().with_layout(column).unwrap();
            Some(part.with_layout(whole.layout().clone()).unwrap_err().into())
        },
        "layout reaches elements 0..12, and some of them were not lent",
    ),
    (
        "LengthMismatch",
        |s| s.line.view_mut().copy_from_slice(&s.stream, &[1, 2, 3]).err(),
        "length mismatch: expected 6 elements, found 3",
    ),
    (
        "AliasedDestination",
        |s| {
            let repeated = Layout::new(&[6], &[0], 0).unwrap();
            s.line
                .copy_layout_within(&s.stream, &repeated, &Layout::contiguous(&[6], Order::C).unwrap())
                .err()
        },
        "the destination reaches one element by two indices",
    ),
    ("BadSection", |s| s.line.view().split(0).err(), "cannot split into sections of 0"),
    (
        "SharedMemory",
        |s| {
            let released = Array::<u32, _>::zeros(&s.stream, &[4]).unwrap().release(&s.stream).unwrap();
            let layout = Layout::contiguous(&[4], Order::C).unwrap();
            // SAFETY: the memory is given back below, when both are gone; all is done on one stream.
            let adopt =
                || unsafe { Array::<u32, _>::adopt(&s.stream, released.address(), &layout, ()) }.unwrap();
            let refused = adopt().view_mut().copy_from(&s.stream, &adopt().view()).err();
            // SAFETY: it is the buffer that was released, and nobody uses it any more.
            drop(unsafe { Array::<u32, _>::reclaim(&s.stream, released) }.unwrap());
            refused
        },
        "elements that are read share memory with elements that are written",
    ),
    (
        "UnsortedPositions",
        |s| {
            let parts = s.line.view().split_at(0, &[4, 2]);
            parts.map(Iterator::count).err()
        },
        "cannot split at 2 after 4: positions must ascend",
    ),
    (
        "NotFinite",
        |s| Array::arange(&s.stream, 0.0, f64::INFINITY, 1.0).err(),
        "start, stop and step of a sequence must be finite",
    ),
    (
        "FieldOverlap",
        |s| {
            let mut records = Array::<Triple, _>::zeros(&s.stream, &[2]).unwrap();
            records.view_mut().split_fields((field!(Triple, narrow), field!(Triple, narrow))).err()
        },
        "fields at bytes 8..12 and 8..12 of the record overlap",
    ),
    (
        "ElementSize",
        |s| {
            let records = Array::<Triple, _>::zeros(&s.stream, &[2]).unwrap();
            records.view().field(field!(Triple, wide)).err()
        },
        "an element of 8 bytes does not fit here: it divides not both the record and the offset of the field",
    ),
];
