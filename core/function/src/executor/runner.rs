//! Runs steps on one block after another.
#![allow(unsafe_code)] // runs kernels on slots of its own and on elements that callers vouch for

use std::{cell::Cell, ops::Range, ptr};

use smallvec::SmallVec;

use super::{
    code::{Code, MOST_REPEATED, Origin, Step},
    fills::{fill, fill_repeated},
    machine::{Call, LINE_BYTES},
    moves::gather,
    nest::Nest,
    raw::Raw,
    stream::fetch,
};

/// One cache line. Slots are aligned to it.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; LINE_BYTES]);

thread_local! {
    /// The slots of the thread, which are kept between calls and never cleared.
    static SLOTS: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// A thread keeps its slots if they have at most this size.
const KEPT_BYTES: usize = 1 << 20;

/// The way to take the elements of an input, block after block.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    /// Each block is one run, with this step in bytes.
    Run(isize),
    /// The elements along the axes from this one on, again and again; and their number.
    Repeated(usize, usize),
    /// Each block consists of runs of any kind.
    Runs,
}

impl Way {
    /// Finds the way to take an operand. `along` says that blocks are runs along the innermost
    /// axis.
    pub(super) fn new(nest: &Nest, input: usize, along: bool) -> Self {
        let operand = &nest.operands[input];
        if along || nest.extents.len() == 1 {
            return Self::Run(operand.inner());
        }
        if nest.is_dense(input) {
            return Self::Run(operand.item_bytes.cast_signed());
        }
        let Some(first) = operand.strides.iter().position(|&stride| stride != 0) else {
            return Self::Run(0);
        };
        let count: usize = nest.extents[first..].iter().product();
        if first > 0 && count <= MOST_REPEATED { Self::Repeated(first, count) } else { Self::Runs }
    }
}

/// The contents of an input's slot, so that they are not written again.
#[derive(Clone, Copy, PartialEq)]
enum Held {
    Unknown,
    /// One element, repeated this often.
    One(*const u8, usize),
    /// The elements from this one on, again and again, this many in all.
    Repeated(*const u8, usize),
    /// A range of positions, and the address of its first element.
    Range(*const u8, usize, usize),
}

/// Code with the slots of the calling thread.
pub(super) struct Runner<'a> {
    pub(super) code: &'a Code,
    slots: Vec<Line>,
    /// Each slot, then each input.
    places: SmallVec<[*mut u8; 24]>,
    /// The contents of each input's slot.
    held: SmallVec<[Held; 4]>,
    /// Whether results are written past the caches, if the code has a last step for that.
    pub(super) past: bool,
    /// Whether operands are fetched ahead while blocks are computed.
    pub(super) fetches: bool,
    /// Addresses that are needed soon, and how many bytes there.
    soon: SmallVec<[(*const u8, usize); 6]>,
    len: usize,
}

impl Drop for Runner<'_> {
    fn drop(&mut self) {
        if self.slots.len() * LINE_BYTES <= KEPT_BYTES {
            SLOTS.set(std::mem::take(&mut self.slots));
        }
    }
}

impl<'a> Runner<'a> {
    /// Makes a runner for blocks of at most `len` elements, with extra memory.
    pub(super) fn new(code: &'a Code, scalars: &[u64], len: usize, extra_bytes: usize) -> Self {
        let mut slots = SLOTS.take();
        let lines = (code.slot_bytes + extra_bytes).div_ceil(LINE_BYTES);
        if slots.len() < lines {
            slots.resize(lines, Line([0; LINE_BYTES]));
        }
        let start = slots.as_mut_ptr().cast::<u8>();
        let places = code.offsets.iter().map(|&at| start.wrapping_add(at));
        let places = places.chain(code.inputs.iter().map(|_| ptr::null_mut())).collect();
        let held = SmallVec::from_elem(Held::Unknown, code.inputs.len());
        let (len, soon) = (len.min(code.block_len), SmallVec::new());
        let runner = Self { code, slots, places, held, past: false, fetches: false, soon, len };
        for &(origin, place, width) in &code.fixed {
            let bits = match origin {
                Origin::Constant(bits) => bits,
                Origin::Scalar(number) => scalars[number],
                _ => continue,
            };
            let bytes = bits.to_le_bytes();
            // SAFETY: a slot has room for a block; 8 bytes are there
            unsafe { gather(width, bytes.as_ptr(), 0, runner.places[place], runner.len) };
        }
        runner
    }

