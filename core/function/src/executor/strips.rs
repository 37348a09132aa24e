//! Totals of neighbouring rows at once: element k of all rows of a strip is one block, wherever the
//! rows run along.
//!
//! Lane j of a segment is complete once its elements j, j + 1,024 … are added, and then joins its
//! neighbours; so a strip needs no 1,024 lanes, but one for each digit of a binary counter.
#![allow(unsafe_code)] // looks at the elements that callers vouch for

use std::{ops::Range, ptr};

use bytemuck::Pod;

use super::{
    extremes::{Keyed, better, is_better},
    machine::{Machine, Work},
    nest::{Nest, Operand},
    raw::Raw,
    rows::Rows,
    runner::Runner,
    sums::Summed,
};
use crate::Combine;

/// Most rows of a strip: a page of `f32`, beyond which nothing is fetched ahead.
pub(super) const STRIP: usize = 1024;
/// Fewer neighbours than that are no strip.
const LEAST: usize = 8;
/// Rows up to this length are strips wherever they lie.
const SHORT: usize = 32;

/// The axes that are kept, and those that are combined.
pub(super) struct Strips {
    kept: Nest,
    reduced: Nest,
    /// Most rows of one.
    most: usize,
}

/// Strips, if they are better than rows one by one.
pub(super) fn of(all: &Rows<'_>) -> Option<Strips> {
    if !all.prepared.code.positions.is_empty() || all.kept == 0 {
        return None;
    }
    let (kept, mut reduced) = (all.nest(0..all.kept), all.nest(all.kept..all.shape.len()));
    if kept.inner() < LEAST {
        return None;
    }
    let far = |operand: &&Operand| operand.inner().unsigned_abs() > operand.item_bytes;
    let bad = |nest: &Nest| nest.operands.iter().filter(far).count();
    if bad(&kept) >= bad(&reduced) && all.row_len > SHORT {
        return None;
    }
    // From the first element of a row on.
    reduced.operands.iter_mut().for_each(|operand| operand.start = ptr::null());
    let code = &all.prepared.code;
    let most = STRIP.min(code.block_len);
    Some(Strips { kept, reduced, most })
}

impl Strips {
    /// Calls with the rows of each strip.
    pub(super) fn each(&self, rows: Range<usize>, mut strip: impl FnMut(usize, usize)) {
        let (mut row, inner) = (rows.start, self.kept.inner());
        while row < rows.end {
            let len = self.most.min(inner - row % inner).min(rows.end - row);
            strip(row, len);
            row += len;
        }
    }

    /// Element `k` of some neighbouring rows.
    ///
    /// # Safety
    ///
    /// The inputs' elements may be read, and the results are of this type.
    pub(super) unsafe fn elements<'r, T: Pod>(
        &self,
        runner: &'r mut Runner<'_>,
        (row, len): (usize, usize),
        k: usize,
    ) -> &'r [Raw<T>] {
        for input in 0..self.kept.operands.len() {
            let within = self.reduced.at(input, k).addr().cast_signed();
            let start = self.kept.at(input, row).wrapping_offset(within);
            // SAFETY: as the caller promises
            unsafe { runner.run(input, start, self.kept.operands[input].inner(), len) };
        }
        // SAFETY: all inputs are set; there are no positions
        let result = unsafe { runner.execute(len, ptr::null_mut()) };
        // SAFETY: the result of the block is there
        unsafe { std::slice::from_raw_parts(result.cast(), len) }
    }

    /// Sums of rows, each strip given to `finish` with its first row.
    ///
    /// # Safety
    ///
    /// The inputs' elements may be read, and the program's results are of this type.
    pub(super) unsafe fn sums<T: Summed, const PRODUCT: bool>(
        &self,
        all: &Rows<'_>,
        rows: Range<usize>,
        finish: impl Fn(&[u8], usize),
    ) {
        let mut runner = Runner::new(&all.prepared.code, all.scalars, STRIP, 0);
        let mut counter = Counter::<T, PRODUCT>::new(all.prepared.machine);
        self.each(rows, |row, len| {
            let mut segments: Vec<T> = Vec::new();
            for first in (0..all.row_len).step_by(Combine::SEGMENT) {
                let count = Combine::SEGMENT.min(all.row_len - first);
                counter.segment(count, len, |k, counter| {
                    // SAFETY: as the caller promises
                    counter(unsafe { self.elements(&mut runner, (row, len), first + k) });
                });
                segments.extend_from_slice(&counter.sum[..len]);
            }
            while segments.len() > len {
                let (before, count) = (std::mem::take(&mut segments), segments_of(len));
                for part in before.chunks(count) {
                    counter.segment(part.len() / len, len, |k, counter| {
                        counter(bytemuck::cast_slice(&part[k * len..][..len]));
                    });
                    segments.extend_from_slice(&counter.sum[..len]);
                }
            }
            let identity = T::identity::<PRODUCT>();
            segments.iter_mut().for_each(|sum| *sum = identity.combined::<PRODUCT>(*sum));
            finish(bytemuck::cast_slice(&segments), row);
        });
    }

    /// Extremes of rows, or their positions.
    ///
    /// # Safety
    ///
    /// The conditions of [`sums`](Self::sums).
    pub(super) unsafe fn extremes<T: Keyed, const GREATER: bool>(
        &self,
        all: &Rows<'_>,
        rows: Range<usize>,
        arg: bool,
        finish: impl Fn(&[u8], usize),
    ) {
        let machine = all.prepared.machine;
        let mut runner = Runner::new(&all.prepared.code, all.scalars, STRIP, 0);
        let mut keys: Vec<T::Key> = Vec::with_capacity(STRIP);
        let (mut nan, mut positions) = (vec![0_u8; STRIP], vec![0_i64; STRIP]);
        self.each(rows, |row, len| {
            nan.fill(0);
            positions.fill(0);
            for k in 0..all.row_len {
                // SAFETY: as the caller promises
                let elements: &[Raw<T>] = unsafe { self.elements(&mut runner, (row, len), k) };
                if k == 0 {
                    keys.clear();
                    let key = |element: &Raw<T>| match arg {
                        true => element.get().position_key::<GREATER>(),
                        false => element.get().key(),
                    };
                    keys.extend(elements.iter().map(key));
                }
                if arg {
                    let (keys, positions) = (&mut keys[..len], &mut positions[..len]);
                    machine.run(Nearer::<T, GREATER> {
                        elements,
                        keys,
                        positions,
                        k: k.cast_signed() as i64,
                    });
                } else {
                    let (keys, nan) = (&mut keys[..len], &mut nan[..len]);
                    machine.run(Better::<T, GREATER> { elements, keys, nan });
                }
            }
            if arg {
                return finish(bytemuck::cast_slice(&positions[..len]), row);
            }
            let found = keys.iter().zip(&nan);
            let values: Vec<T> =
                found.map(|(&key, &nan)| if nan != 0 { T::NAN } else { T::of_key(key) }).collect();
            finish(bytemuck::cast_slice(&values), row);
        });
    }
}

