//! Functions of elements, and reductions, as queued operations.
#![allow(unsafe_code)] // runs core's interpreter, which reads and writes memory through pointers

use std::{ops::Range, ptr};

use devarray::{
    Layout,
    backend::{MapOp, Operand, ReduceForm, ReduceOp},
    function::{
        Combine, ElementType,
        interpreter::{InputElements, Reducing, ResultElements, interpret_range, interpret_reduction},
        primitive::Program,
    },
};
use smallvec::SmallVec;

use super::{Bytes, Memory, reach::Reach, source::Source};
use crate::{
    allocation::{Allocated, BufferId},
    finding::Access,
    judge::{ByteSet, Place, Touch},
    statistics::Counts,
};

/// A function and its operands.
#[derive(Debug)]
pub(crate) struct Computation {
    program: Program,
    inputs: Vec<Elements>,
    scalars: Vec<u64>,
    result: Elements,
    /// The combination of the function's values; `None` stores the values.
    reduction: Option<Reduction>,
}

/// The way in which elements are combined.
#[derive(Debug)]
struct Reduction {
    combine: Combine,
    form: ReduceForm,
    shape: Vec<usize>,
    row_len: usize,
    finish: Program,
    finish_scalars: Vec<u64>,
}

/// The elements of an operand in a memory.
#[derive(Debug)]
pub(super) struct Elements {
    pub(super) buffer: BufferId,
    /// The position in the memory of position 0 of the layout, in bytes.
    pub(super) start_bytes: isize,
    pub(super) layout: Layout,
    pub(super) item_bytes: usize,
}

impl Elements {
    pub(super) fn of(buffer: &impl Allocated, layout: &Layout, item_bytes: usize) -> Self {
        let (start_bytes, layout) = (buffer.start_bytes(), layout.clone());
        Self { buffer: buffer.id(), start_bytes, layout, item_bytes }
    }

    /// The range from the first byte of the lowest element to the end of the highest one.
    pub(super) fn span_bytes(&self) -> Range<usize> {
        let span = self.layout.span();
        let at = |position: usize| (position * self.item_bytes).saturating_add_signed(self.start_bytes);
        at(span.start)..at(span.end)
    }

    /// The position in the memory of the first element.
    fn first_byte(&self) -> usize {
        (self.layout.offset() * self.item_bytes).saturating_add_signed(self.start_bytes)
    }

    pub(super) fn bytes(&self) -> ByteSet {
        // The stride of an axis with one position is never used, and may have any value.
        let stride = |&stride: &isize| stride.wrapping_mul(self.item_bytes.cast_signed());
        let axes = self.layout.strides().iter().map(stride).zip(self.layout.shape().iter().copied());
        ByteSet::strided(self.first_byte(), self.item_bytes, axes)
    }

    /// The bytes of the first rows, or of all if there are not as many.
    pub(super) fn first_rows(&self, rows: usize) -> ByteSet {
        let extent = self.layout.shape().first().copied().unwrap_or(0);
        match self.layout.slice_axis(0, ..rows.min(extent)) {
            Ok(layout) => Self { layout, ..*self }.bytes(),
            Err(_) => ByteSet::default(),
        }
    }

    pub(super) fn reach(&self, access: Access) -> Reach {
        Reach { buffer: self.buffer, span_bytes: self.span_bytes(), access }
    }
}

impl Computation {
    pub(crate) fn map(op: &MapOp<'_, impl Allocated>) -> Self {
        Self::new(op.program(), op.inputs(), op.scalars(), op.result(), op.program().result_type())
    }

    pub(crate) fn reduce(op: &ReduceOp<'_, impl Allocated>) -> Self {
        let work = op.work();
        let reduction = Reduction {
            combine: work.combine,
            form: op.form(),
            shape: op.shape().to_vec(),
            row_len: op.row_len(),
            finish: work.finish.clone(),
            finish_scalars: work.finish_scalars.to_vec(),
        };
        let result_type = work.finish.result_type();
        let element = Self::new(work.program, op.inputs(), work.scalars, op.result(), result_type);
        Self { reduction: Some(reduction), ..element }
    }

    fn new<B: Allocated>(
        program: &Program,
        inputs: &[Operand<'_, B>],
        scalars: &[u64],
        result: &Operand<'_, B>,
        result_type: ElementType,
    ) -> Self {
        let inputs = inputs.iter().zip(program.inputs());
        let inputs = inputs
            .map(|(input, input_type)| Elements::of(input.buffer(), input.layout(), input_type.len_bytes()));
        Self {
            inputs: inputs.collect(),
            scalars: scalars.to_vec(),
            result: Elements::of(result.buffer(), result.layout(), result_type.len_bytes()),
            program: program.clone(),
            reduction: None,
        }
    }

    pub(super) fn name(&self) -> &'static str {
        if self.reduction.is_some() { "reduce" } else { "map" }
    }

