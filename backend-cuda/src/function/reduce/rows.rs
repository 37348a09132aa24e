//! The text of kernels whose threads lie along the elements of a row.
//!
//! A thread has four lanes of a segment side by side, and adds their elements in rising order;
//! neighbouring lanes are in one thread, neighbouring threads in one warp, so that lanes are
//! combined in registers, by exchange in the warp, and last through shared memory.

use devarray::function::Combine;

use super::{
    combining::{Part, assign},
    site::{Site, unit},
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
    site: &Site<'_>,
    (threads, steps, vector): (usize, usize, bool),
) -> usize {
    let (thread, _, unit) = unit(text, threads);
    let place = text.set32("and.b32", format_args!("{thread}, {}", threads - 1));
    let (unit, inside) = site.inside(text, unit);
    let (row, segment) = site.segment(text, unit);
    let start = site.start(text, segment);
    let len = site.len(text, start, inside);
    let rows = site.row(text, row);

    let lanes = lanes(text, site, &rows, (start, len, place), steps, vector);
    let exit = text.label();
    let mut part = whole(text, site, lanes, (thread, place), threads);
    if site.kernel.joined {
        part = join(text, site, part, (unit, row), (thread, place), &exit);
    }
    text.branch_if("setp.ne.u32", format_args!("{place}, 0"), &exit);
    text.branch_if("setp.eq.u32", format_args!("{len}, 0"), &exit);
    site.conclude(text, part, start, unit, rows[0]);
    text.place(&exit);
    site.combining.shared_words(WARPS) + usize::from(site.kernel.joined)
}

/// Combines all lanes of a segment. Its first thread knows the outcome.
pub(super) fn whole(
    text: &mut Text,
    site: &Site<'_>,
    lanes: Vec<Part>,
    (thread, place): (Reg, Reg),
    threads: usize,
) -> Part {
    let part = site.combining.tree(text, lanes);
    let part = site.combining.in_warp(text, "down", part, 1..threads.min(WARP)).0;
    if threads <= WARP {
        return part;
    }
    let slot = text.set32("shr.u32", format_args!("{thread}, 5"));
    let lane = text.set32("and.b32", format_args!("{thread}, 31"));
    let leads = text.test("setp.eq.u32", format_args!("{lane}, 0"));
    text.guarded(leads, |text| site.combining.store_shared(text, WARPS, slot, part));
    text.line(format_args!("bar.sync 0"));
    // The first thread is in the first warp.
    let others = text.label();
    text.branch_if("setp.ne.u32", format_args!("{place}, 0"), &others);
    let parts = site.combining.load_shared(text, WARPS, slot, threads / WARP);
    let total = site.combining.tree(text, parts);
    assign(text, part, total);
    text.place(&others);
    part
}

