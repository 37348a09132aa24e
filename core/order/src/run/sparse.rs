//! Sums products of the rows of a sparse matrix without storing the products.

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use devarray_layout::Layout;

use super::Run;
use crate::{
    Combining, IndexFault, WrongIndex,
    kind::{FloatKind, Kind, WholeKind, by_class, by_index},
    places::{first_outside, place},
    segments::{Segments, Terms},
    sums::put,
    word::Word,
};

/// The columns that values belong to.
struct Columns<'a, C: WholeKind> {
    indices: &'a [C::Bits],
    /// The number of columns that exist.
    extent: usize,
    /// Whether a value had a column that does not exist.
    missed: AtomicBool,
}

/// Each value times the slice of x that its column names, or times zeros if there is no such slice.
struct Products<'a, K: Kind, C: WholeKind> {
    values: &'a [K::Bits],
    columns: &'a Columns<'a, C>,
    x: &'a [K::Bits],
    /// The number of elements in a slice.
    inner: usize,
    zeros: &'a [K::Bits],
}

impl<'a, K: Kind, C: WholeKind> Products<'a, K, C> {
    #[inline(always)]
    fn factors(&self, k: usize) -> (K::Bits, &'a [K::Bits]) {
        let Columns { indices, extent, missed } = self.columns;
        let slice = match place(C::value(indices[k]), *extent, true) {
            Some(place) => &self.x[place * self.inner..][..self.inner],
            None => {
                missed.store(true, Relaxed);
                self.zeros
            }
        };
        (self.values[k], slice)
    }
}

impl<K: WholeKind, C: WholeKind> Products<'_, K, C> {
    /// Sums a row in 64 bits.
    fn sum_whole(&self, row: Option<Range<usize>>, sums: &mut [u64]) {
        sums.fill(0);
        for k in row.unwrap_or(0..0) {
            let (value, slice) = self.factors(k);
            let value = K::summand(value);
            for (sum, &bits) in sums.iter_mut().zip(slice) {
                *sum = sum.wrapping_add(value.wrapping_mul(K::summand(bits)));
            }
        }
    }
}

impl<K: FloatKind, C: WholeKind> Terms<K::Sum> for Products<'_, K, C> {
    fn line<'a>(&'a self, slices: Range<usize>, room: &'a mut Vec<K::Sum>) -> &'a [K::Sum] {
        room.clear();
        room.extend(slices.map(|k| {
            let (value, slice) = self.factors(k);
            K::load(slice[0]) * K::load(value)
        }));
        room
    }

    fn row(&self, slice: usize, first: bool, sums: &mut [K::Sum]) {
        let (value, slice) = self.factors(slice);
        let value = K::load(value);
        put(first, sums, slice.iter().map(|&bits| K::load(bits) * value));
    }
}

impl Run<'_> {
    pub(crate) fn csr_dot(&self) -> Option<WrongIndex> {
        let (shape, offsets) = (self.layout(3).shape(), self.offsets(2));
        let (len, inner) = (self.layout(0).len(), shape[1..].iter().product());
        if inner == 0 {
            return None;
        }
        let holds_all = offsets[0] == 0 && offsets[offsets.len() - 1] == len.cast_signed() as i64;
        let segments = Segments::new(offsets, len, inner);
        by_index!(self.inputs[1].0, C => {
            let columns = self.input(1);
            let columns = Columns::<C> { indices: &columns, extent: shape[0], missed: AtomicBool::new(false) };
            by_class!(self.inputs[0].0, K => self.products::<K, C, u64>(&columns, inner, |products, to| {
                segments.each(to, self.workers, |(), group, sums| products.sum_whole(group, sums));
            }), K => self.products::<K, C, _>(&columns, inner, |products, to| {
                segments.sum_terms::<K>(products, to, self.workers);
            }));
            let of_offsets = if self.layout(2).len() > 1 { segments.wrong(Combining::Sum) } else { None };
            if let Some(wrong) = of_offsets {
                return Some(WrongIndex { fault: IndexFault::Offset, ..wrong });
            }
            // Columns of values in no row were not looked at, and are checked here.
            let may_miss = !holds_all || columns.missed.into_inner();
            may_miss.then(|| first_outside::<C>(columns.indices, shape[0])).flatten()
        })
    }

    /// Lets `write` fill the result from the products.
    fn products<K: Kind, C: WholeKind, W: Word>(
        &self,
        columns: &Columns<'_, C>,
        inner: usize,
        write: impl FnOnce(&Products<'_, K, C>, &mut [W]),
    ) {
        let (values, x) = (self.input(0), self.input(3));
        let zeros = vec![K::Bits::ZERO; inner];
        let products = Products { values: &values, columns, x: &x, inner, zeros: &zeros };
        self.result(0, Layout::clone, |to| write(&products, to));
    }
}
