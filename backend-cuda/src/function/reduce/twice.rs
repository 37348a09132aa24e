//! Two reductions of the same rows in one launch, the second of which needs what came out of the
//! first: a thread keeps its elements of a row in registers meanwhile, so that they are loaded
//! once. A function of each element with both outcomes may follow.

use std::sync::Arc;

use devarray::{
    backend::{Buffer, MapOp, Operand, ReduceForm, ReduceOp},
    function::{
        Combine, ElementType,
        primitive::{Instruction, Program, RegisterType},
    },
};

use super::{
    Class,
    combining::{Combining, Part, assign, is_of_position},
    kernel::{Form, Kernel},
    normalize::Last,
    plan::{self, Pass},
    rows::{self, LANES},
    site::{Elements, Site},
    space::Space,
};
use crate::{
    function::{
        body::Body,
        class::Access,
        index::numbers,
        text::{BLOCK, Bank, Reg, Text},
    },
    memory::CudaBuffer,
};

/// Most registers in which a thread keeps elements, and the blocks that a multiprocessor then
/// holds.
const REGISTERS: u64 = 64;
const RESIDENT: u32 = 2;

/// Most instructions, written one after another, of two programs, and of three. The compiler works
/// on the latter for tenths of a second.
const INSTRUCTIONS: usize = 2_048;
const MORE_INSTRUCTIONS: usize = 8_192;

/// The reduction that is computed first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct First {
    program: Program,
    combine: Combine,
    finish: Program,
    /// The input of the second program that is this outcome.
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

/// The launch that computes both, and `third` if that is given. `None` if rows are too long, or do
/// not lie as they should.
pub(super) fn pass<'a>(
    first: &ReduceOp<'_, CudaBuffer>,
    second: &ReduceOp<'a, CudaBuffer>,
    third: Option<&MapOp<'_, CudaBuffer>>,
) -> Option<Pass<'a>> {
    let (work, before) = (second.work(), first.work());
    let finally = match third {
        Some(third) => Some(Last::new(second, third)?),
        None => None,
    };
    let (last, inputs) = second.inputs().split_last()?;
    let is_between = last.buffer().address() == first.result().buffer().address();
    if !(is_between && are_same(inputs, first.inputs()))
        || first.form() != ReduceForm::Total
        || second.form() != ReduceForm::Total
        || first.shape() != second.shape()
        || [before.combine, work.combine].iter().any(|combine| is_of_position(*combine))
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
    let space = match third {
        Some(third) => Space::of_elements(second, third),
        None => Space::new(second),
    };
    let space = space?.without(input);
    let row_len = space.row_len();
    let threads = row_len.div_ceil(LANES as u64).next_power_of_two().min(BLOCK.into());
    let loads = usize::try_from(row_len.div_ceil(Combine::LANES as u64)).ok()?;
    let sizes = space.kinds.iter().skip(1).filter_map(|kind| kind.element_type());
    let registers: u64 = sizes.map(|of: ElementType| (LANES * of.len_bytes()).div_ceil(4) as u64).sum();
    let of_last = finally.as_ref().map_or(0, |last| last.program.instructions().len());
    let instructions = all.len() + before.program.instructions().len() + of_last;
    let most = if finally.is_some() { MORE_INSTRUCTIONS } else { INSTRUCTIONS };
    let is_long = loads * LANES * instructions > most;
    let kept = finally.as_ref().map_or(0, Last::kept_bytes) as u64 / 4 * LANES as u64;
    if !before.program.instructions().iter().all(is_read)
        || space.reduced.len() != 1
        || row_len > Combine::SEGMENT as u64
        || !row_len.is_multiple_of(LANES as u64)
        || registers.max(kept) * loads as u64 > REGISTERS
        || is_long
        || plan::has_columns(&space)
    {
        return None;
    }
    let kernel = Kernel {
        form: Form::Twice { threads: usize::try_from(threads).ok()?, loads },
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
        last: finally.map(Arc::new),
    };
    let blocks = space.rows().div_ceil(u64::from(BLOCK) / threads);
    let chosen = plan::Chosen::of_rows(kernel.form, blocks);
    let scalars = [work.scalars, before.scalars].concat();
    let finish_scalars = [work.finish_scalars, before.finish_scalars].concat();
    let scalars = (&scalars[..], &finish_scalars[..]);
    let pass = Pass::of(work.program, kernel, (&space, &chosen), scalars, plan::Output::Finished)?;
    let is_apart = !matches!(pass.class.operands[0].1, Access::Span { .. });
    Some(pass).filter(|_| third.is_none() || !is_apart)
}

