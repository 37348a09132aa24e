//! Gathers and scatters as queued operations.

mod at_once;
mod moving;
mod noted;
mod places;

use std::{ops::Range, panic::Location};

use devarray::{
    Axes, Layout, Result,
    backend::GatherOp,
    gather::{
        Direction, GatherOperation, GatherRun, Gathering, IndexError, IndexType, IndexedAxis, OutOfRange,
        Repeats,
    },
};
use moving::{Moving, copy_item, step};
use places::Places;
use smallvec::{SmallVec, smallvec};

use super::{Memory, compute::Elements, reach::Reach, source::Source};
use crate::{
    allocation::{Allocated, BufferId},
    finding::{Access, Code, Operation},
    judge::{ByteSet, INITIALIZE, Judge, Place, Touch},
};

/// A gather or scatter, and its memory.
#[derive(Debug)]
pub(crate) struct Gathered {
    operation: GatherOperation,
    axis: Option<usize>,
    direction: Direction,
    out_of_range: OutOfRange,
    repeats: Repeats,
    shape: Axes<usize>,
    indexed_axes: Vec<IndexedAxis>,
    /// The elements at index 0.
    indexed: Elements,
    /// The whole array that indices count in.
    whole: Elements,
    indices: Elements,
    index_type: IndexType,
    positions: Axes<usize>,
    mask: Option<Elements>,
    elements: Elements,
    /// Distinguishes this launch from other gathers.
    number: u64,
    location: &'static Location<'static>,
    /// Whether the judge looks for mistakes when it runs.
    is_judged: bool,
    /// The bytes that it may gather and that had no value when it was enqueued, or that no scatter
    /// has put since.
    missing: ByteSet,
    /// For a scatter that may give bytes a value: the bytes that had no value before.
    put: Option<ByteSet>,
}

/// A mistake of a gather that ran.
pub(super) struct Mistake {
    pub(super) code: Code,
    pub(super) access: Access,
    pub(super) of: BufferId,
    pub(super) bytes: ByteSet,
    pub(super) help: &'static str,
}

impl Gathered {
    pub(crate) fn of(
        op: &GatherOp<'_, impl Allocated>,
        location: &'static Location<'static>,
    ) -> Result<Self> {
        let work = op.work();
        let width = work.width_bytes;
        let axes = work.shape.iter().copied().zip(work.indexed.strides().iter().copied());
        let axes = axes.chain(work.indexed_axes.iter().map(|axis| (axis.extent, axis.stride)));
        // Without repetitions these are axes of the array, so their number is within the limit.
        let (extents, strides): (Vec<usize>, Vec<isize>) = axes.filter(|(_, stride)| *stride != 0).unzip();
        let whole = Layout::new(&extents, &strides, work.indexed.offset())?;
        let mask = op.mask().zip(work.mask).map(|(buffer, layout)| Elements::of(buffer, layout, 1));
        Ok(Self {
            operation: work.operation,
            axis: work.axis,
            direction: work.direction,
            out_of_range: work.out_of_range,
            repeats: work.repeats,
            shape: work.shape.into(),
            indexed_axes: work.indexed_axes.to_vec(),
            indexed: Elements::of(op.indexed(), work.indexed, width),
            whole: Elements::of(op.indexed(), &whole, width),
            indices: Elements::of(op.indices(), work.indices, work.index_type.len_bytes()),
            index_type: work.index_type,
            positions: work.positions.into(),
            mask,
            elements: Elements::of(op.elements(), work.elements, width),
            number: op.number(),
            location,
            is_judged: false,
            missing: ByteSet::default(),
            put: None,
        })
    }

