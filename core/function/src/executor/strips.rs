//! Totals of neighbouring rows at once. Element k of all rows of a strip is one block, wherever the
//! rows are.
//!
//! Lane j of a segment is complete once its elements j, j + 1,024 … are added, and then joins its
//! neighbour. So a strip needs one lane per digit of a binary counter, not 1,024.
#![allow(unsafe_code)] // looks at the elements that callers vouch for

use std::{ops::Range, ptr};

use bytemuck::{Pod, Zeroable};
use smallvec::SmallVec;

use super::{
    extremes::{Keyed, better, is_better},
    machine::{Machine, Work},
    nest::{Nest, Operand},
    raw::Raw,
    rows::Rows,
    runner::{LONG_RUN, Runner, Way},
    sums::{MOST_ROWS, Summed, piled},
};
use crate::Combine;

/// The most bytes of a strip's elements, which processors fetch ahead. Longer is better if the
/// waiting sums fit the second cache.
pub(super) const STRIP_BYTES: usize = 16 << 10;
/// Fewer neighbours than this do not make a strip.
const LEAST: usize = 8;
/// Rows of at most this length make strips wherever they are.
const SHORT: usize = 32;

/// The kept axes, and the combined axes, whose operands begin at 0.
pub(super) struct Strips {
    kept: Nest,
    reduced: Nest,
    /// The ways to take the inputs of neighbouring rows.
    ways: SmallVec<[Way; 4]>,
    /// Rows that are neighbours: along the last axis, or all if that axis is short.
    span: usize,
    /// The most rows whose elements are computed at once.
    pub(super) block: usize,
    /// Whether elements are read in place.
    in_place: bool,
}

/// Makes strips, if they are better than rows one by one.
pub(super) fn of(all: &Rows<'_>) -> Option<Strips> {
    if !all.prepared.code.positions.is_empty() || all.kept == 0 {
        return None;
    }
    let (kept, mut reduced) = (all.nest(0..all.kept), all.nest(all.kept..all.shape.len()));
    let code = &all.prepared.code;
    let is_one = kept.operands.len() == 1 && kept.operands[0].is_dense();
    let bare = is_one && code.steps.is_empty() && code.fixed.is_empty();
    let along = kept.extents.len() == 1 || kept.inner() >= if bare { SHORT } else { LONG_RUN };
    let span = if along { kept.inner() } else { kept.len() };
    if span < LEAST {
        return None;
    }
    let far = |operand: &&Operand| operand.inner().unsigned_abs() > operand.item_bytes;
    let bad = |nest: &Nest| nest.operands.iter().filter(far).count();
    if bad(&kept) >= bad(&reduced) && all.row_len > SHORT {
        return None;
    }
    // Counts from the first element of a row.
    reduced.operands.iter_mut().for_each(|operand| operand.start = ptr::null());
    let in_place = along && bare;
    let block = if in_place { STRIP_BYTES } else { code.block_len };
    let ways = (0..kept.operands.len()).map(|input| Way::new(&kept, input, along)).collect();
    Some(Strips { kept, reduced, ways, span, block, in_place })
}

/// The most rows of a strip of elements of a type.
pub(super) const fn most<T>() -> usize {
    STRIP_BYTES / size_of::<T>()
}

impl Strips {
    /// Calls `strip` with the first row and the number of rows of each strip.
    pub(super) fn each<T>(&self, rows: Range<usize>, mut strip: impl FnMut(usize, usize)) {
        let (mut row, span) = (rows.start, self.span);
        while row < rows.end {
            let len = most::<T>().min(span - row % span).min(rows.end - row);
            strip(row, len);
            row += len;
        }
    }

    /// The parts of a strip that are computed at once.
    pub(super) fn blocks(&self, len: usize) -> impl Iterator<Item = Range<usize>> + Clone + use<> {
        let block = self.block;
        (0..len).step_by(block).map(move |at| at..len.min(at + block))
    }

