//! Runs each call on its operands.
#![allow(unsafe_code)] // reads and writes the elements that the caller vouches for

mod sparse;

use std::borrow::Cow;

use devarray_function::{
    ElementType,
    interpreter::{InputElements, ResultElements},
};
use devarray_layout::{Axes, Layout, axis_index};

use crate::{
    Combining, Workers, WrongIndex, bincount,
    dense::{last_axis, read, updated, write_first, written},
    extreme::extreme,
    kind::{FloatKind, Kind, WholeKind, by_class, by_index, by_kind},
    lanes,
    nonzero::Found,
    places::{Blocks, first_outside, places, reader},
    put::{self, Slices},
    quantile, search,
    segments::Segments,
    select, sort, unique,
    word::Word,
    workers::Shared,
};

/// The operands of a call, whose memory meets the call's conditions.
pub(crate) struct Run<'a> {
    inputs: &'a [(ElementType, InputElements<'a>)],
    results: &'a [Option<ResultElements<'a>>],
    workers: &'a dyn Workers,
}

/// The axis counted from the front.
fn front(axis: isize, layout: &Layout) -> usize {
    axis_index(axis, layout.rank()).expect("checked before")
}

impl<'a> Run<'a> {
    /// # Safety
    ///
    /// The conditions of [`execute`](crate::execute()), while this lives.
    pub(crate) unsafe fn new(
        inputs: &'a [(ElementType, InputElements<'a>)],
        results: &'a [Option<ResultElements<'a>>],
        workers: &'a dyn Workers,
    ) -> Self {
        Self { inputs, results, workers }
    }

    fn layout(&self, input: usize) -> &'a Layout {
        self.inputs[input].1.layout
    }

    /// The elements of an input in the order of a layout, which reaches only these elements.
    fn laid_out<W: Word>(&self, input: usize, layout: &Layout) -> Cow<'a, [W]> {
        let (element_type, elements) = self.inputs[input];
        assert_eq!(element_type.len_bytes(), size_of::<W>(), "words as wide as the elements");
        // SAFETY: as the caller of `new` promises
        unsafe { read(elements.start, layout) }
    }

    fn input<W: Word>(&self, input: usize) -> Cow<'a, [W]> {
        self.laid_out(input, self.layout(input))
    }

    /// Lets `write` fill a result, if it is wanted, in the order of a layout of its elements.
    fn result<W: Word>(&self, number: usize, turn: impl Fn(&Layout) -> Layout, write: impl FnOnce(&mut [W])) {
        let Some(result) = self.results[number] else { return };
        // SAFETY: as the caller of `new` promises; calls write results by the words of their types
        unsafe { written(result, &turn(result.layout), write) }
    }

    /// Lets `write` change the result, which is a copy of x, or x itself.
    fn changed<W: Word>(&self, write: impl FnOnce(&mut [W])) {
        let Some(result) = self.results[0] else { return };
        let x = self.inputs[0].1;
        if x.start == result.start.cast_const() && x.layout == result.layout {
            // SAFETY: as the caller of `new` promises; `put` writes words of the type of x
            return unsafe { updated(result, result.layout, write) };
        }
        let x = self.input::<W>(0);
        self.result(0, Layout::clone, |to: &mut [W]| {
            to.copy_from_slice(&x);
            write(to);
        });
    }

    /// Passes the lines of an input along an axis, and the lines of the result, to `work`.
    fn along<W: Word, R: Word>(&self, axis: isize, work: impl FnOnce(&[W], usize, &mut [R])) {
        let axis = front(axis, self.layout(0));
        let x = self.laid_out::<W>(0, &last_axis(self.layout(0), axis));
        let len = self.layout(0).shape()[axis];
        self.result(0, |layout| last_axis(layout, axis), |to| work(&x, len, to));
    }

    pub(crate) fn sort<K: Kind>(&self, axis: isize, descending: bool) {
        self.along(axis, |x, len, to| sort::sort::<K>(x, to, len, descending, self.workers));
    }

    pub(crate) fn argsort<K: Kind>(&self, axis: isize, descending: bool) {
        self.along(axis, |x, len, to: &mut [u64]| {
            sort::argsort::<K>(x, bytemuck::cast_slice_mut(to), len, descending, self.workers);
        });
    }

    pub(crate) fn top<K: Kind>(&self, k: usize, axis: isize, largest: bool) {
        let axis = front(axis, self.layout(0));
        let x = self.laid_out::<K::Bits>(0, &last_axis(self.layout(0), axis));
        let len = self.layout(0).shape()[axis];
        let turn = |layout: &Layout| last_axis(layout, axis);
        let mut positions = vec![0_u64; x.len().checked_div(len).unwrap_or(0) * k];
        let shared = Shared::new(&mut positions);
        select::top::<K>(&x, (len, k), largest, self.workers, |line, place, position| {
            // SAFETY: each line has each place once
            unsafe { shared.write(line * k + place, position as u64) };
        });
        self.result(0, turn, |to: &mut [K::Bits]| {
            for (at, (to, &position)) in to.iter_mut().zip(&positions).enumerate() {
                *to = x[at / k * len + position.digit(0, usize::MAX)];
            }
        });
        self.result(1, turn, |to: &mut [u64]| to.copy_from_slice(&positions));
    }

    pub(crate) fn unique<K: Kind>(&self) -> usize {
        let x = self.input::<K::Bits>(0);
        let mut found = None;
        if self.results[2].is_some() {
            self.result(2, Layout::clone, |to: &mut [u64]| {
                found = Some(unique::unique::<K>(&x, Some(bytemuck::cast_slice_mut(to)), self.workers));
            });
        }
        let found = found.unwrap_or_else(|| unique::unique::<K>(&x, None, self.workers));
        let count = found.firsts.len();
        let wanted = self.results[0].map_or(0, |result| result.layout.len()).min(count);
        let values: Vec<K::Bits> = found.firsts[..wanted].iter().map(|&first| x[first]).collect();
        self.first(0, &values, 1);
        self.first(1, &numbers(&found.firsts), 1);
        self.first(3, &numbers(&found.counts), 1);
        count
    }

    /// Writes as many rows to a result as fit, if it is wanted.
    fn first<W: Word>(&self, number: usize, elements: &[W], row_len: usize) {
        if let Some(result) = self.results[number] {
            // SAFETY: as the caller of `new` promises; calls write results by the words of their types
            unsafe { write_first(result, elements, row_len) }
        }
    }

    pub(crate) fn nonzero<K: Kind>(&self) -> usize {
        let x = self.input::<K::Bits>(0);
        let found = Found::new::<K>(&x, self.workers);
        let Some(result) = self.results[0] else { return found.count() };
        let rows = result.layout.shape()[0].min(found.count());
        let shape = self.layout(0).shape();
        let fits = |layout: &Layout| layout.slice_axis(0, ..rows).expect("no more than there are");
        self.result(0, fits, |to: &mut [u64]| {
            found.write::<K>(&x, shape, bytemuck::cast_slice_mut(to), self.workers);
        });
        found.count()
    }

    pub(crate) fn search_sorted<K: Kind>(&self, right: bool) {
        let (ascending, v) = (self.input(0), self.input(1));
        self.result(0, Layout::clone, |to: &mut [u64]| {
            let to = bytemuck::cast_slice_mut(to);
            search::searchsorted::<K>(&ascending, &v, right, to, self.workers);
        });
    }

    pub(crate) fn histogram<K: Kind>(&self) {
        let (x, edges) = (self.input(0), self.input(1));
        self.result(0, Layout::clone, |to: &mut [u64]| {
            search::histogram::<K>(&x, &edges, bytemuck::cast_slice_mut(to), self.workers);
        });
    }

    pub(crate) fn quantile<F: FloatKind>(&self, q: f64, axis: isize) {
        let axis = front(axis, self.layout(0));
        let x = self.laid_out::<F::Bits>(0, &last_axis(self.layout(0), axis));
        let len = self.layout(0).shape()[axis];
        self.result(0, Layout::clone, |to| quantile::quantile::<F>(&x, len, q, to, self.workers));
    }

    pub(crate) fn bincount(&self) -> Option<WrongIndex> {
        let mut wrong = None;
        by_class!(self.inputs[0].0, K => {
            let x = self.input::<<K as Kind>::Bits>(0);
            if self.inputs.len() == 1 {
                self.result(0, Layout::clone, |to: &mut [u64]| {
                    wrong = bincount::bincount::<K>(&x, bytemuck::cast_slice_mut(to), self.workers);
                });
            } else if let Some(result) = self.results[0] {
                let extent = result.layout.len();
                if u32::try_from(extent).is_ok() {
                    let (places, found) = places::<K, u32>(&x, extent, false, self.workers);
                    self.weights(&places);
                    wrong = found;
                } else {
                    let (places, found) = places::<K, u64>(&x, extent, false, self.workers);
                    self.weights(&places);
                    wrong = found;
                }
            }
        }, F => unreachable!("no counts of {}", std::any::type_name::<F>()));
        wrong
    }

    fn weights<P: Word>(&self, places: &[P]) {
        by_class!(self.inputs[1].0, V => {
            let weights = self.input::<<V as Kind>::Bits>(1);
            self.result(0, Layout::clone, |to| bincount::whole_weights::<V, P>(places, &weights, to));
        }, V => {
            let weights = self.input::<<V as Kind>::Bits>(1);
            self.result(0, Layout::clone, |to| bincount::float_weights::<V, P>(places, &weights, to, self.workers));
        });
    }

    pub(crate) fn put<W: Word>(&self, operation: Combining, axis: isize) -> Option<WrongIndex> {
        let shape = self.layout(0).shape();
        let axis = front(axis, self.layout(0));
        let mut put_shape: Axes<usize> = shape.iter().copied().collect();
        put_shape[axis] = self.layout(1).len();
        let extent = shape[axis];
        let nothing = put_shape.contains(&0);
        let mut wrong = None;
        if put_shape.len() == 1 && self.is_line(operation, extent, put_shape[axis]) {
            return by_index!(self.inputs[1].0, I => {
                let indices = self.input(1);
                let missed = self.put_line::<W>(operation, &reader::<I>(&indices, extent));
                missed.then(|| first_outside::<I>(&indices, extent)).flatten()
            });
        }
        macro_rules! put {
            ($place:ty) => {{
                let mut of_indices = Vec::new();
                if !nothing {
                    (of_indices, wrong) = by_index!(self.inputs[1].0, I => {
                        places::<I, $place>(&self.input(1), extent, true, self.workers)
                    });
                }
                self.put_at::<W, $place>(operation, axis, &put_shape, &of_indices);
            }};
        }
        if u32::try_from(extent).is_ok() {
            put!(u32)
        } else {
            put!(u64)
        }
        wrong
    }

    /// Whether the calling thread puts elements along one axis, in their order.
    fn is_line(&self, operation: Combining, extent: usize, len: usize) -> bool {
        let alone = self.workers.count() == 1 || len < 1 << 17;
        let sums_of_floats = operation == Combining::Sum && self.inputs[0].0.is_float();
        let small = u32::try_from(len).is_ok() && u32::try_from(extent).is_ok();
        alone && small && extent > 0 && len > 0 && (!sums_of_floats || lanes::fits(extent, len))
    }

    /// Puts along one axis. Returns whether an index had no place.
    fn put_line<W: Word>(&self, operation: Combining, read: &dyn Fn(usize, &mut [u32])) -> bool {
        let len = self.layout(1).len();
        let v = self.laid_out::<W>(2, &self.layout(2).broadcast_to(&[len]).expect("checked before"));
        let blocks = Blocks::new(len, read);
        let mut missed = false;
        self.changed(|y: &mut [W]| {
            let element_type = self.inputs[0].0;
            missed = match operation {
                Combining::Sum => by_class!(element_type,
                    _K => put::line(y, blocks, &v, Word::plus),
                    K => put::line_of_floats::<K>(cast(y), blocks, same(&v))),
                Combining::Minimum => by_kind!(element_type, K => {
                    put::line(cast(y), blocks, same(&v), |a, b| extreme::<K>(false, a, b))
                }),
                Combining::Maximum => by_kind!(element_type, K => {
                    put::line(cast(y), blocks, same(&v), |a, b| extreme::<K>(true, a, b))
                }),
            };
        });
        missed
    }

    fn put_at<W: Word, P: Word>(&self, operation: Combining, axis: usize, put_shape: &[usize], places: &[P]) {
        let shape = self.layout(0).shape();
        // Beside an axis without elements, the others may be too long for memory.
        let nothing = put_shape.contains(&0) || shape.contains(&0);
        let v = if nothing {
            Cow::Borrowed(&[][..])
        } else {
            self.laid_out::<W>(2, &self.layout(2).broadcast_to(put_shape).expect("checked before"))
        };
        let slices = Slices {
            outer: shape[..axis].iter().product(),
            extent: shape[axis],
            inner: shape[axis + 1..].iter().product(),
            places,
        };
        self.changed(|y: &mut [W]| {
            if nothing {
                return;
            }
            let element_type = self.inputs[0].0;
            if operation == Combining::Sum {
                by_class!(element_type,
                    K => put::add_whole::<K, P>(cast(y), slices, same(&v), self.workers),
                    K => put::add_floats::<K, P>(cast(y), slices, same(&v), self.workers));
            } else {
                by_kind!(element_type, K => {
                    put::extremes::<K, P>(cast(y), slices, same(&v), operation, self.workers);
                });
            }
        });
    }

    /// The numbers of an input of indices.
    fn offsets(&self, input: usize) -> Vec<i64> {
        by_index!(self.inputs[input].0, I => self.input(input).iter().map(|&bits| I::value(bits)).collect())
    }

    pub(crate) fn segments(&self, operation: Combining) -> Option<WrongIndex> {
        let result = self.results[0].filter(|result| !result.layout.is_empty())?;
        let offsets = self.offsets(1);
        let shape = self.layout(0).shape();
        let groups = result.layout.shape()[0];
        let segments = Segments::new(offsets, shape[0], result.layout.len() / groups);
        by_class!(self.inputs[0].0, K => {
            let x = self.input::<<K as Kind>::Bits>(0);
            if operation == Combining::Sum {
                self.result(0, Layout::clone, |to| segments.sum_whole::<K>(&x, to, self.workers));
            } else {
                self.result(0, Layout::clone, |to| segments.extremes::<K>(&x, to, operation, self.workers));
            }
        }, K => {
            let x = self.input::<<K as Kind>::Bits>(0);
            self.result(0, Layout::clone, |to| {
                if operation == Combining::Sum {
                    segments.sum_floats::<K>(&x, to, self.workers);
                } else {
                    segments.extremes::<K>(&x, to, operation, self.workers);
                }
            });
        });
        segments.wrong(operation)
    }
}

fn numbers(positions: &[usize]) -> Vec<u64> {
    positions.iter().map(|&position| position as u64).collect()
}

/// Casts words to a type of the same width.
fn cast<W: Word, V: Word>(words: &mut [W]) -> &mut [V] {
    bytemuck::cast_slice_mut(words)
}

fn same<W: Word, V: Word>(words: &[W]) -> &[V] {
    bytemuck::cast_slice(words)
}