    fn work(&self) -> Gathering<'_> {
        Gathering {
            operation: self.operation,
            axis: self.axis,
            direction: self.direction,
            out_of_range: self.out_of_range,
            repeats: self.repeats,
            width_bytes: self.elements.item_bytes,
            shape: &self.shape,
            indexed_axes: &self.indexed_axes,
            indexed: &self.indexed.layout,
            indices: &self.indices.layout,
            index_type: self.index_type,
            positions: &self.positions,
            mask: self.mask.as_ref().map(|mask| &mask.layout),
            elements: &self.elements.layout,
        }
    }

    pub(super) fn name(&self) -> &'static str {
        self.operation.name()
    }

    /// Distinguishes this launch from other gathers.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The operation for findings; `number` is its place in the order of all operations.
    pub(super) fn operation(&self, number: u64, lane: usize) -> Operation {
        let (kind, stream, location) = (self.name(), Some(lane), self.location);
        Operation { number, kind, stream, location, argument: None }
    }

    /// The most bytes that it writes.
    pub(super) fn len_bytes(&self) -> usize {
        self.elements.layout.len() * self.elements.item_bytes
    }

    /// The elements that it gathers from, which are read only if indices and mask select them; and
    /// the elements that it writes.
    fn ends(&self) -> (&Elements, &Elements) {
        match self.direction {
            Direction::Gather => (&self.whole, &self.elements),
            Direction::Scatter => (&self.elements, &self.whole),
        }
    }

    /// All operands: first the elements that it gathers from, last the elements that it writes.
    fn sides(&self) -> SmallVec<[(&Elements, Access); 4]> {
        let (from, to) = self.ends();
        let of_indices = if self.is_counted() { Access::Write } else { Access::Read };
        let mut sides: SmallVec<[(&Elements, Access); 4]> =
            smallvec![(from, Access::Read), (&self.indices, of_indices)];
        sides.extend(self.mask.as_ref().map(|mask| (mask, Access::Read)));
        sides.push((to, Access::Write));
        sides
    }

    /// Whether it writes a count in place of reading indices.
    fn is_counted(&self) -> bool {
        self.index_type == IndexType::Counted
    }

    pub(super) fn reaches(&self) -> SmallVec<[Reach; 2]> {
        self.sides().into_iter().map(|(side, access)| side.reach(access)).collect()
    }

    pub(super) fn touches(&self) -> SmallVec<[Touch; 2]> {
        let touch = |(side, access): (&Elements, Access)| Touch {
            place: Place::Device(side.buffer),
            bytes: side.bytes(),
            access,
        };
        self.sides().into_iter().map(touch).collect()
    }

    /// The position among its touches of the elements that it writes.
    pub(super) fn written_touch(&self) -> usize {
        self.sides().len() - 1
    }

    /// Notes the bytes that have no value now: which elements are gathered is known only when it
    /// runs, and by then more may have been written.
    pub(super) fn note_missing(&mut self, judge: &Judge) {
        self.is_judged = judge.is_on();
        let (from, _) = self.ends();
        self.missing = judge.missing(from.buffer, &from.bytes());
    }

    /// Whether indices and a mask decide which elements are written.
    pub(super) fn is_scatter(&self) -> bool {
        self.direction == Direction::Scatter
    }

    pub(super) fn add_missing(&mut self, bytes: &ByteSet) {
        self.missing = self.missing.with(bytes);
    }

    pub(super) fn set_put(&mut self, bytes: Option<ByteSet>) {
        self.put = bytes;
    }

    /// Runs the whole operation. Returns the first index out of range, and its mistakes. The memory
    /// it needs grows with the elements that it reads and writes, not with the indices, which may
    /// be many more.
    pub(super) fn run(&self, memory: &mut Memory) -> (Option<IndexError>, Vec<Mistake>) {
        let (from, to) = self.ends();
        let mut written = memory.take(to.buffer);
        let is_written = |side: &Elements| side.buffer.number == to.buffer.number;
        let read = [Some(from), Some(&self.indices), self.mask.as_ref()];
        // Other elements that are read in the written memory are read as they were before.
        let mut before = None;
        for side in read.into_iter().flatten().filter(|side| is_written(side)) {
            let copied = before.get_or_insert_with(|| vec![0; written.len_bytes()]);
            for range in side.bytes().ranges() {
                // Memory that does not exist, or no longer exists, has fewer bytes, or none.
                let held = written.part(range.clone());
                if let Some(into) = copied.get_mut(range.start..range.start + held.len()) {
                    into.copy_from_slice(held);
                }
            }
        }
        let source = |side: &Elements| match &before {
            Some(bytes) if is_written(side) => Source::new(memory, side.buffer).of_bytes(bytes),
            _ => Source::new(memory, side.buffer),
        };
        let ([picked, indices], mask) = ([from, &self.indices].map(source), self.mask.as_ref().map(source));
        if let Some(done) = self.run_at_once(&picked, &indices, mask.as_ref(), &mut written) {
            memory.put(to.buffer, written);
            self.put_count(memory, done.selected);
            self.note_given(memory, done.given);
            return (done.error, Vec::new());
        }
        let held = self.indices.all_of(&indices);
        let read_index = |at: usize| {
            let (mut bytes, place) = ([0; 8], self.indices.place(at));
            match (held, self.index_type) {
                (Some(held), IndexType::I32 | IndexType::U32) => copy_item::<4>(held, place, &mut bytes, 0),
                (Some(held), IndexType::I64) => copy_item::<8>(held, place, &mut bytes, 0),
                _ => indices.read(place, &mut bytes[..self.index_type.len_bytes()]),
            }
            let [a, b, c, d, ..] = bytes;
            match self.index_type {
                IndexType::I32 => i64::from(i32::from_le_bytes([a, b, c, d])),
                IndexType::U32 => i64::from(u32::from_le_bytes([a, b, c, d])),
                IndexType::I64 | IndexType::Counted => i64::from_le_bytes(bytes),
            }
        };
        let mut selected = 0_i64;
        let is_chosen = |at: usize| {
            let mut byte = [0];
            if let (Some(mask), Some(of)) = (&mask, &self.mask) {
                mask.read(of.place(at), &mut byte);
            }
            selected += i64::from(byte[0] != 0);
            byte[0] != 0
        };
        let (mut unwritten, may_miss) = (None, !self.missing.is_empty());
        let count = self.elements.layout.len();
        let is_once = self.direction == Direction::Scatter && self.repeats == Repeats::None;
        let places = || Places::new(&to.layout, count);
        let mut repeated = (is_once && self.is_judged).then(places);
        let mut given = self.put.is_some().then(places);
        let mut moving = Moving::new(from, picked, to, &mut written);
        let error = self.work().visit(read_index, is_chosen, |run| {
            let element = (run.element, run.element_stride);
            let indexed = run.indexed.map(|at| (at, run.indexed_stride));
            let (source, into) = match (self.direction, indexed) {
                (Direction::Gather, indexed) => (indexed, element),
                (Direction::Scatter, Some(indexed)) => (Some(element), indexed),
                (Direction::Scatter, None) => return,
            };
            if let Some(source) = source.filter(|_| may_miss) {
                unwritten = unwritten.take().or_else(|| self.first_missing(from, source, run));
            }
            if let Some(repeated) = &mut repeated {
                // Runs that start at the same place are equal, and other runs share nothing with
                // them.
                repeated.note(into.0);
            }
            if let Some(given) = &mut given {
                (0..run.len).for_each(|at| given.note(step(into.0, into.1, at)));
            }
            moving.run(source, into, run.len);
        });
        memory.put(to.buffer, written);
        self.put_count(memory, selected);
        let in_bytes = |at: Range<usize>| to.place(at.start)..to.place(at.end);
        self.note_given(memory, given.map(|given| given.ranges().into_iter().map(in_bytes).collect()));
        let repeated = repeated.and_then(Places::first_twice).map(|first| {
            let start = to.place(first);
            let bytes = ByteSet::range(start..start + to.item_bytes);
            let help = "help: with `Repeats::Last` the last of them stays";
            Mistake { code: Code::RepeatedIndex, access: Access::Write, of: to.buffer, bytes, help }
        });
        (error, unwritten.into_iter().chain(repeated).collect())
    }

    /// Notes the bytes that have a value now, and the bytes that could have got one and did not.
    fn note_given(&self, memory: &mut Memory, given: Option<ByteSet>) {
        if let (Some(missing), Some(given), Some(unput)) =
            (&self.put, given, memory.unput_mut(self.whole.buffer))
        {
            *unput = unput.with(missing).without(&given);
        }
    }

    /// Writes the number of elements that a mask selected, if the operation counts them.
    fn put_count(&self, memory: &mut Memory, selected: i64) {
        if self.is_counted() {
            let mut counts = memory.take(self.indices.buffer);
            let start = self.indices.place(self.indices.layout.offset());
            let into = counts.part_mut(start..start + 8);
            into.copy_from_slice(&selected.to_le_bytes()[..into.len()]);
            memory.put(self.indices.buffer, counts);
        }
    }

    /// A mistake if a run gathers bytes that have no value.
    fn first_missing(
        &self,
        from: &Elements,
        (first, stride): (usize, isize),
        run: GatherRun,
    ) -> Option<Mistake> {
        // If there is one position, the stride is never used, and may have any value.
        let stride_bytes = stride.wrapping_mul(from.item_bytes.cast_signed());
        let axis = [(stride_bytes, run.len)].into_iter();
        let read = ByteSet::strided(from.place(first), from.item_bytes, axis);
        let bytes = ByteSet::range(self.missing.first_common(&read)?);
        Some(Mistake {
            code: Code::Uninitialized,
            access: Access::Read,
            of: from.buffer,
            bytes,
            help: INITIALIZE,
        })
    }
}

impl Elements {
    /// The position of an element in its memory, in bytes.
    fn place(&self, at: usize) -> usize {
        (at * self.item_bytes).saturating_add_signed(self.start_bytes)
    }

    /// All bytes of a memory, if it is the engine's own and all elements lie inside.
    fn all_of<'a>(&self, memory: &Source<'a>) -> Option<&'a [u8]> {
        memory.own().filter(|bytes| self.span_bytes().end <= bytes.len())
    }
}