/// Elements of a strip's segment of segments.
fn segments_of(len: usize) -> usize {
    Combine::SEGMENT * len
}

/// The lanes of a strip, as a binary counter.
struct Counter<T, const PRODUCT: bool> {
    machine: Machine,
    sum: Vec<T>,
    /// The totals of 2^j lanes that wait for their neighbours.
    waiting: Vec<Vec<T>>,
}

impl<T: Summed, const PRODUCT: bool> Counter<T, PRODUCT> {
    fn new(machine: Machine) -> Self {
        let digits = Combine::LANES.ilog2() as usize + 1;
        Self { machine, sum: vec![T::zeroed(); STRIP], waiting: vec![vec![T::zeroed(); STRIP]; digits] }
    }

    /// The sums of a segment of `count` elements for `len` rows: `element` calls back with element k
    /// of all of them.
    fn segment(
        &mut self,
        count: usize,
        len: usize,
        mut element: impl FnMut(usize, &mut dyn FnMut(&[Raw<T>])),
    ) {
        let lanes = count.min(Combine::LANES);
        let Self { machine, sum, waiting } = self;
        let (machine, sum) = (*machine, &mut sum[..len]);
        for lane in 0..lanes {
            element(lane, &mut |elements| {
                bytemuck::cast_slice_mut::<T, Raw<T>>(sum).copy_from_slice(elements);
            });
            for k in (lane + Combine::LANES..count).step_by(Combine::LANES) {
                element(k, &mut |elements| machine.run(Plus::<T, PRODUCT> { sum, elements }));
            }
            let (mut level, mut left) = (0, lane);
            while left % 2 == 1 {
                machine.run(Behind::<T, PRODUCT> { waiting: &waiting[level][..len], sum });
                (level, left) = (level + 1, left / 2);
            }
            waiting[level][..len].copy_from_slice(sum);
        }
        // Lanes without a partner wait for the end.
        let mut levels = (0..waiting.len()).filter(|level| lanes >> level & 1 == 1);
        if let Some(level) = levels.next() {
            sum.copy_from_slice(&waiting[level][..len]);
        }
        for level in levels {
            machine.run(Behind::<T, PRODUCT> { waiting: &waiting[level][..len], sum });
        }
    }
}

/// Sums and elements behind them.
struct Plus<'a, T: Copy, const PRODUCT: bool> {
    sum: &'a mut [T],
    elements: &'a [Raw<T>],
}

impl<T: Summed, const PRODUCT: bool> Work for Plus<'_, T, PRODUCT> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (sum, element) in self.sum.iter_mut().zip(self.elements) {
            *sum = sum.combined::<PRODUCT>(element.get());
        }
    }
}

/// Sums and those before them.
pub(super) struct Behind<'a, T, const PRODUCT: bool> {
    pub(super) waiting: &'a [T],
    pub(super) sum: &'a mut [T],
}

impl<T: Summed, const PRODUCT: bool> Work for Behind<'_, T, PRODUCT> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (sum, &waiting) in self.sum.iter_mut().zip(self.waiting) {
            *sum = waiting.combined::<PRODUCT>(*sum);
        }
    }
}

struct Better<'a, T: Keyed, const GREATER: bool> {
    elements: &'a [Raw<T>],
    keys: &'a mut [T::Key],
    nan: &'a mut [u8],
}

impl<T: Keyed, const GREATER: bool> Work for Better<'_, T, GREATER> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (key, element) in self.keys.iter_mut().zip(self.elements) {
            *key = better::<GREATER, _>(*key, element.get().key());
        }
        for (nan, element) in self.nan.iter_mut().zip(self.elements) {
            *nan |= u8::from(element.get().is_nan());
        }
    }
}

struct Nearer<'a, T: Keyed, const GREATER: bool> {
    elements: &'a [Raw<T>],
    keys: &'a mut [T::Key],
    positions: &'a mut [i64],
    k: i64,
}

impl<T: Keyed, const GREATER: bool> Work for Nearer<'_, T, GREATER> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let operands = self.keys.iter_mut().zip(self.positions).zip(self.elements);
        for ((key, position), element) in operands {
            let next = element.get().position_key::<GREATER>();
            let takes = is_better::<GREATER, _>(*key, next);
            *key = if takes { next } else { *key };
            *position = if takes { self.k } else { *position };
        }
    }
}
