//! Keeps elements of a row between two passes: in registers if few instructions read them,
//! otherwise in shared memory.
//!
//! In shared memory each thread writes and reads only its own elements, four a step, so no thread
//! waits for another. The four of all operands lie in one *chunk*, and the chunks of the threads of
//! a block side by side, so that a warp reads consecutive vectors. The instructions are written
//! once, in a loop: the compiler is done soon, and threads need few registers.

use devarray::function::{Combine, ElementType};

use super::{
    kernel::RowStorage,
    kernel_code::{Elements, KernelCode},
    sizes::SIDE,
};
use crate::function::{
    access::{Words, element, load_accesses, load_span, store_accesses, store_to},
    class::{Access, Class},
    text::{BLOCK, Reg, Text},
};

/// The most registers of 4 bytes in which a thread keeps elements. With them a multiprocessor holds
/// two blocks, or four if a function of every element follows, which needs registers itself.
const CACHED_REGISTERS: usize = 64;
const CACHED_WITH_LAST: usize = 32;

/// The most registers that a thread moves to shared memory at one time.
const MOVING_REGISTERS: usize = 32;

/// Bytes of the widest access to shared memory.
const VECTOR_BYTES: usize = 16;

/// The most instructions that are written one after another.
const INSTRUCTIONS: usize = 2_048;

impl RowStorage {
    /// Chooses the storage for rows of `loads` steps. `registers` is the number that the elements
    /// of one step take; `instructions` is the number of all that read one element; `has_last` says
    /// whether a function of every element follows.
    pub(super) fn new(loads: usize, registers: usize, instructions: usize, has_last: bool) -> Self {
        let most = if has_last { CACHED_WITH_LAST } else { CACHED_REGISTERS };
        if loads * SIDE * instructions <= INSTRUCTIONS && loads * registers <= most {
            return Self::Registers { loads };
        }
        let most = (MOVING_REGISTERS / registers).max(1);
        let steps = 1 << loads.min(most).ilog2();
        Self::Shared { steps, more: loads > steps }
    }
}

/// The places of operands' elements in a chunk.
#[derive(Debug, Clone)]
pub(super) struct Chunk {
    /// An offset for each operand, if it has an element for each position.
    offsets: Vec<Option<usize>>,
    len_bytes: usize,
}

impl Chunk {
    /// A chunk also has room for combined values, which come in the place of all operands.
    pub(super) fn new(class: &Class, combined_type: Option<ElementType>) -> Self {
        let least_bytes = combined_type.map_or(0, |of| SIDE * of.len_bytes());
        let (mut len_bytes, mut alignment) = (least_bytes, vector_bytes(least_bytes));
        let mut end = 0;
        let operands = class.operands.iter().enumerate();
        let offsets = operands.map(|(operand, &(kind, access))| {
            let element_type = kind.element_type().filter(|_| operand > 0 && access != Access::Uniform)?;
            let bytes = SIDE * element_type.len_bytes();
            let place = usize::next_multiple_of(end, vector_bytes(bytes));
            (end, alignment) = (place + bytes, alignment.max(vector_bytes(bytes)));
            Some(place)
        });
        let offsets = offsets.collect();
        len_bytes = len_bytes.max(end).next_multiple_of(alignment.max(1));
        Self { offsets, len_bytes }
    }

    /// Bytes of the chunks of a block for one step.
    pub(super) fn step_bytes(&self) -> usize {
        BLOCK as usize * self.len_bytes
    }
}

/// Bytes of one access to four elements of a chunk.
fn vector_bytes(four_bytes: usize) -> usize {
    four_bytes.min(VECTOR_BYTES)
}

/// Elements of one access to a chunk.
fn width(element_type: ElementType) -> usize {
    SIDE.min(VECTOR_BYTES / element_type.len_bytes())
}

/// Gives access to the elements of a thread.
pub(super) struct RowCache<'k> {
    code: &'k KernelCode<'k>,
    rows: Vec<Reg>,
    /// Its first element, and how many the row has.
    pub(super) first: Reg,
    len: Reg,
    placement: Placement,
}

/// Where they are.
enum Placement {
    /// Whether the four of each step exist, and their registers.
    Registers(Vec<(Reg, Elements)>),
    /// The thread's first chunk, and how many it may have.
    Shared { chunk: Chunk, slot: Reg, loads: usize },
}