    /// Element `k` of some neighbouring rows, at most a block.
    ///
    /// # Safety
    ///
    /// The inputs' elements may be read, and the results have this type.
    pub(super) unsafe fn elements<'r, T: Pod>(
        &self,
        runner: &'r mut Runner<'_>,
        (row, len): (usize, usize),
        k: usize,
    ) -> &'r [Raw<T>] {
        for (input, &way) in self.ways.iter().enumerate() {
            let within = self.reduced.at(input, k).addr().cast_signed();
            // SAFETY: as the caller promises
            unsafe { runner.take(input, &self.kept, way, row..row + len, within) };
        }
        // SAFETY: all inputs are set; there are no positions
        let result = unsafe { runner.execute(len, ptr::null_mut()) };
        // SAFETY: the result of the block is there
        unsafe { std::slice::from_raw_parts(result.cast(), len) }
    }

    /// Adds the elements `ks` of some neighbouring rows to sums. The first element begins the sum.
    ///
    /// # Safety
    ///
    /// The conditions of [`elements`](Self::elements).
    unsafe fn pile<T: Summed, const PRODUCT: bool>(
        &self,
        (machine, runner): (Machine, &mut Runner<'_>),
        row: usize,
        ks: impl Iterator<Item = usize>,
        sum: &mut [T],
    ) {
        let len = sum.len();
        let mut begun = false;
        if !self.in_place {
            for k in ks {
                // SAFETY: as the caller promises
                let elements = unsafe { self.elements(runner, (row, len), k) };
                machine.run(Piled::<T, PRODUCT> { sum, begun, rows: &[elements] });
                begun = true;
            }
            return;
        }
        let mut rows: SmallVec<[&[Raw<T>]; MOST_ROWS]> = SmallVec::new();
        let mut ks = ks.peekable();
        while let Some(k) = ks.next() {
            let within = self.reduced.at(0, k).addr().cast_signed();
            let start = self.kept.at(0, row).wrapping_offset(within);
            // SAFETY: as the caller promises; the elements of neighbouring rows lie side by side
            rows.push(unsafe { std::slice::from_raw_parts(start.cast(), len) });
            if rows.len() == MOST_ROWS || ks.peek().is_none() {
                machine.run(Piled::<T, PRODUCT> { sum, begun, rows: &rows });
                rows.clear();
                begun = true;
            }
        }
    }

    /// Sums rows. `finish` gets each strip with its first row.
    ///
    /// # Safety
    ///
    /// The inputs' elements may be read, and the program's results have this type.
    pub(super) unsafe fn sums<T: Summed, const PRODUCT: bool>(
        &self,
        all: &Rows<'_>,
        rows: Range<usize>,
        finish: impl Fn(&[u8], usize),
    ) {
        let machine = all.prepared.machine;
        let mut runner = Runner::new(&all.prepared.code, all.scalars, self.block, 0);
        let mut counter = Counter::<T, PRODUCT>::new(machine, most::<T>().min(rows.len()));
        self.each::<T>(rows, |row, len| {
            let mut segments: Vec<T> = Vec::new();
            for first in (0..all.row_len).step_by(Combine::SEGMENT) {
                let count = Combine::SEGMENT.min(all.row_len - first);
                counter.segment(count, self.blocks(len), |ks, part, sum| {
                    let ks = ks.map(|k| first + k);
                    // SAFETY: as the caller promises
                    unsafe { self.pile::<T, PRODUCT>((machine, &mut runner), row + part, ks, sum) };
                });
                segments.extend_from_slice(&counter.sum[..len]);
            }
            while segments.len() > len {
                let (before, count) = (std::mem::take(&mut segments), segments_of(len));
                for part in before.chunks(count) {
                    counter.segment(part.len() / len, std::iter::once(0..len), |ks, _, sum| {
                        for (at, k) in ks.enumerate() {
                            let rows: &[&[Raw<T>]] = &[bytemuck::cast_slice(&part[k * len..][..len])];
                            machine.run(Piled::<T, PRODUCT> { sum, begun: at > 0, rows });
                        }
                    });
                    segments.extend_from_slice(&counter.sum[..len]);
                }
            }
            let identity = T::identity::<PRODUCT>();
            segments.iter_mut().for_each(|sum| *sum = identity.combined::<PRODUCT>(*sum));
            finish(bytemuck::cast_slice(&segments), row);
        });
    }

    /// Finds the extremes of rows, or their positions.
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
        let mut runner = Runner::new(&all.prepared.code, all.scalars, self.block, 0);
        let most = most::<T>().min(rows.len());
        let (mut keys, mut places) = (vec![T::Key::zeroed(); most], vec![0_u32; most]);
        let mut values: Vec<T> = Vec::new();
        let mut positions = vec![0_i64; if arg { most } else { 0 }];
        self.each::<T>(rows, |row, len| {
            positions.fill(0);
            for k in 0..all.row_len {
                for part in self.blocks(len) {
                    let block = (row + part.start, part.len());
                    // SAFETY: as the caller promises
                    let elements: &[Raw<T>] = unsafe { self.elements(&mut runner, block, k) };
                    let keys = &mut keys[part.clone()];
                    if k == 0 {
                        machine.run(First::<T, GREATER> { elements, keys, arg });
                    } else if arg {
                        let places = &mut places[part];
                        let place = u32::try_from(k % PLACES + 1).expect("places are counted in 32 bits");
                        machine.run(Nearer::<T, GREATER> { elements, keys, places, place });
                    } else {
                        machine.run(Better::<T, GREATER> { elements, keys });
                    }
                }
                if arg && (k % PLACES == PLACES - 1 || k + 1 == all.row_len) {
                    let since = (k - k % PLACES).cast_signed() as i64;
                    for (position, place) in positions.iter_mut().zip(&mut places[..len]) {
                        if *place != 0 {
                            *position = since + i64::from(*place) - 1;
                        }
                        *place = 0;
                    }
                }
            }
            if arg {
                return finish(bytemuck::cast_slice(&positions[..len]), row);
            }
            values.clear();
            values.extend(keys[..len].iter().map(|&key| T::of_extreme(key)));
            finish(bytemuck::cast_slice(&values), row);
        });
    }
}

