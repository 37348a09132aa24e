//! Two reductions of the same rows in one launch; the second reads the result of the first. A row
//! is kept meanwhile (`row_cache`), so that it is loaded once. A function of each element and both
//! results may follow.

use std::sync::Arc;

use devarray::{
    backend::{Buffer, MapOp, ReduceForm, ReduceOp},
    function::{
        Combine,
        primitive::{Instruction, RegisterType},
    },
};

use super::{
    combining::{Combining, Partial, assign, is_of_position},
    extreme::Extreme,
    kernel::{First, Form, Kernel, Last, RowStorage},
    kernel_code::{KernelCode, unit},
    plan::{self, Pass},
    reduce_operands::{ReduceOperands, are_same, registers},
    row_cache::{Chunk, RowCache, Values},
    rows,
    sizes::{RESIDENT, SIDE, WARPS, small},
};
use crate::{
    function::{
        body::Body,
        class::Access,
        text::{BLOCK, Reg, Text},
    },
    memory::CudaBuffer,
};

/// The launch that computes both reductions, and `third` if it is given. `None` if rows are too
/// long for `most_bytes` of shared memory, or have a layout that this does not serve.
pub(super) fn pass<'a>(
    most_bytes: u64,
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
    let operands = match third {
        Some(third) => ReduceOperands::of_elements(second, third),
        None => ReduceOperands::new(second),
    };
    let operands = operands?.without(input);
    let row_len = operands.row_len();
    let threads = row_len.div_ceil(SIDE as u64).next_power_of_two().min(BLOCK.into());
    let loads = small(row_len.div_ceil(Combine::LANES as u64));
    let registers = small(registers(&operands, SIDE as u64));
    let last_type = finally.as_ref().and_then(Last::combined_type);
    let registers = registers.max(last_type.map_or(0, |of| SIDE * of.len_bytes() / 4));
    let of_last = finally.as_ref().map_or(0, |last| last.program.instructions().len());
    let instructions = all.len() + before.program.instructions().len() + of_last;
    let storage = RowStorage::new(loads, registers, instructions, finally.is_some());
    if !before.program.instructions().iter().all(is_read)
        || operands.reduced.len() != 1
        || row_len > Combine::SEGMENT as u64
        || !row_len.is_multiple_of(SIDE as u64)
        || plan::has_columns(&operands)
    {
        return None;
    }
    let form = Form::TwoReductions { threads: small(threads), storage };
    let kernel = Kernel {
        first: Some(Arc::new(First {
            program: before.program.clone(),
            combine: before.combine,
            finish: before.finish.clone(),
            input,
        })),
        last: finally.map(Arc::new),
        ..Kernel::new(form, work, &operands)?
    };
    let scalars = [work.scalars, before.scalars].concat();
    let finish_scalars = [work.finish_scalars, before.finish_scalars].concat();
    let scalars = (&scalars[..], &finish_scalars[..]);
    let pass = Pass::of(work.program, kernel, &operands, scalars, plan::Output::Finished)?;
    let cached_bytes = match storage {
        RowStorage::Registers { .. } => 0,
        RowStorage::Shared { .. } => loads * Chunk::new(&pass.class, last_type).step_bytes(),
    };
    let is_span = matches!(pass.class.operands[0].1, Access::Span { .. });
    let fits = cached_bytes as u64 <= most_bytes && (third.is_none() || is_span);
    let dynamic_bytes = u32::try_from(cached_bytes).ok().filter(|_| fits)?;
    Some(Pass { dynamic_bytes, ..pass })
}