/// One step of a thread.
pub(super) struct Step<'s> {
    pub(super) elements: &'s Elements,
    /// The number of steps before it, if it is known.
    pub(super) number: Option<usize>,
    /// Whether its elements exist; `None` if they always do.
    pub(super) there: Option<Reg>,
    slot: Option<Reg>,
}

impl<'k> RowCache<'k> {
    /// Loads the elements of a row. `thread` and `place`: the thread's number in the block, and in the
    /// row.
    pub(super) fn new(
        text: &mut Text,
        code: &'k KernelCode<'k>,
        (rows, len): (Vec<Reg>, Reg),
        (thread, place): (Reg, Reg),
        storage: RowStorage,
    ) -> Self {
        let first = text.set32("mul.lo.u32", format_args!("{place}, {SIDE}"));
        match storage {
            RowStorage::Registers { loads } => {
                let placement = Placement::Registers(in_registers(text, code, (&rows, len), first, loads));
                Self { code, rows, first, len, placement }
            }
            RowStorage::Shared { steps, more } => {
                let chunk = Chunk::new(code.class, code.kernel.combined_type());
                let start = text.dynamic_shared();
                let slot = text.set32("mad.lo.u32", format_args!("{thread}, {}, {start}", chunk.len_bytes));
                let loads = if more { usize::MAX } else { steps };
                let cache =
                    Self { code, rows, first, len, placement: Placement::Shared { chunk, slot, loads } };
                cache.fill(text, steps);
                cache
            }
        }
    }

    /// Brings the elements of a row to shared memory, `steps` steps at a time.
    fn fill(&self, text: &mut Text, steps: usize) {
        self.repeat(text, steps, |cache, chunk, text, (local, addresses, slot)| {
            let mut before = addresses.to_vec();
            let mut loaded = Vec::with_capacity(steps);
            for step in 0..steps {
                let behind = text.set32("add.u32", format_args!("{local}, {}", step * Combine::LANES));
                let there = text.test("setp.lt.u32", format_args!("{behind}, {}", cache.len));
                if step > 0 {
                    before = cache.code.further(text, (&cache.rows, &before), (local, local), 1);
                }
                loaded.push((there, cache.fetch(text, chunk, &before, there)));
            }
            for (step, (there, operands)) in loaded.iter().enumerate() {
                for (place, accesses, step_bytes) in operands {
                    let at = step * chunk.step_bytes() + place;
                    store_accesses(text, accesses, (slot, at, *step_bytes), *there);
                }
            }
        });
    }

    /// Loads four elements of each operand that is kept: their offset in a chunk, the loaded
    /// registers, and the bytes of each access.
    fn fetch(
        &self,
        text: &mut Text,
        chunk: &Chunk,
        addresses: &[Reg],
        there: Reg,
    ) -> Vec<(usize, Vec<Words>, usize)> {
        let mut all = Vec::new();
        for (operand, &place) in chunk.offsets.iter().enumerate() {
            let (kind, access) = self.code.class.operands[operand];
            let (Some(place), Some(element_type)) = (place, kind.element_type()) else { continue };
            let size = element_type.len_bytes();
            let load = |text: &mut Text, address: Reg, count: usize, width: usize| {
                let guards = vec![there; count / width];
                load_accesses(text, kind.space(), element_type, address, (count, width), &guards)
            };
            let mut address = addresses[operand];
            if let Access::Span { width } = access {
                let width = usize::from(width);
                all.push((place, load(text, address, SIDE, width), width * size));
                continue;
            }
            let mut accesses = load(text, address, 1, 1);
            for _ in 1..SIDE {
                address = self.code.next(text, operand, address);
                accesses.extend(load(text, address, 1, 1));
            }
            all.push((place, accesses, size));
        }
        all
    }

