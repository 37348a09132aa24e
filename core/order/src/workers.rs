//! Cuts work into pieces that threads share.
#![allow(unsafe_code)] // lends parts of slices to threads, each part to one thread

use std::{
    marker::PhantomData,
    ops::Range,
    sync::{Mutex, PoisonError},
};

use devarray_function::each_piece;
pub(crate) use devarray_function::{Alone, Workers};

/// A piece with fewer elements is not worth a thread.
const MIN_PIECE: usize = 1 << 15;

/// Does each number below `pieces` once, with floats rounded by the standard.
pub(crate) fn each(workers: &dyn Workers, pieces: usize, work: impl Fn(usize) + Sync) {
    each_piece(workers, pieces, |piece| vectors(|| work(piece)));
}

/// Runs work compiled for wider vectors, if the processor has them. The bits are the same.
#[inline(always)]
fn vectors<R>(work: impl FnOnce() -> R) -> R {
    /// # Safety
    ///
    /// The processor has the instructions.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn wide<R>(work: impl FnOnce() -> R) -> R {
        work()
    }
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("bmi2") {
        // SAFETY: no processor has those without the others
        return unsafe { wide(work) };
    }
    work()
}

/// The results of all pieces, in their order.
pub(crate) fn collect<T: Send>(
    workers: &dyn Workers,
    pieces: usize,
    work: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let found = Mutex::new(Vec::with_capacity(pieces));
    each(workers, pieces, |piece| {
        let one = work(piece);
        found.lock().unwrap_or_else(PoisonError::into_inner).push((piece, one));
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable_by_key(|&(piece, _)| piece);
    found.into_iter().map(|(_, one)| one).collect()
}

/// A cut of `len` elements into pieces of one length, the last perhaps shorter; at least one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    len: usize,
    each: usize,
    pub(crate) pieces: usize,
}

impl Cut {
    pub(crate) fn new(len: usize, workers: &dyn Workers) -> Self {
        Self::of(len, workers, MIN_PIECE, 1)
    }

    /// Cuts into a few pieces per worker, of at least `min` elements, so that slow pieces are
    /// evened out.
    pub(crate) fn fine(len: usize, workers: &dyn Workers, min: usize) -> Self {
        Self::of(len, workers, min, if workers.count() > 1 { 4 } else { 1 })
    }

    fn of(len: usize, workers: &dyn Workers, min: usize, each_worker: usize) -> Self {
        let wanted = (workers.count() * each_worker).clamp(1, (len / min.max(1)).max(1));
        // A 32-bit counter can count the elements of a piece.
        let each = len.div_ceil(wanted).clamp(1, 1 << 31);
        Self { len, each, pieces: len.div_ceil(each).max(1) }
    }

    pub(crate) fn range(&self, piece: usize) -> Range<usize> {
        let start = (piece * self.each).min(self.len);
        start..self.len.min(start + self.each)
    }
}

/// Fills a slice. One thread writes each piece.
pub(crate) fn fill<T: Send>(
    workers: &dyn Workers,
    cut: Cut,
    slice: &mut [T],
    work: impl Fn(Range<usize>, &mut [T]) + Sync,
) {
    let shared = Shared::new(slice);
    each(workers, cut.pieces, |piece| {
        let range = cut.range(piece);
        // SAFETY: pieces are disjoint, and each is done once
        let part = unsafe { shared.part(range.clone()) };
        work(range, part);
    });
}

/// A slice that several threads write, each in other places.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a, T> {
    start: *mut T,
    len: usize,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: elements are reached only by methods whose callers promise that no two threads have one
unsafe impl<T: Send> Send for Shared<'_, T> {}
// SAFETY: as above
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    pub(crate) fn new(slice: &'a mut [T]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), borrow: PhantomData }
    }

    /// Shares memory that is not initialized.
    pub(crate) fn raw(start: *mut T, len: usize) -> Self {
        Self { start, len, borrow: PhantomData }
    }

    /// # Safety
    ///
    /// The range lies in the slice, and nobody else uses its elements while the part lives.
    pub(crate) unsafe fn part(&self, range: Range<usize>) -> &'a mut [T] {
        debug_assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: inside the slice, as the caller promises
        let first = unsafe { self.start.add(range.start) };
        // SAFETY: as the caller promises
        unsafe { std::slice::from_raw_parts_mut(first, range.len()) }
    }

    /// # Safety
    ///
    /// The place lies in the slice, and nobody else uses it meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn write(&self, at: usize, value: T)
    where
        T: Copy,
    {
        debug_assert!(at < self.len);
        // SAFETY: inside the slice, as the caller promises
        let place = unsafe { self.start.add(at) };
        // SAFETY: as the caller promises
        unsafe { place.write(value) };
    }

    /// # Safety
    ///
    /// The conditions of [`write`](Self::write).
    #[inline(always)]
    pub(crate) unsafe fn read(&self, at: usize) -> T
    where
        T: Copy,
    {
        debug_assert!(at < self.len);
        // SAFETY: inside the slice, as the caller promises
        let place = unsafe { self.start.add(at) };
        // SAFETY: as the caller promises
        unsafe { place.read() }
    }
}