/// The elements of a full segment of segment sums: `Combine::SEGMENT` sums for each of `len` rows.
fn segments_of(len: usize) -> usize {
    Combine::SEGMENT * len
}

/// The lanes of a strip, as a binary counter.
struct Counter<T, const PRODUCT: bool> {
    machine: Machine,
    sum: Vec<T>,
    /// The totals of 2^j lanes that wait for their neighbour.
    waiting: Vec<Vec<T>>,
}

impl<T: Summed, const PRODUCT: bool> Counter<T, PRODUCT> {
    fn new(machine: Machine, len: usize) -> Self {
        let digits = Combine::LANES.ilog2() as usize + 1;
        Self { machine, sum: vec![T::zeroed(); len], waiting: vec![vec![T::zeroed(); len]; digits] }
    }

    /// Sums a segment of `count` elements for the rows of several parts. `pile` adds elements of
    /// all rows of a part; it gets the elements, the part's first row and its sums.
    fn segment(
        &mut self,
        count: usize,
        parts: impl Iterator<Item = Range<usize>> + Clone,
        mut pile: impl FnMut(std::iter::StepBy<Range<usize>>, usize, &mut [T]),
    ) {
        let lanes = count.min(Combine::LANES);
        let Self { machine, sum, waiting } = self;
        for lane in 0..lanes {
            for part in parts.clone() {
                let sum = &mut sum[part.clone()];
                pile((lane..count).step_by(Combine::LANES), part.start, sum);
                let (mut level, mut left) = (0, lane);
                while left % 2 == 1 {
                    machine.run(Behind::<T, PRODUCT> { waiting: &waiting[level][part.clone()], sum });
                    (level, left) = (level + 1, left / 2);
                }
                waiting[level][part].copy_from_slice(sum);
            }
        }
        // At the end, lanes without a partner are combined.
        for part in parts {
            let sum = &mut sum[part.clone()];
            let mut levels = (0..waiting.len()).filter(|level| lanes >> level & 1 == 1);
            if let Some(level) = levels.next() {
                sum.copy_from_slice(&waiting[level][part.clone()]);
            }
            for level in levels {
                machine.run(Behind::<T, PRODUCT> { waiting: &waiting[level][part.clone()], sum });
            }
        }
    }
}

/// Adds later elements to sums.
struct Piled<'a, T: Copy, const PRODUCT: bool> {
    sum: &'a mut [T],
    begun: bool,
    rows: &'a [&'a [Raw<T>]],
}

impl<T: Summed, const PRODUCT: bool> Work for Piled<'_, T, PRODUCT> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        piled::<T, PRODUCT>(self.sum, self.begun, self.rows);
    }
}

/// Combines sums with the sums before them.
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

struct First<'a, T: Keyed, const GREATER: bool> {
    elements: &'a [Raw<T>],
    keys: &'a mut [T::Key],
    arg: bool,
}

impl<T: Keyed, const GREATER: bool> Work for First<'_, T, GREATER> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (key, element) in self.keys.iter_mut().zip(self.elements) {
            let element = element.get();
            *key =
                if self.arg { element.position_key::<GREATER>() } else { element.extreme_key::<GREATER>() };
        }
    }
}

struct Better<'a, T: Keyed, const GREATER: bool> {
    elements: &'a [Raw<T>],
    keys: &'a mut [T::Key],
}

impl<T: Keyed, const GREATER: bool> Work for Better<'_, T, GREATER> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (key, element) in self.keys.iter_mut().zip(self.elements) {
            *key = better::<GREATER, _>(*key, element.get().extreme_key::<GREATER>());
        }
    }
}

/// Positions are kept as 32-bit numbers for this many elements, then written to the 64-bit positions.
const PLACES: usize = 1 << 30;

struct Nearer<'a, T: Keyed, const GREATER: bool> {
    elements: &'a [Raw<T>],
    keys: &'a mut [T::Key],
    places: &'a mut [u32],
    place: u32,
}

impl<T: Keyed, const GREATER: bool> Work for Nearer<'_, T, GREATER> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let operands = self.keys.iter_mut().zip(self.places).zip(self.elements);
        for ((key, place), element) in operands {
            let next = element.get().position_key::<GREATER>();
            let takes = is_better::<GREATER, _>(*key, next);
            *key = if takes { next } else { *key };
            *place = if takes { self.place } else { *place };
        }
    }
}