/// Stores the part of a segment. The last block of a row to do so goes on with all its parts; other
/// blocks exit.
fn join(
    text: &mut Text,
    site: &Site<'_>,
    part: Part,
    (unit, row): (Reg, Reg),
    (thread, place): (Reg, Reg),
    exit: &str,
) -> Part {
    let (counters, values) = (site.words.indices, site.words.carry);
    let counter = text.parameter(Bank::B64, counters);
    let counter = nth(text, counter, row, 4);
    let values = text.parameter(Bank::B64, values);
    let tile = text.set32("mov.u32", format_args!("tile"));
    let behind = 4 * site.combining.shared_words(WARPS);
    let at = text.set32("add.u32", format_args!("{tile}, {behind}"));
    let others = text.label();
    text.branch_if("setp.ne.u32", format_args!("{thread}, 0"), &others);
    site.store_part(text, values, unit, part.value);
    // A block that sees the count also sees the part.
    text.line(format_args!("membar.gl"));
    let count = text.set32("atom.global.add.u32", format_args!("[{counter}], 1"));
    text.line(format_args!("st.shared.b32 [{at}], {count}"));
    text.place(&others);
    text.line(format_args!("bar.sync 0"));
    let count = text.set32("ld.shared.b32", format_args!("[{at}]"));
    let segments = text.parameter(Bank::B32, site.words.segments);
    let ended = text.set32("add.u32", format_args!("{count}, 1"));
    text.branch_if("setp.ne.u32", format_args!("{ended}, {segments}"), exit);
    text.line(format_args!("membar.gl"));
    // The next operation finds the counter as this one did.
    let first = text.test("setp.eq.u32", format_args!("{thread}, 0"));
    let zero = text.set32("mov.b32", format_args!("0"));
    text.guarded(first, |text| text.line(format_args!("st.global.b32 [{counter}], {zero}")));

    let bank = site.combining.bank();
    let bytes = site.combining.value_type().len_bytes();
    let lanes = (0..SIDE)
        .map(|lane| {
            let local = text.set32("mad.lo.u32", format_args!("{place}, {SIDE}, {lane}"));
            let inside = text.test("setp.lt.u32", format_args!("{local}, {segments}"));
            let unit = text.set32("mad.lo.u32", format_args!("{row}, {segments}, {local}"));
            let address = nth(text, values, unit, bytes);
            let lane = site.combining.neutral(text);
            text.guarded(inside, |text| {
                text.line(format_args!("ld.volatile.global.{} {}, [{address}]", bank.type_name(), lane.value))
            });
            lane
        })
        .collect();
    whole(text, site, lanes, (thread, place), BLOCK as usize)
}

/// Combines the elements of each lane of a thread, as far as the segment has them.
fn lanes(
    text: &mut Text,
    site: &Site<'_>,
    rows: &[Reg],
    (start, len, place): (Reg, Reg, Reg),
    steps: usize,
    vector: bool,
) -> Vec<Part> {
    let body = site.body(text, rows);
    let has_index = site.combining.index.is_some() && body.is_some();
    let first = text.set32("mul.lo.u32", format_args!("{place}, {SIDE}"));
    let local = text.set32("mov.b32", format_args!("{first}"));
    let lanes: Vec<Part> = (0..SIDE)
        .map(|lane| {
            let at = text.set32("add.u32", format_args!("{first}, {lane}"));
            site.neutral(text, at)
        })
        .collect();
    let (again, one_by_one, done) = (text.label(), text.label(), text.label());
    text.place(&again);
    text.branch_if("setp.ge.u32", format_args!("{local}, {len}"), &done);
    if vector {
        let last = (steps - 1) * Combine::LANES + SIDE;
        let end = text.set32("add.u32", format_args!("{local}, {last}"));
        text.branch_if("setp.gt.u32", format_args!("{end}, {len}"), &one_by_one);
        let position = site.position(text, start, local);
        let mut addresses = site.along(text, rows, position);
        let mut loaded = Vec::with_capacity(steps);
        for step in 0..steps {
            if step > 0 {
                addresses = site.further(text, (rows, &addresses), (start, local), step);
            }
            loaded.push(site.several(text, &addresses, SIDE, None));
        }
        for (step, elements) in loaded.iter().enumerate() {
            for (at, &lane) in lanes.iter().enumerate() {
                let behind = step * Combine::LANES + at;
                let index = has_index.then(|| text.set32("add.u32", format_args!("{local}, {behind}")));
                let part = site.part(text, body.as_ref(), elements, at, index);
                let sum = site.added(text, lane, part);
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
        let position = site.position(text, start, local);
        let addresses = site.along(text, rows, position);
        loaded.push((local, inside, site.several(text, &addresses, 1, Some(inside))));
    }
    for ((local, inside, elements), &lane) in loaded.iter().zip(&lanes) {
        let part = site.part(text, body.as_ref(), elements, 0, Some(*local));
        let sum = site.added(text, lane, part);
        text.guarded(*inside, |text| assign(text, lane, sum));
    }
    text.line(format_args!("add.u32 {local}, {local}, {}", Combine::LANES));
    text.line(format_args!("bra {again}"));
    text.place(&done);
    lanes
}
