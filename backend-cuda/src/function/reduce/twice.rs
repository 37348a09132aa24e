//! Two reductions of the same rows in one launch, the second of which needs what came out of the
//! first: a thread keeps its elements of a row in registers meanwhile, so that they are loaded
//! once.

use std::sync::Arc;

use devarray::{
    backend::{Buffer, ReduceForm, ReduceOp},
    function::{
        Combine, ElementType,
        primitive::{Instruction, Program, RegisterType},
    },
};

use super::{
    Class, Family,
    combining::{Combining, Part, assign},
    kernel::{Form, Kernel},
    plan::{self, Pass},
    rows::{self, LANES},
    site::{Elements, Site},
    space::Space,
};
use crate::{
    function::{
        body::Body,
        text::{BLOCK, Bank, Reg, Text},
    },
    memory::CudaBuffer,
};

/// Most registers that a thread keeps elements in, and blocks of so many registers that a
/// multiprocessor holds.
const REGISTERS: u64 = 64;
const RESIDENT: u32 = 2;

/// Most instructions of both programs that are written one after another.
const INSTRUCTIONS: usize = 2_048;

/// What is computed first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct First {
    program: Program,
    combine: Combine,
    finish: Program,
    /// The input of the second program that this comes out as.
    input: u8,
}

impl First {
    pub(super) fn scalars(&self) -> usize {
        self.program.scalars().len()
    }

    pub(super) fn finish_scalars(&self) -> usize {
        self.finish.scalars().len()
    }
}

/// The launch that computes both, if rows are short enough and lie as they should.
pub(super) fn pass<'a>(
    first: &ReduceOp<'_, CudaBuffer>,
    second: &ReduceOp<'a, CudaBuffer>,
) -> Option<Pass<'a>> {
    let (work, before) = (second.work(), first.work());
    let (last, inputs) = second.inputs().split_last()?;
    let is_between = last.buffer().address() == first.result().buffer().address();
    let is_same = inputs.len() == first.inputs().len()
        && inputs
            .iter()
            .zip(first.inputs())
            .all(|(a, b)| a.buffer().address() == b.buffer().address() && a.layout() == b.layout());
    if !(is_between && is_same)
        || first.form() != ReduceForm::Total
        || second.form() != ReduceForm::Total
        || first.shape() != second.shape()
        || [before.combine, work.combine].iter().any(|combine| has_index(*combine))
        || RegisterType::of(before.finish.result_type()) == RegisterType::Bool
    {
        return None;
    }
    let input = u8::try_from(inputs.len()).ok()?;
    let all = work.program.instructions();
    let is_read = |instruction: &Instruction| match instruction {
        Instruction::Input(_) | Instruction::Position(_) => all.contains(instruction),
        _ => true,
    };
    let space = Space::new(second)?.without(input);
    let row_len = space.row_len();
    let threads = row_len.div_ceil(LANES as u64).next_power_of_two().min(BLOCK.into());
    let loads = row_len.div_ceil(Combine::LANES as u64);
    let sizes = space.kinds.iter().skip(1).filter_map(|kind| kind.element_type());
    let registers: u64 = sizes.map(|of: ElementType| (LANES * of.len_bytes()).div_ceil(4) as u64).sum();
    let instructions = all.len() + before.program.instructions().len();
    let is_long = usize::try_from(loads).ok()? * LANES * instructions > INSTRUCTIONS;
    if !before.program.instructions().iter().all(is_read)
        || space.reduced.len() != 1
        || row_len > Combine::SEGMENT as u64
        || !row_len.is_multiple_of(LANES as u64)
        || registers * loads > REGISTERS
        || is_long
        || plan::has_columns(&space)
    {
        return None;
    }
    let kernel = Kernel {
        form: Form::Twice { threads: u16::try_from(threads).ok()?, loads: u16::try_from(loads).ok()? },
        combine: work.combine,
        element_type: work.program.result_type(),
        of_parts: false,
        finish: Some(work.finish.clone()),
        kept: u8::try_from(space.kept.len()).ok()?,
        reduced: 1,
        segmented: false,
        joined: false,
        long: false,
        first: Some(Arc::new(First {
            program: before.program.clone(),
            combine: before.combine,
            finish: before.finish.clone(),
            input,
        })),
    };
    let blocks = space.rows().div_ceil(u64::from(BLOCK) / threads);
    let chosen = plan::Chosen::of_rows(kernel.form, blocks);
    let scalars = [work.scalars, before.scalars].concat();
    let finish_scalars = [work.finish_scalars, before.finish_scalars].concat();
    let parameter = plan::parameter(&space, &chosen, (&scalars, &finish_scalars), 1, plan::Output::Finished)?;
    let accesses = (0..space.operands()).map(|operand| plan::access(&space, &chosen, operand));
    let class = Class {
        outer: kernel.kept,
        wide: true,
        operands: space.kinds.iter().copied().zip(accesses).collect(),
        family: Family::Reduce(Arc::new(kernel)),
    };
    Some(Pass { program: work.program, class, grid: u32::try_from(blocks).ok()?, parameter })
}

fn has_index(combine: Combine) -> bool {
    matches!(combine, Combine::ArgMinimum | Combine::ArgMaximum)
}

/// The elements of a thread, and which of them are there.
struct Loaded {
    steps: Vec<(Reg, Elements)>,
    first: Reg,
}

