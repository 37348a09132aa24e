//! Code shared by all reducing kernels: addresses along axes, loads of elements, and the use of a
//! total.

mod outcome;

use devarray::function::{
    Combine,
    primitive::{Instruction, Program},
};

use super::{
    combining::{Combining, Partial},
    kernel::{Form, Kernel, Words},
};
use crate::function::{
    access::{Loaded, load, load_span, unpacked},
    body::{Body, Differs},
    class::{Access, Class},
    index::{self, bases, divided, numbers, walk},
    text::{BLOCK, Bank, Reg, Text},
};

/// A kernel that is being written.
#[derive(Clone, Copy)]
pub(super) struct KernelCode<'a> {
    pub(super) class: &'a Class,
    pub(super) kernel: &'a Kernel,
    pub(super) words: Words,
    pub(super) combining: Combining,
    pub(super) program: &'a Program,
}

/// Elements of each operand, side by side.
pub(super) type Elements = Vec<Vec<Loaded>>;

impl<'a> KernelCode<'a> {
    pub(super) fn new(program: &'a Program, class: &'a Class, kernel: &'a Kernel) -> Self {
        let first = kernel.first.as_deref();
        let scalars = if kernel.of_partials { 0 } else { program.scalars().len() }
            + first.map_or(0, |first| first.program.scalars().len());
        let finish_scalars = kernel.finish_scalars() + first.map_or(0, |first| first.finish.scalars().len());
        let axes = [kernel.kept.into(), kernel.reduced.into()];
        let words = Words::new(class.operands.len(), [scalars, finish_scalars], axes);
        let combining = Combining::new(kernel.combine, kernel.element_type, kernel.of_partials);
        Self { class, kernel, words, combining, program }
    }