/// Writes a kernel: `threads` threads share a row and keep it in `storage`. Returns the words of shared
/// memory.
pub(super) fn write(
    text: &mut Text,
    code: &KernelCode<'_>,
    (threads, storage): (usize, RowStorage),
    first: &First,
) -> usize {
    let KernelCode { program, kernel, .. } = *code;
    // The kernel combines the partial totals of the first reduction by another operation.
    let combining = Combining::new(first.combine, first.program.result_type(), false);
    let before = KernelCode { combining, ..*code };
    let words = code.words;
    // Long rows in registers need twice the registers, so half as many blocks are resident. Rows in shared
    // memory limit the number of resident blocks themselves.
    text.resident(match storage {
        RowStorage::Registers { loads: 9.. } => RESIDENT / 2,
        _ => RESIDENT,
    });
    let (thread, within, row) = unit(text, threads);
    let place = text.set32("and.b32", format_args!("{thread}, {}", threads - 1));
    let (row, inside) = code.inside(text, row);
    let start = text.set32("mov.b32", format_args!("0"));
    let len = code.len(text, start, inside);
    let rows = code.row(text, row);
    let cache = RowCache::new(text, code, (rows.clone(), len), (thread, place), storage);

    let scalars = (words.scalars + program.scalars().len(), words.finish_scalars + kernel.finish_scalars());
    let body = code.body_of(text, (&first.program, scalars.0), &rows, &[]);
    let lanes = combined(text, &before, &body, &cache, None);
    let total = rows::whole(text, &before, lanes, (thread, place), threads);

    // The first thread of a row broadcasts the result to the others.
    let partials = [code, &before].map(|code| code.combining.shared_words(WARPS));
    let slots = partials.into_iter().max().unwrap_or(0).next_multiple_of(2);
    let tile = text.set32("mov.u32", format_args!("tile"));
    let at = text.set32("mad.lo.s32", format_args!("{within}, 8, {tile}"));
    let other = text.test("setp.ne.u32", format_args!("{place}, 0"));
    let between = broadcast(text, (at, 4 * slots), other, |text| {
        before.outcome(text, total, (&first.finish, scalars.1))
    });

    let given = (Instruction::Input(first.input), between);
    let body = code.body_of(text, (program, words.scalars), &rows, &[given]);
    let mut values = kernel.combined_type().map(Values::new);
    let lanes = combined(text, code, &body, &cache, values.as_mut());
    let partial = rows::whole(text, code, lanes, (thread, place), threads);
    let mut broadcast_words = 2 * (BLOCK as usize / threads);
    match (&kernel.last, &kernel.finish) {
        (Some(last), Some(finish)) => {
            let outcome = broadcast(text, (at, 4 * (slots + broadcast_words)), other, |text| {
                code.outcome(text, partial, (finish, words.finish_scalars))
            });
            broadcast_words *= 2;
            let given = [given, (Instruction::Input(last.outcome), outcome)];
            let body = code.body_of(text, (&last.program, words.scalars), &rows, &given);
            last.store(text, code, &body, (&cache, values.as_ref()), rows[0]);
        }
        _ => {
            let exit = text.label();
            text.line(format_args!("@{other} bra {exit}"));
            text.line(format_args!("@!{inside} bra {exit}"));
            code.conclude(text, partial, start, row, rows[0]);
            text.place(&exit);
        }
    }
    slots + broadcast_words
}

/// Passes a value from the first thread of a row to the `other` threads, through shared memory some
/// bytes after an address.
fn broadcast(
    text: &mut Text,
    (at, behind): (Reg, usize),
    other: Reg,
    make: impl FnOnce(&mut Text) -> Reg,
) -> Reg {
    let others = text.label();
    text.line(format_args!("@{other} bra {others}"));
    let value = make(text);
    let name = value.bank.type_name();
    text.line(format_args!("st.shared.{name} [{at}+{behind}], {value}"));
    text.place(&others);
    text.line(format_args!("bar.sync 0"));
    text.set(value.bank, &format!("ld.shared.{name}"), format_args!("[{at}+{behind}]"))
}

/// The total of each lane of a thread. If the values that a sum adds are needed again, `values`
/// says where to keep them.
fn combined(
    text: &mut Text,
    code: &KernelCode<'_>,
    body: &Body<'_>,
    cache: &RowCache<'_>,
    mut values: Option<&mut Values>,
) -> Vec<Partial> {
    if let Some(extreme) = Extreme::new(text, code.combining) {
        cache.each(text, |text, step| {
            let value = |at| body.alone(text, |text, read| code.element(text, step.elements, at, read));
            let values: Vec<Reg> = (0..SIDE).map(value).collect();
            text.guard(step.there);
            extreme.add(text, &values);
            text.guard(None);
        });
        return extreme.partials(text);
    }
    let lanes: Vec<Partial> = (0..SIDE).map(|_| code.neutral(text, cache.first)).collect();
    cache.each(text, |text, step| {
        let mut four = Vec::with_capacity(SIDE);
        for (at, &lane) in lanes.iter().enumerate() {
            let partial = code.partial(text, Some(body), step.elements, at, None);
            four.push(partial.value);
            let sum = code.added(text, lane, partial);
            text.guard(step.there);
            assign(text, lane, sum);
            text.guard(None);
        }
        if let Some(values) = &mut values {
            values.keep(text, step, four);
        }
    });
    lanes
}