/// The text of a kernel: `threads` have a row, and load four elements each, `loads` times.
pub(super) fn write(
    program: &Program,
    class: &Class,
    kernel: &Kernel,
    (threads, loads): (usize, usize),
    first: &First,
) -> String {
    let site = Site::new(program, class, kernel);
    let combining = Combining::new(first.combine, first.program.result_type(), false);
    let before = site.combining(combining);
    let words = site.words;
    let mut text = Text::default();
    text.resident(if loads > 8 { RESIDENT } else { 2 * RESIDENT });
    let (block, thread) = Site::numbers(&mut text);
    let of_block = BLOCK as usize / threads;
    let start = text.set(Bank::B32, "mul.lo.u32", format_args!("{block}, {of_block}"));
    let within = text.set(Bank::B32, "shr.u32", format_args!("{thread}, {}", threads.trailing_zeros()));
    let row = text.set(Bank::B32, "add.u32", format_args!("{start}, {within}"));
    let place = text.set(Bank::B32, "and.b32", format_args!("{thread}, {}", threads - 1));
    let units = text.parameter(Bank::B32, words.units());
    let inside = text.set(Bank::Predicate, "setp.lt.u32", format_args!("{row}, {units}"));
    // Threads beyond the end go along with the others, without elements.
    let row = text.set(Bank::B32, "selp.b32", format_args!("{row}, 0, {inside}"));
    let start = text.set(Bank::B32, "mov.b32", format_args!("0"));
    let len = site.len(&mut text, start, Combine::SEGMENT, inside);
    let rows = site.row(&mut text, row);
    let loaded = load(&mut text, &site, &rows, (place, len), loads);

    let scalars =
        (words.scalars() + program.scalars().len(), words.finish_scalars() + finish_scalars(kernel));
    let body = site.body_of(&mut text, (&first.program, scalars.0), &rows, None);
    let lanes = combined(&mut text, &before, &body, &loaded);
    let total = rows::whole(&mut text, &before, lanes, (thread, place), threads);

    // The first thread of a row tells the others what came out.
    let values = [&site, &before].map(|site| site.combining.shared_words(BLOCK as usize / 32));
    let slots = values.into_iter().max().unwrap_or(0).next_multiple_of(2);
    let tile = text.set(Bank::B32, "mov.u32", format_args!("tile"));
    let at = text.set(Bank::B32, "mad.lo.s32", format_args!("{within}, 8, {tile}"));
    let at = text.set(Bank::B32, "add.s32", format_args!("{at}, {}", 4 * slots));
    let others = text.label();
    let other = text.set(Bank::Predicate, "setp.ne.u32", format_args!("{place}, 0"));
    text.line(format_args!("@{other} bra {others}"));
    let total = before.combining.begun(&mut text, total);
    let value = before.combining.decoded(&mut text, total);
    let value = before.finished_at(&mut text, (&first.finish, scalars.1), value);
    let name = value.bank.type_name();
    text.line(format_args!("st.shared.{name} [{at}], {value}"));
    text.place(&others);
    text.line(format_args!("bar.sync 0"));
    let between = text.set(value.bank, &format!("ld.shared.{name}"), format_args!("[{at}]"));

    let given = Some((Instruction::Input(first.input), between));
    let body = site.body_of(&mut text, (program, words.scalars()), &rows, given);
    let lanes = combined(&mut text, &site, &body, &loaded);
    let part = rows::whole(&mut text, &site, lanes, (thread, place), threads);
    let exit = text.label();
    text.line(format_args!("@{other} bra {exit}"));
    text.line(format_args!("@!{inside} bra {exit}"));
    site.conclude(&mut text, part, start, row, rows[0]);
    text.place(&exit);
    text.line(format_args!("ret"));
    text.finish(words.count(), slots + 2 * of_block)
}

fn finish_scalars(kernel: &Kernel) -> usize {
    kernel.finish.as_ref().map_or(0, |finish| finish.scalars().len())
}

fn load(text: &mut Text, site: &Site<'_>, rows: &[Reg], (place, len): (Reg, Reg), loads: usize) -> Loaded {
    let first = text.set(Bank::B32, "mul.lo.u32", format_args!("{place}, {LANES}"));
    let mut addresses = site.along(text, rows, first);
    let start = text.set(Bank::B32, "mov.b32", format_args!("0"));
    let mut steps = Vec::with_capacity(loads);
    for step in 0..loads {
        let local = text.set(Bank::B32, "add.u32", format_args!("{first}, {}", step * Combine::LANES));
        // All four are there, or none is.
        let there = text.set(Bank::Predicate, "setp.lt.u32", format_args!("{local}, {len}"));
        if step > 0 {
            addresses = site.further(text, (rows, &addresses), (start, first), step);
        }
        let stride = Some(site.words.reduced(0) + 2);
        steps.push((there, site.several(text, &addresses, LANES, stride, Some(there))));
    }
    Loaded { steps, first }
}

/// What each lane of a thread combines to.
fn combined(text: &mut Text, site: &Site<'_>, body: &Body<'_>, loaded: &Loaded) -> Vec<Part> {
    let lanes: Vec<Part> = (0..LANES).map(|_| site.neutral(text, loaded.first)).collect();
    for (there, elements) in &loaded.steps {
        for (at, &lane) in lanes.iter().enumerate() {
            let part = site.part(text, Some(body), elements, at, None);
            let sum = site.added(text, lane, part);
            text.guard(Some(*there));
            assign(text, lane, sum);
            text.guard(None);
        }
    }
    lanes
}
