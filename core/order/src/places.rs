//! Converts indices to places along an axis.

use crate::{
    IndexFault, WrongIndex,
    kind::WholeKind,
    word::Word,
    workers::{Cut, Workers, collect, fill},
};

/// The place of an index among `extent` places. A negative index may count from the end.
#[inline(always)]
pub(crate) fn place(index: i64, extent: usize, from_end: bool) -> Option<usize> {
    // An axis has at most `isize::MAX` elements.
    let extent_signed = extent.cast_signed() as i64;
    let index = if from_end && index < 0 { index.wrapping_add(extent_signed) } else { index };
    let place = index.cast_unsigned();
    #[allow(clippy::cast_possible_truncation, reason = "below the extent, it fits")]
    (place < extent as u64).then_some(place as usize)
}

/// Reports the index at a position.
pub(crate) fn outside<K: WholeKind>(indices: &[K::Bits], position: usize, extent: usize) -> WrongIndex {
    WrongIndex { fault: IndexFault::Outside, position, index: K::value(indices[position]), extent }
}

/// The place of each index, or `extent` if it has none; and the first index without a place.
pub(crate) fn places<K: WholeKind, P: Word>(
    indices: &[K::Bits],
    extent: usize,
    from_end: bool,
    workers: &dyn Workers,
) -> (Vec<P>, Option<WrongIndex>) {
    let mut places = vec![P::ZERO; indices.len()];
    let cut = Cut::new(indices.len(), workers);
    fill(workers, cut, &mut places, |range, part| {
        for (to, &bits) in part.iter_mut().zip(&indices[range]) {
            *to = P::narrow(place(K::value(bits), extent, from_end).unwrap_or(extent) as u64);
        }
    });
    let none = P::narrow(extent as u64);
    let firsts = collect(workers, cut.pieces, |piece| {
        let range = cut.range(piece);
        places[range.clone()].iter().position(|&place| place == none).map(|at| at + range.start)
    });
    let wrong = firsts.into_iter().flatten().next().map(|position| outside::<K>(indices, position, extent));
    (places, wrong)
}

/// Converts indices to places a block at a time, in memory that stays in the first cache.
#[derive(Clone, Copy)]
pub(crate) struct Blocks<'a> {
    len: usize,
    read: &'a dyn Fn(usize, &mut [u32]),
}

impl<'a> Blocks<'a> {
    const LEN: usize = 2048;

    /// Makes `len` places. `read` writes those from a given number on.
    pub(crate) fn new(len: usize, read: &'a dyn Fn(usize, &mut [u32])) -> Self {
        Self { len, read }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Passes each block to `work`, with the number of its first place.
    #[inline(always)]
    pub(crate) fn each(&self, mut work: impl FnMut(usize, &[u32])) {
        let mut block = [0; Self::LEN];
        for start in (0..self.len).step_by(Self::LEN) {
            let block = &mut block[..Self::LEN.min(self.len - start)];
            (self.read)(start, block);
            work(start, block);
        }
    }
}

/// Reads places of indices for [`Blocks`]; `extent` stands for no place.
pub(crate) fn reader<K: WholeKind>(indices: &[K::Bits], extent: usize) -> impl Fn(usize, &mut [u32]) {
    move |start, block| {
        for (to, &bits) in block.iter_mut().zip(&indices[start..]) {
            *to = u32::narrow(place(K::value(bits), extent, true).unwrap_or(extent) as u64);
        }
    }
}

/// Reports the first index without a place, if there is one.
pub(crate) fn first_outside<K: WholeKind>(indices: &[K::Bits], extent: usize) -> Option<WrongIndex> {
    let none = |&bits: &K::Bits| place(K::value(bits), extent, true).is_none();
    indices.iter().position(none).map(|position| outside::<K>(indices, position, extent))
}