    /// Writes a loop over the chunks of a thread, `steps` per turn. `write_step` gets the number of the
    /// first element, the operands' addresses there, and the chunk.
    fn repeat(
        &self,
        text: &mut Text,
        steps: usize,
        write_step: impl FnOnce(&Self, &Chunk, &mut Text, (Reg, &[Reg], Reg)),
    ) {
        let Placement::Shared { chunk, slot, loads } = &self.placement else {
            unreachable!("a loop over chunks")
        };
        let local = text.set32("mov.b32", format_args!("{}", self.first));
        let slot = text.set32("mov.b32", format_args!("{slot}"));
        let start = self.code.along(text, &self.rows, self.first);
        let addresses: Vec<Reg> =
            start.iter().map(|start| text.set64("mov.b64", format_args!("{start}"))).collect();
        let (again, done) = (text.label(), text.label());
        text.place(&again);
        text.branch_if("setp.ge.u32", format_args!("{local}, {}", self.len), &done);
        write_step(self, chunk, text, (local, &addresses, slot));
        if *loads > steps {
            let mut further = addresses.clone();
            for _ in 0..steps {
                further = self.code.further(text, (&self.rows, &further), (local, local), 1);
            }
            for (address, further) in addresses.iter().zip(further).skip(1) {
                text.line(format_args!("mov.b64 {address}, {further}"));
            }
            text.line(format_args!("add.u32 {local}, {local}, {}", steps * Combine::LANES));
            text.line(format_args!("add.u32 {slot}, {slot}, {}", steps * chunk.step_bytes()));
            text.line(format_args!("bra {again}"));
        }
        text.place(&done);
    }

    /// Writes the work of each step: once for each if elements are in registers, else once in a
    /// loop.
    pub(super) fn each(&self, text: &mut Text, mut write_step: impl FnMut(&mut Text, &Step<'_>)) {
        if let Placement::Registers(steps) = &self.placement {
            for (number, (there, elements)) in steps.iter().enumerate() {
                let (number, there) = (Some(number), Some(*there));
                write_step(text, &Step { elements, number, there, slot: None });
            }
            return;
        }
        self.repeat(text, 1, |cache, chunk, text, (_, addresses, slot)| {
            let operands = cache.code.class.operands.iter().enumerate();
            let elements = operands
                .map(|(operand, &(kind, _))| match (chunk.offsets[operand], kind.element_type()) {
                    (Some(place), Some(element_type)) => {
                        let at = text.set32("add.u32", format_args!("{slot}, {place}"));
                        load_span(text, "shared", element_type, at, (SIDE, width(element_type)), &[])
                    }
                    // Positions are their own addresses.
                    _ => cache.code.of_operand(text, operand, addresses[operand], SIDE, None),
                })
                .collect();
            write_step(text, &Step { elements: &elements, number: None, there: None, slot: Some(slot) });
        });
    }
}

/// Loads the elements of a row into registers, `first` and those behind it: whether the four of each
/// step exist, and the loaded registers.
fn in_registers(
    text: &mut Text,
    code: &KernelCode<'_>,
    (rows, len): (&[Reg], Reg),
    first: Reg,
    loads: usize,
) -> Vec<(Reg, Elements)> {
    let mut addresses = code.along(text, rows, first);
    let mut steps = Vec::with_capacity(loads);
    for step in 0..loads {
        let local = text.set32("add.u32", format_args!("{first}, {}", step * Combine::LANES));
        // Either all four exist, or none.
        let there = text.test("setp.lt.u32", format_args!("{local}, {len}"));
        if step > 0 {
            addresses = code.further(text, (rows, &addresses), (first, first), 1);
        }
        steps.push((there, code.several(text, &addresses, SIDE, Some(there))));
    }
    steps
}

/// Values that a thread combined. They are stored in the place of its elements, or beside them.
pub(super) struct Values {
    element_type: ElementType,
    in_registers: Vec<Vec<Reg>>,
}

impl Values {
    pub(super) fn new(element_type: ElementType) -> Self {
        Self { element_type, in_registers: Vec::new() }
    }

    /// Keeps four values.
    pub(super) fn keep(&mut self, text: &mut Text, step: &Step<'_>, four: Vec<Reg>) {
        let of = self.element_type;
        match step.slot {
            Some(slot) => store_to(text, "shared", of, slot, &four, width(of), &[]),
            None => self.in_registers.push(four),
        }
    }

    /// The four of a step.
    pub(super) fn of(&self, text: &mut Text, step: &Step<'_>) -> Vec<Reg> {
        let of = self.element_type;
        match step.slot {
            Some(slot) => {
                let loaded = load_span(text, "shared", of, slot, (SIDE, width(of)), &[]);
                loaded.into_iter().map(|loaded| element(text, of, loaded)).collect()
            }
            None => self.in_registers[step.number.unwrap_or(0)].clone(),
        }
    }
}