    pub(super) fn count(&self, counts: &mut Counts) {
        let tally = if self.reduction.is_some() { &mut counts.reductions } else { &mut counts.maps };
        *tally += self.len_bytes();
    }

    /// The number of bytes that it writes.
    pub(super) fn len_bytes(&self) -> usize {
        self.result.layout.len() * self.result.item_bytes
    }

    /// The reach of each operand, the inputs before the result.
    pub(super) fn reaches(&self) -> impl Iterator<Item = Reach> {
        let inputs = self.inputs.iter().map(|input| input.reach(Access::Read));
        inputs.chain([self.result.reach(Access::Write)])
    }

    /// Whether an input has the same elements as the result. A function reads each of them before
    /// it writes it.
    pub(super) fn is_in_place(&self, input: usize) -> bool {
        let place = |of: &Elements| (of.buffer, of.first_byte(), of.item_bytes);
        self.reduction.is_none()
            && self.inputs.get(input).is_some_and(|input| {
                place(input) == place(&self.result) && input.layout.steps_like(&self.result.layout)
            })
    }

    /// The touches of the operands, the inputs before the result.
    pub(super) fn touches(&self) -> SmallVec<[Touch; 2]> {
        let touch =
            |of: &Elements, access| Touch { place: Place::Device(of.buffer), bytes: of.bytes(), access };
        let inputs = self.inputs.iter().map(|input| touch(input, Access::Read));
        inputs.chain([touch(&self.result, Access::Write)]).collect()
    }

    /// Computes the elements of the result that begin in a piece of its bytes, in C order.
    pub(super) fn run(&self, memory: &mut Memory, piece: Range<usize>) {
        let item_bytes = self.result.item_bytes;
        let elements = piece.start.div_ceil(item_bytes)..piece.end.div_ceil(item_bytes);
        if elements.is_empty() {
            return;
        }
        // Memory that does not exist, or no longer exists, is read as poison; writes to it are
        // lost.
        let stand_ins: Vec<Option<Vec<u8>>> =
            self.inputs.iter().map(|input| input.stand_in(memory)).collect();
        let mut lost = self.result.stand_in(memory);
        let is_lost = lost.is_some();
        let written = match &mut lost {
            Some(bytes) => bytes.as_mut_ptr(),
            None => memory.bytes_mut(self.result.buffer).map_or(ptr::null_mut(), Bytes::start_mut),
        };
        let mut inputs: Vec<InputElements<'_>> = Vec::with_capacity(self.inputs.len());
        for (input, stand_in) in self.inputs.iter().zip(&stand_ins) {
            // Never borrowed mutably: if the host has the memory in place, it may read it at the
            // same time.
            let start = match stand_in {
                Some(bytes) => bytes.as_ptr(),
                None if input.buffer == self.result.buffer && !is_lost => written.cast_const(),
                None => memory.bytes(input.buffer).map_or(ptr::null(), Bytes::start),
            };
            let start = start.wrapping_offset(input.start_bytes);
            inputs.push(InputElements { start, layout: &input.layout });
        }
        let start = written.wrapping_offset(self.result.start_bytes);
        let result = ResultElements { start, layout: &self.result.layout };
        let Some(Reduction { combine, form, shape, row_len, finish, finish_scalars }) = &self.reduction
        else {
            // SAFETY: each memory is at least as long as its layout reaches, or is replaced by a
            // stand-in; nothing else uses the memories meanwhile, because the engine is borrowed.
            // Inputs that share memory with the result have the same elements as the result, as the
            // operation proves.
            return unsafe { interpret_range(&self.program, &inputs, &self.scalars, result, elements) };
        };
        // A piece of a scan computes the rows that begin in it.
        let each = if *form == ReduceForm::Total { 1 } else { *row_len };
        let rows = elements.start.div_ceil(each)..elements.end.div_ceil(each);
        let work = Reducing {
            program: &self.program,
            scalars: &self.scalars,
            combine: *combine,
            finish,
            finish_scalars,
        };
        // SAFETY: as above; no input shares memory with the result
        unsafe { interpret_reduction(&work, *form, &inputs, shape, result, rows) }
    }
}

impl Elements {
    /// Bytes that are read in place of memory that does not exist, or that is shorter than the
    /// layout reaches.
    fn stand_in(&self, memory: &Memory) -> Option<Vec<u8>> {
        let end = self.span_bytes().end;
        let source = Source::new(memory, self.buffer);
        (source.len_bytes() < end).then(|| {
            let mut bytes = vec![0; end];
            for range in self.bytes().ranges() {
                source.read(range.start, &mut bytes[range]);
            }
            bytes
        })
    }
}
