//! Writes kernels whose threads lie along the elements of a row.
//!
//! A thread has four neighbouring lanes of a segment, and adds their elements in rising order.
//! Neighbouring lanes are in one thread, and neighbouring threads in one warp. So lanes are
//! combined in registers first, then by exchange in the warp, and last through shared memory.

use devarray::function::Combine;

use super::{
    combining::{Partial, assign},
    kernel_code::{KernelCode, unit},
    sizes::{SIDE, WARP, WARPS},
};
use crate::function::{
    index::nth,
    text::{BLOCK, Bank, Reg, Text},
};

/// Writes a kernel: `threads`, of several warps, have a segment of a row. Returns the words of shared
/// memory.
pub(super) fn write(
    text: &mut Text,
    code: &KernelCode<'_>,
    (threads, steps, vector): (usize, usize, bool),
) -> usize {
    let (thread, _, unit) = unit(text, threads);
    let place = text.set32("and.b32", format_args!("{thread}, {}", threads - 1));
    let (unit, inside) = code.inside(text, unit);
    let (row, segment) = code.segment(text, unit);
    let start = code.start(text, segment);
    let len = code.len(text, start, inside);
    let rows = code.row(text, row);

    let lanes = lanes(text, code, &rows, (start, len, place), steps, vector);
    let exit = text.label();
    let mut partial = whole(text, code, lanes, (thread, place), threads);
    if code.kernel.joined {
        partial = join(text, code, partial, (unit, row), (thread, place), &exit);
    }
    text.branch_if("setp.ne.u32", format_args!("{place}, 0"), &exit);
    text.branch_if("setp.eq.u32", format_args!("{len}, 0"), &exit);
    code.conclude(text, partial, start, unit, rows[0]);
    text.place(&exit);
    code.combining.shared_words(WARPS) + usize::from(code.kernel.joined)
}

/// Combines all lanes of a segment. Its first thread knows the outcome.
pub(super) fn whole(
    text: &mut Text,
    code: &KernelCode<'_>,
    lanes: Vec<Partial>,
    (thread, place): (Reg, Reg),
    threads: usize,
) -> Partial {
    let partial = code.combining.tree(text, lanes);
    let partial = code.combining.in_warp(text, "down", partial, 1..threads.min(WARP)).0;
    if threads <= WARP {
        return partial;
    }
    let slot = text.set32("shr.u32", format_args!("{thread}, 5"));
    let lane = text.set32("and.b32", format_args!("{thread}, 31"));
    let leads = text.test("setp.eq.u32", format_args!("{lane}, 0"));
    text.guarded(leads, |text| code.combining.store_shared(text, WARPS, slot, partial));
    text.line(format_args!("bar.sync 0"));
    // The first thread is in the first warp.
    let others = text.label();
    text.branch_if("setp.ne.u32", format_args!("{place}, 0"), &others);
    let partials = code.combining.load_shared(text, WARPS, slot, threads / WARP);
    let total = code.combining.tree(text, partials);
    assign(text, partial, total);
    text.place(&others);
    partial
}

/// Stores the partial of a segment. The last block of a row to do so continues with all partials of the
/// row; other blocks exit.
fn join(
    text: &mut Text,
    code: &KernelCode<'_>,
    partial: Partial,
    (unit, row): (Reg, Reg),
    (thread, place): (Reg, Reg),
    exit: &str,
) -> Partial {
    let (counters, values) = (code.words.indices, code.words.carry);
    let counter = text.parameter(Bank::B64, counters);
    let counter = nth(text, counter, row, 4);
    let values = text.parameter(Bank::B64, values);
    let tile = text.set32("mov.u32", format_args!("tile"));
    let behind = 4 * code.combining.shared_words(WARPS);
    let at = text.set32("add.u32", format_args!("{tile}, {behind}"));
    let others = text.label();
    text.branch_if("setp.ne.u32", format_args!("{thread}, 0"), &others);
    code.store_partial(text, values, unit, partial.value);
    // A block that sees the count also sees the partial.
    text.line(format_args!("membar.gl"));
    let count = text.set32("atom.global.add.u32", format_args!("[{counter}], 1"));
    text.line(format_args!("st.shared.b32 [{at}], {count}"));
    text.place(&others);
    text.line(format_args!("bar.sync 0"));
    let count = text.set32("ld.shared.b32", format_args!("[{at}]"));
    let segments = text.parameter(Bank::B32, code.words.segments);
    let ended = text.set32("add.u32", format_args!("{count}, 1"));
    text.branch_if("setp.ne.u32", format_args!("{ended}, {segments}"), exit);
    text.line(format_args!("membar.gl"));
    // The counter is reset, so that the next operation finds it as this one did.
    let first = text.test("setp.eq.u32", format_args!("{thread}, 0"));
    let zero = text.set32("mov.b32", format_args!("0"));
    text.guarded(first, |text| text.line(format_args!("st.global.b32 [{counter}], {zero}")));

    let bank = code.combining.bank();
    let bytes = code.combining.value_type().len_bytes();
    let lanes = (0..SIDE)
        .map(|lane| {
            let local = text.set32("mad.lo.u32", format_args!("{place}, {SIDE}, {lane}"));
            let inside = text.test("setp.lt.u32", format_args!("{local}, {segments}"));
            let unit = text.set32("mad.lo.u32", format_args!("{row}, {segments}, {local}"));
            let address = nth(text, values, unit, bytes);
            let lane = code.combining.neutral(text);
            text.guarded(inside, |text| {
                text.line(format_args!("ld.volatile.global.{} {}, [{address}]", bank.type_name(), lane.value))
            });
            lane
        })
        .collect();
    whole(text, code, lanes, (thread, place), BLOCK as usize)
}