    /// The memory behind the slots.
    pub(super) fn extra(&mut self) -> *mut u8 {
        self.slots.as_mut_ptr().cast::<u8>().wrapping_add(self.code.slot_bytes)
    }

    fn set(&mut self, input: usize, place: *const u8) {
        let slots = self.code.offsets.len();
        // An input is never written, although the pointer is mutable.
        self.places[slots + input] = place.cast_mut();
    }

    /// Takes the elements of an input for the next block from a run.
    ///
    /// # Safety
    ///
    /// The elements may be read until the block is done.
    pub(super) unsafe fn run(&mut self, input: usize, start: *const u8, stride: isize, len: usize) {
        let (width, slot) = (self.code.inputs[input].len_bytes(), self.places[self.code.gathered[input]]);
        if stride == width.cast_signed() {
            return self.set(input, start);
        }
        let has = matches!(self.held[input], Held::One(held, count) if stride == 0 && held == start && count >= len);
        if !has {
            self.held[input] = if stride == 0 { Held::One(start, len) } else { Held::Unknown };
            // SAFETY: as the caller promises; a slot has room for a block
            unsafe { gather(width, start, stride, slot, len) };
        }
        self.set(input, slot);
    }

    /// Takes the elements of an input for the next block. Each is `within` bytes from where the nest
    /// puts it.
    ///
    /// # Safety
    ///
    /// The conditions of [`run`](Self::run). After a change of the nest, [`forget`](Self::forget) was
    /// called.
    #[inline]
    pub(super) unsafe fn take(
        &mut self,
        input: usize,
        nest: &Nest,
        way: Way,
        range: Range<usize>,
        within: isize,
    ) {
        let (width, slot) = (self.code.inputs[input].len_bytes(), self.places[self.code.gathered[input]]);
        let from = |position: usize| nest.at(input, position).wrapping_offset(within);
        match way {
            // SAFETY: as the caller promises
            Way::Run(stride) => unsafe { self.run(input, from(range.start), stride, range.len()) },
            Way::Repeated(first, count) => {
                let (start, len) = (from(0), range.len() + count);
                if !matches!(self.held[input], Held::Repeated(held, most) if held == start && most >= len) {
                    self.held[input] = Held::Repeated(start, len);
                    // SAFETY: as the caller promises; a slot has room for a block and what is repeated
                    unsafe { fill_repeated(nest, input, (first, len), within, slot) };
                }
                self.set(input, slot.wrapping_add(range.start % count * width));
            }
            Way::Runs => {
                let holds = Held::Range(from(range.start), range.start, range.end);
                if self.held[input] != holds {
                    self.held[input] = holds;
                    // SAFETY: as the caller promises; a slot has room for a block
                    unsafe { fill(nest, input, range, within, slot) };
                }
                self.set(input, slot);
            }
        }
    }

    /// Forgets what slots hold, because another nest comes.
    pub(super) fn forget(&mut self) {
        self.held.fill(Held::Unknown);
    }

    /// Sets the positions of the next block, which covers this range in row-major order.
    fn positions(&mut self, shape: &[usize], range: Range<usize>) {
        debug_assert!(
            self.code.positions.is_empty() || range.len() <= self.code.block_len,
            "a slot has no room"
        );
        for &(axis, place) in &self.code.positions {
            let inner: usize = shape[axis + 1..].iter().product();
            let (inner, extent) = (inner.max(1), shape[axis].max(1));
            let mut to = self.places[place].cast::<Raw<i64>>();
            let mut at = range.start;
            while at < range.end {
                let len = (inner - at % inner).min(range.end - at);
                let position = (at / inner % extent).cast_signed() as i64;
                for _ in 0..len {
                    // SAFETY: a slot has room for a block, and the range is one
                    unsafe { to.write(Raw(position)) };
                    to = to.wrapping_add(1);
                }
                at += len;
            }
        }
    }

    /// Notes which memory is needed soon: the result of this block, and the inputs of the next one.
    fn note_soon(&mut self, nest: &Nest, ways: &[Way], (len, next): (usize, Range<usize>), out: *const u8) {
        let Self { soon, code, .. } = self;
        soon.clear();
        if !self.past && !out.is_null() {
            soon.push((out, len * code.result_type.len_bytes()));
        }
        for (input, &way) in ways.iter().enumerate() {
            let width = nest.operands[input].item_bytes;
            if matches!(way, Way::Run(stride) if stride == width.cast_signed()) && !next.is_empty() {
                let start = nest.at(input, next.start);
                // Views that are shifted by a few elements share cache lines.
                let is_near =
                    |&(known, _): &(*const u8, usize)| known.addr().abs_diff(start.addr()) < 2 * LINE_BYTES;
                if !soon.iter().any(is_near) {
                    soon.push((start, next.len() * width));
                }
            }
        }
    }