    /// The program of the elements, begun with the part that all elements of a thread share; `None`
    /// for partials.
    pub(super) fn body(&self, text: &mut Text, rows: &[Reg]) -> Option<Body<'a>> {
        if self.kernel.of_partials {
            return None;
        }
        Some(self.body_of(text, (self.program, self.words.scalars), rows, &[]))
    }

    /// A program whose scalars begin at a word, begun with the part that all elements of a thread
    /// share. Some inputs are known.
    pub(super) fn body_of<'p>(
        &self,
        text: &mut Text,
        (program, scalars): (&'p Program, usize),
        rows: &[Reg],
        known: &[(Instruction, Reg)],
    ) -> Body<'p> {
        let given = |instruction| known.iter().find(|(which, _)| *which == instruction).map(|known| known.1);
        let last = self.kernel.last.as_deref();
        let differs = |instruction| match given(instruction) {
            Some(_) => Differs::Never,
            None if last.is_some_and(|last| last.is_combined(instruction)) => Differs::ByElement,
            None if self.class.operands[self.class.operand(instruction)].1 == Access::Uniform => {
                Differs::Never
            }
            None => Differs::ByElement,
        };
        let mut body = Body::new(program, scalars, differs);
        body.common(text, |text, instruction| {
            if let Some(value) = given(instruction) {
                return value;
            }
            let operand = self.class.operand(instruction);
            let kind = self.class.operands[operand].0;
            let loaded = load(text, kind, rows[operand], None);
            unpacked(text, kind, loaded)
        });
        body
    }

    /// The addresses of all operands, moved along the axes that are kept to a row.
    pub(super) fn row(&self, text: &mut Text, row: Reg) -> Vec<Reg> {
        self.row_of(text, row, self.words.operands)
    }

    /// Like `row`, for the first operands.
    pub(super) fn row_of(&self, text: &mut Text, row: Reg, operands: usize) -> Vec<Reg> {
        let mut addresses = bases(text, operands);
        let axes = (0..self.words.kept).map(|axis| self.words.kept(axis));
        walk(text, true, &mut addresses, row, axes, |_| true);
        addresses
    }

    /// The position in the row of the first element of a segment.
    pub(super) fn start(&self, text: &mut Text, segment: Reg) -> Reg {
        let segment_len = self.kernel.form.segment_len();
        if self.kernel.long {
            let segment = text.set64("cvt.u64.u32", format_args!("{segment}"));
            return text.set64("mul.lo.u64", format_args!("{segment}, {segment_len}"));
        }
        text.set32("mul.lo.u32", format_args!("{segment}, {segment_len}"))
    }

    /// The number of elements of a row in a segment that begins at a position; 0 unless `inside`.
    pub(super) fn len(&self, text: &mut Text, start: Reg, inside: Reg) -> Reg {
        let segment_len = self.kernel.form.segment_len();
        let row_len = text.parameter(start.bank, self.words.row_len);
        let (kind, bank) = if self.kernel.long { ("64", Bank::B64) } else { ("32", Bank::B32) };
        let rest = text.set(bank, &format!("sub.s{kind}"), format_args!("{row_len}, {start}"));
        let len = text.set(bank, &format!("min.s{kind}"), format_args!("{rest}, {segment_len}"));
        let len = if self.kernel.long { text.set32("cvt.u32.u64", format_args!("{len}")) } else { len };
        text.set32("selp.b32", format_args!("{len}, 0, {inside}"))
    }

    /// Addresses of a row, moved to a position along the reduced axes. The result's address stays.
    pub(super) fn along(&self, text: &mut Text, row: &[Reg], position: Reg) -> Vec<Reg> {
        let mut addresses = row.to_vec();
        let axes = (0..self.words.reduced).map(|axis| self.words.reduced(axis));
        let moves = |operand: usize| operand > 0 && self.class.operands[operand].1 != Access::Uniform;
        walk(text, true, &mut addresses, position, axes, moves);
        addresses
    }

    /// Addresses of a row of one axis, the result's too, moved to the start of a tile.
    pub(super) fn tile(&self, text: &mut Text, row: &[Reg], start: Reg) -> Vec<Reg> {
        let operands = row.iter().enumerate();
        operands.map(|(at, &address)| moved(text, address, start, self.words.along(at))).collect()
    }

    /// A position in the row: some elements after a start.
    pub(super) fn position(&self, text: &mut Text, start: Reg, local: Reg) -> Reg {
        if start.bank == Bank::B64 {
            let local = text.set64("cvt.u64.u32", format_args!("{local}"));
            return text.set64("add.u64", format_args!("{start}, {local}"));
        }
        text.set32("add.u32", format_args!("{start}, {local}"))
    }

    /// Addresses moved on from `before` by one step of all lanes of a segment. `step`: the number
    /// of steps from `local` on.
    pub(super) fn further(
        &self,
        text: &mut Text,
        (row, before): (&[Reg], &[Reg]),
        (start, local): (Reg, Reg),
        step: usize,
    ) -> Vec<Reg> {
        if self.words.reduced != 1 {
            let local = text.set32("add.u32", format_args!("{local}, {}", step * Combine::LANES));
            let position = self.position(text, start, local);
            return self.along(text, row, position);
        }
        let mut addresses = before.to_vec();
        for (operand, address) in addresses.iter_mut().enumerate().skip(1) {
            let (kind, access) = self.class.operands[operand];
            let bytes = (Combine::LANES as u64).cast_signed() * kind.len_bytes();
            *address = match access {
                Access::Uniform | Access::Each => continue,
                Access::Span { .. } => text.set64("add.s64", format_args!("{address}, {bytes}")),
                _ => {
                    let stride = text.parameter(Bank::B64, self.words.along(operand));
                    text.set64("mad.lo.s64", format_args!("{stride}, {}, {address}", Combine::LANES))
                }
            };
        }
        addresses
    }

    /// Some elements of each operand that lie side by side for a thread, if the guard is true.
    pub(super) fn several(
        &self,
        text: &mut Text,
        addresses: &[Reg],
        count: usize,
        guard: Option<Reg>,
    ) -> Elements {
        let of = |operand: usize| self.of_operand(text, operand, addresses[operand], count, guard);
        (0..self.words.operands).map(of).collect()
    }

    /// Like `several`, for one operand.
    pub(super) fn of_operand(
        &self,
        text: &mut Text,
        operand: usize,
        address: Reg,
        count: usize,
        guard: Option<Reg>,
    ) -> Vec<Loaded> {
        let (kind, access) = self.class.operands[operand];
        match (access, kind.element_type()) {
            (Access::Uniform, _) => Vec::new(),
            _ if operand == 0 => Vec::new(),
            (Access::Span { width }, Some(element_type)) => {
                let width = count.min(width.into());
                let guards = guard.map_or_else(Vec::new, |guard| vec![guard; count / width]);
                load_span(text, kind.space(), element_type, address, (count, width), &guards)
            }
            (Access::Each, _) => vec![load(text, kind, address, guard); count],
            _ => {
                let mut address = address;
                let mut loaded = vec![load(text, kind, address, guard)];
                for _ in 1..count {
                    address = self.next(text, operand, address);
                    loaded.push(load(text, kind, address, guard));
                }
                loaded
            }
        }
    }

    /// The address of an operand's next element: in the next column if threads lie across rows,
    /// otherwise further along the row.
    pub(super) fn next(&self, text: &mut Text, operand: usize, address: Reg) -> Reg {
        let stride = match self.kernel.form {
            Form::Columns(_) => self.words.column(operand),
            _ => self.words.along(operand),
        };
        let stride = text.parameter(Bank::B64, stride);
        text.set64("add.s64", format_args!("{address}, {stride}"))
    }

    /// The value that an instruction of a program reads, for one of the elements.
    pub(super) fn element(
        &self,
        text: &mut Text,
        elements: &Elements,
        at: usize,
        instruction: Instruction,
    ) -> Reg {
        let operand = self.class.operand(instruction);
        unpacked(text, self.class.operands[operand].0, elements[operand][at])
    }

    /// The partial of one element. `index`: its position in the segment.
    pub(super) fn partial(
        &self,
        text: &mut Text,
        body: Option<&Body<'_>>,
        elements: &Elements,
        at: usize,
        index: Option<Reg>,
    ) -> Partial {
        let get = |text: &mut Text, operand: usize| {
            unpacked(text, self.class.operands[operand].0, elements[operand][at])
        };
        let Some(body) = body else {
            let value = get(text, 1);
            return Partial { value, index: self.combining.index.map(|_| get(text, 2)) };
        };
        let value = body.alone(text, |text, instruction| self.element(text, elements, at, instruction));
        let value = self.combining.encoded(text, value);
        Partial { value, index: self.combining.index.and(index) }
    }

    /// The partial of a lane without elements. `first`: the position of the lane's first.
    pub(super) fn neutral(&self, text: &mut Text, first: Reg) -> Partial {
        let mut partial = self.combining.neutral(text);
        if partial.index.is_some() && !self.kernel.of_partials {
            partial.index = Some(text.set32("mov.b32", format_args!("{first}")));
        }
        partial
    }

    /// Combines a lane with its next element.
    pub(super) fn added(&self, text: &mut Text, lane: Partial, next: Partial) -> Partial {
        if self.kernel.of_partials {
            self.combining.combined(text, lane, next)
        } else {
            self.combining.followed(text, lane, next)
        }
    }

    /// The number of a unit, such as a row or a segment, and whether it exists; the number is 0 if
    /// not.
    pub(super) fn inside(&self, text: &mut Text, unit: Reg) -> (Reg, Reg) {
        let units = text.parameter(Bank::B32, self.words.units);
        let inside = text.test("setp.lt.u32", format_args!("{unit}, {units}"));
        // Threads beyond the end take part, but have no elements.
        (text.set32("selp.b32", format_args!("{unit}, 0, {inside}")), inside)
    }

    /// The row of a unit and its segment: it is divided by the number of segments.
    pub(super) fn segment(&self, text: &mut Text, unit: Reg) -> (Reg, Reg) {
        if self.kernel.segmented {
            divided(text, unit, self.words.segments_divider, self.words.segments)
        } else {
            (unit, text.set32("mov.b32", format_args!("0")))
        }
    }
}

/// The place of a thread if `threads` have a unit, such as a row or a segment: its number in the
/// block, the number of its unit in the block, and the number of its unit.
pub(super) fn unit(text: &mut Text, threads: usize) -> (Reg, Reg, Reg) {
    let (block, thread) = numbers(text);
    let first = text.set32("mul.lo.u32", format_args!("{block}, {}", BLOCK as usize / threads));
    let within = text.set32("shr.u32", format_args!("{thread}, {}", threads.trailing_zeros()));
    (thread, within, text.set32("add.u32", format_args!("{first}, {within}")))
}

/// An address moved by some steps. The stride is in a word of the parameter.
pub(super) fn moved(text: &mut Text, address: Reg, steps: Reg, stride: usize) -> Reg {
    index::moved(text, true, address, steps, stride)
}