/// Combines the elements of each lane of a thread, as far as the segment has them.
fn lanes(
    text: &mut Text,
    code: &KernelCode<'_>,
    rows: &[Reg],
    (start, len, place): (Reg, Reg, Reg),
    steps: usize,
    vector: bool,
) -> Vec<Partial> {
    let body = code.body(text, rows);
    let has_index = code.combining.index.is_some() && body.is_some();
    let first = text.set32("mul.lo.u32", format_args!("{place}, {SIDE}"));
    let local = text.set32("mov.b32", format_args!("{first}"));
    let lanes: Vec<Partial> = (0..SIDE)
        .map(|lane| {
            let at = text.set32("add.u32", format_args!("{first}, {lane}"));
            code.neutral(text, at)
        })
        .collect();
    let (again, one_by_one, done) = (text.label(), text.label(), text.label());
    text.place(&again);
    text.branch_if("setp.ge.u32", format_args!("{local}, {len}"), &done);
    if vector {
        let last = (steps - 1) * Combine::LANES + SIDE;
        let end = text.set32("add.u32", format_args!("{local}, {last}"));
        text.branch_if("setp.gt.u32", format_args!("{end}, {len}"), &one_by_one);
        let position = code.position(text, start, local);
        let mut addresses = code.along(text, rows, position);
        let mut loaded = Vec::with_capacity(steps);
        for step in 0..steps {
            if step > 0 {
                addresses = code.further(text, (rows, &addresses), (start, local), step);
            }
            loaded.push(code.several(text, &addresses, SIDE, None));
        }
        for (step, elements) in loaded.iter().enumerate() {
            for (at, &lane) in lanes.iter().enumerate() {
                let behind = step * Combine::LANES + at;
                let index = has_index.then(|| text.set32("add.u32", format_args!("{local}, {behind}")));
                let partial = code.partial(text, body.as_ref(), elements, at, index);
                let sum = code.added(text, lane, partial);
                assign(text, lane, sum);
            }
        }
        text.line(format_args!("add.u32 {local}, {local}, {}", steps * Combine::LANES));
        text.line(format_args!("bra {again}"));
    }
    text.place(&one_by_one);
    let mut loaded = Vec::with_capacity(SIDE);
    for at in 0..SIDE {
        let local = text.set32("add.u32", format_args!("{local}, {at}"));
        let inside = text.test("setp.lt.u32", format_args!("{local}, {len}"));
        let position = code.position(text, start, local);
        let addresses = code.along(text, rows, position);
        loaded.push((local, inside, code.several(text, &addresses, 1, Some(inside))));
    }
    for ((local, inside, elements), &lane) in loaded.iter().zip(&lanes) {
        let partial = code.partial(text, body.as_ref(), elements, 0, Some(*local));
        let sum = code.added(text, lane, partial);
        text.guarded(*inside, |text| assign(text, lane, sum));
    }
    text.line(format_args!("add.u32 {local}, {local}, {}", Combine::LANES));
    text.line(format_args!("bra {again}"));
    text.place(&done);
    lanes
}