    /// Fetches a part of the noted memory. Fetching everything at once would wait.
    fn fetch_part(&self, nth: usize, parts: usize) {
        for &(start, bytes) in &self.soon {
            let part = (bytes / parts).next_multiple_of(LINE_BYTES);
            fetch(start, part * nth..bytes.min(part * (nth + 1)));
        }
    }

    /// Computes the block and returns where its result is. That is `out` if the last step could
    /// write there. With a null `out`, a slot gets the result in any case.
    ///
    /// # Safety
    ///
    /// All inputs and positions are set for `len` elements: at most a block, or any number if the
    /// code has neither steps nor positions. `out` is null, or has room for them and is not an input.
    pub(super) unsafe fn execute(&mut self, len: usize, out: *mut u8) -> *const u8 {
        let Some((last, steps)) = self.code.steps.split_last() else { return self.places[self.code.result] };
        let run = |step: &Step| {
            let operands = step.operands.map(|place| self.places[place].cast_const());
            let call = Call { operands, out: self.places[step.out], len };
            // SAFETY: the machine was detected; slots have room for a block, and none is an operand
            // of the step that writes it
            unsafe { (step.compiled)(&call) };
        };
        if self.fetches {
            for (nth, step) in steps.iter().enumerate() {
                self.fetch_part(nth, steps.len());
                run(step);
            }
        } else {
            steps.iter().for_each(run);
        }
        let is_direct = self.code.is_direct && !out.is_null();
        let to = if is_direct { out } else { self.places[last.out] };
        let operands = last.operands.map(|place| self.places[place].cast_const());
        let past = self.code.past.filter(|_| self.past && is_direct);
        // SAFETY: as above; the result is no input
        unsafe { past.unwrap_or(last.compiled)(&Call { operands, out: to, len }) };
        if is_direct { to } else { self.places[self.code.result] }
    }
}

/// Gives blocks of a range their destination, and takes them.
pub(super) trait Sink {
    /// The address where the result of the next block should be written, or null.
    fn target(&mut self, range: Range<usize>) -> *mut u8;

    /// Takes the result of a block, at the address where it was written.
    ///
    /// # Safety
    ///
    /// The elements of the block may be read.
    unsafe fn take(&mut self, range: Range<usize>, result: *const u8);
}

/// A run of at least this many elements is a block of its own.
pub(super) const LONG_RUN: usize = 256;

/// The part of a nest that is computed, and the way to compute it.
pub(super) struct Part<'a> {
    pub(super) nest: &'a Nest,
    /// The shape that positions count along. If the code uses positions, the axes of the nest are in this
    /// order.
    pub(super) shape: &'a [usize],
    pub(super) range: Range<usize>,
    /// The number of elements in the first block, and in the other blocks.
    pub(super) first: usize,
    pub(super) block_len: usize,
}

/// Computes the elements of a range of positions, block by block.
///
/// # Safety
///
/// The elements of the inputs, which are the first operands of the nest, may be read.
pub(super) unsafe fn linear(runner: &mut Runner<'_>, part: Part<'_>, sink: &mut dyn Sink) {
    let Part { nest, shape, range, first, block_len } = part;
    let (inner, inputs) = (nest.inner(), runner.code.inputs.len());
    let cuts = nest.extents.len() > 1 && inner >= LONG_RUN;
    let ways: SmallVec<[Way; 4]> = (0..inputs).map(|input| Way::new(nest, input, cuts)).collect();
    runner.forget();
    let (mut at, mut most) = (range.start, first);
    while at < range.end {
        let mut len = most.min(range.end - at);
        if cuts {
            len = len.min(inner - at % inner);
        }
        let block = at..at + len;
        for (input, &way) in ways.iter().enumerate() {
            // SAFETY: as the caller promises
            unsafe { runner.take(input, nest, way, block.clone(), 0) };
        }
        runner.positions(shape, block.clone());
        let out = sink.target(block.clone());
        if runner.fetches {
            runner.note_soon(nest, &ways, (len, block.end..range.end.min(block.end + len)), out);
        }
        // SAFETY: all is set; the target has room
        let result = unsafe { runner.execute(len, out) };
        // SAFETY: the result of the block is there
        unsafe { sink.take(block, result) };
        at += len;
        most = block_len;
    }
}