/// Whether operands are the same elements.
pub(super) fn are_same(a: &[Operand<'_, CudaBuffer>], b: &[Operand<'_, CudaBuffer>]) -> bool {
    let same = |(a, b): (&Operand<'_, CudaBuffer>, &Operand<'_, CudaBuffer>)| {
        a.buffer().address() == b.buffer().address() && a.layout() == b.layout()
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

/// The elements of a thread, four a step; which of them exist; and the position of the first.
pub(super) struct Loaded {
    pub(super) steps: Vec<(Reg, Elements)>,
    pub(super) first: Reg,
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
    let (block, thread) = numbers(&mut text);
    let of_block = BLOCK as usize / threads;
    let start = text.set32("mul.lo.u32", format_args!("{block}, {of_block}"));
    let within = text.set32("shr.u32", format_args!("{thread}, {}", threads.trailing_zeros()));
    let row = text.set32("add.u32", format_args!("{start}, {within}"));
    let place = text.set32("and.b32", format_args!("{thread}, {}", threads - 1));
    let units = text.parameter(Bank::B32, words.units);
    let inside = text.test("setp.lt.u32", format_args!("{row}, {units}"));
    // Threads beyond the end go along with the others, without elements.
    let row = text.set32("selp.b32", format_args!("{row}, 0, {inside}"));
    let start = text.set32("mov.b32", format_args!("0"));
    let len = site.len(&mut text, start, Combine::SEGMENT, inside);
    let rows = site.row(&mut text, row);
    let loaded = load(&mut text, &site, &rows, (place, len), loads);

    let scalars = (words.scalars + program.scalars().len(), words.finish_scalars + finish_scalars(kernel));
    let body = site.body_of(&mut text, (&first.program, scalars.0), &rows, &[]);
    let (lanes, _) = combined(&mut text, &before, &body, &loaded);
    let total = rows::whole(&mut text, &before, lanes, (thread, place), threads);

    // The first thread of a row broadcasts the result to the others.
    let values = [&site, &before].map(|site| site.combining.shared_words(BLOCK as usize / 32));
    let slots = values.into_iter().max().unwrap_or(0).next_multiple_of(2);
    let tile = text.set32("mov.u32", format_args!("tile"));
    let at = text.set32("mad.lo.s32", format_args!("{within}, 8, {tile}"));
    let other = text.test("setp.ne.u32", format_args!("{place}, 0"));
    let broadcast = Broadcast { at, behind: 4 * slots, other };
    let between = broadcast.value(&mut text, |text| {
        let total = before.combining.begun(text, total);
        let value = before.combining.decoded(text, total);
        before.finished_at(text, (&first.finish, scalars.1), value)
    });

    let given = (Instruction::Input(first.input), between);
    let body = site.body_of(&mut text, (program, words.scalars), &rows, &[given]);
    let (lanes, values) = combined(&mut text, &site, &body, &loaded);
    let part = rows::whole(&mut text, &site, lanes, (thread, place), threads);
    let mut broadcast_words = 2 * of_block;
    match (&kernel.last, &kernel.finish) {
        (Some(last), Some(finish)) => {
            let broadcast = Broadcast { behind: 4 * (slots + broadcast_words), ..broadcast };
            broadcast_words *= 2;
            let outcome = broadcast.value(&mut text, |text| {
                let total = site.combining.begun(text, part);
                let value = site.combining.decoded(text, total);
                site.finished(text, finish, value)
            });
            let given = [given, (Instruction::Input(last.outcome), outcome)];
            let body = site.body_of(&mut text, (&last.program, words.scalars), &rows, &given);
            last.store(&mut text, &site, &body, (&loaded, &values), rows[0]);
        }
        _ => {
            let exit = text.label();
            text.line(format_args!("@{other} bra {exit}"));
            text.line(format_args!("@!{inside} bra {exit}"));
            site.conclude(&mut text, part, start, row, rows[0]);
            text.place(&exit);
        }
    }
    text.line(format_args!("ret"));
    text.finish(words.count(), slots + broadcast_words)
}

/// Where the first thread of a row broadcasts a value to the others.
#[derive(Clone, Copy)]
struct Broadcast {
    at: Reg,
    behind: usize,
    other: Reg,
}

impl Broadcast {
    fn value(self, text: &mut Text, make: impl FnOnce(&mut Text) -> Reg) -> Reg {
        let Self { at, behind, other } = self;
        let others = text.label();
        text.line(format_args!("@{other} bra {others}"));
        let value = make(text);
        let name = value.bank.type_name();
        text.line(format_args!("st.shared.{name} [{at}+{behind}], {value}"));
        text.place(&others);
        text.line(format_args!("bar.sync 0"));
        text.set(value.bank, &format!("ld.shared.{name}"), format_args!("[{at}+{behind}]"))
    }
}

fn finish_scalars(kernel: &Kernel) -> usize {
    kernel.finish.as_ref().map_or(0, |finish| finish.scalars().len())
}

fn load(text: &mut Text, site: &Site<'_>, rows: &[Reg], (place, len): (Reg, Reg), loads: usize) -> Loaded {
    let first = text.set32("mul.lo.u32", format_args!("{place}, {LANES}"));
    let mut addresses = site.along(text, rows, first);
    let start = text.set32("mov.b32", format_args!("0"));
    let mut steps = Vec::with_capacity(loads);
    for step in 0..loads {
        let local = text.set32("add.u32", format_args!("{first}, {}", step * Combine::LANES));
        // All four are there, or none is.
        let there = text.test("setp.lt.u32", format_args!("{local}, {len}"));
        if step > 0 {
            addresses = site.further(text, (rows, &addresses), (start, first), step);
        }
        let stride = Some(site.words.reduced(0) + 2);
        steps.push((there, site.several(text, &addresses, LANES, stride, Some(there))));
    }
    Loaded { steps, first }
}

/// The total of each lane of a thread, and the values that were combined, four a step.
fn combined(
    text: &mut Text,
    site: &Site<'_>,
    body: &Body<'_>,
    loaded: &Loaded,
) -> (Vec<Part>, Vec<Vec<Reg>>) {
    let lanes: Vec<Part> = (0..LANES).map(|_| site.neutral(text, loaded.first)).collect();
    let mut values = Vec::with_capacity(loaded.steps.len());
    for (there, elements) in &loaded.steps {
        let mut four = Vec::with_capacity(LANES);
        for (at, &lane) in lanes.iter().enumerate() {
            let part = site.part(text, Some(body), elements, at, None);
            four.push(part.value);
            let sum = site.added(text, lane, part);
            text.guarded(*there, |text| assign(text, lane, sum));
        }
        values.push(four);
    }
    (lanes, values)
}
