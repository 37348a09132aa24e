//! Writes kernels whose threads lie across rows, for elements of neighbouring rows that lie side by
//! side.
//!
//! The bits of a lane's number assign it to a thread. From the lowest bit on, they count the
//! threads of a warp (if columns are too few to fill it), the steps of a thread, the groups of
//! warps, and the blocks. So the threads of a warp load consecutive elements, and lanes are
//! combined in the order of their pairs: by exchange in the warp, in the thread like a binary
//! counter, in shared memory, and last in another launch.

mod lanes;

use super::{
    combining::{Partial, assign},
    kernel::Division,
    kernel_code::{KernelCode, moved},
    sizes::{RESIDENT, WARP},
};
use crate::function::{
    index::{divided, numbers},
    text::{BLOCK, Bank, Reg, Text},
};
use lanes::{Addresses, add};

/// The share of a block's work that a thread has.
struct Thread {
    start: Reg,
    len: Reg,
    /// Its first lane, and the first lane of its warp.
    lane: Reg,
}

/// Writes a kernel. Returns the words of shared memory.
pub(super) fn write(text: &mut Text, code: &KernelCode<'_>, division: Division) -> usize {
    let Division { across, lanes, vector, split, .. } = division;
    let (near, groups) = (division.near(), division.groups());
    let words = code.words;
    text.resident(RESIDENT);
    let (block, thread) = numbers(text);
    let (rest, tile) = divided(text, block, words.across_divider, words.across);
    let segment = text.set32("shr.u32", format_args!("{rest}, {}", split.trailing_zeros()));
    let share = text.set32("and.b32", format_args!("{rest}, {}", split - 1));
    let start = code.start(text, segment);
    let first = text.set32("mul.lo.u32", format_args!("{tile}, {across}"));
    let beside = text.set32("and.b32", format_args!("{thread}, {}", across - 1));
    let column = text.set32("add.u32", format_args!("{first}, {beside}"));
    let columns = text.parameter(Bank::B32, words.columns);
    let inside = text.test("setp.lt.u32", format_args!("{column}, {columns}"));
    let len = code.len(text, start, inside);
    // Threads beyond the end take part, but have no elements.
    let row = text.set32("selp.b32", format_args!("{column}, 0, {inside}"));
    let rows = code.row(text, row);

    let group_bits = across.max(WARP).trailing_zeros();
    let group = text.set32("shr.u32", format_args!("{thread}, {group_bits}"));
    let lane = text.set32("mad.lo.u32", format_args!("{share}, {groups}, {group}"));
    let mut lane = text.set32("mul.lo.u32", format_args!("{lane}, {}", lanes * near));
    if near > 1 {
        let of_warp = text.set32("and.b32", format_args!("{thread}, {}", WARP - 1));
        let nth = text.set32("shr.u32", format_args!("{of_warp}, {}", across.trailing_zeros()));
        lane = text.set32("add.u32", format_args!("{lane}, {nth}"));
    }
    let partials = walk(text, code, &rows, &Thread { start, len, lane }, division);

    let exit = text.label();
    // Stores the total of a column: as the result, or as the partial of a segment or of a share of a
    // segment.
    let conclude = |text: &mut Text, partial: Partial, column: Reg, result: Reg| {
        let mut unit = column;
        if code.kernel.segmented {
            let segments = text.parameter(Bank::B32, words.segments);
            unit = text.set32("mad.lo.u32", format_args!("{unit}, {segments}, {segment}"));
        }
        if split > 1 {
            unit = text.set32("mad.lo.u32", format_args!("{unit}, {split}, {share}"));
        }
        code.conclude(text, partial, start, unit, result);
    };
    let slots = across * vector * groups;
    if groups == 1 {
        text.line(format_args!("@!{inside} bra {exit}"));
        let first = text.set32("mul.lo.u32", format_args!("{row}, {vector}"));
        let mut result = rows[0];
        for (nth, partial) in partials.into_iter().enumerate() {
            if nth > 0 {
                result = code.next(text, 0, result);
            }
            let unit = text.set32("add.u32", format_args!("{first}, {nth}"));
            conclude(text, partial, unit, result);
        }
    } else {
        // The partials of a column are side by side.
        let leads = text.test("setp.eq.u32", format_args!("{beside}, {beside}"));
        if near > 1 {
            let of_warp = text.set32("and.b32", format_args!("{thread}, {}", WARP - 1));
            text.line(format_args!("setp.lt.u32 {leads}, {of_warp}, {across}"));
        }
        let slot = text.set32("mad.lo.u32", format_args!("{beside}, {}, {group}", vector * groups));
        for (nth, &partial) in partials.iter().enumerate() {
            let slot = text.set32("add.u32", format_args!("{slot}, {}", nth * groups));
            text.guarded(leads, |text| code.combining.store_shared(text, slots, slot, partial));
        }
        text.line(format_args!("bar.sync 0"));
        for round in 0..(across * vector).div_ceil(BLOCK as usize) {
            let nth = text.set32("add.u32", format_args!("{thread}, {}", round * BLOCK as usize));
            if across * vector < BLOCK as usize {
                text.branch_if("setp.ge.u32", format_args!("{nth}, {}", across * vector), &exit);
            }
            let unit = text.set32("mad.lo.u32", format_args!("{first}, {vector}, {nth}"));
            let row = text.set32("shr.u32", format_args!("{unit}, {}", vector.trailing_zeros()));
            text.branch_if("setp.ge.u32", format_args!("{row}, {columns}"), &exit);
            let slot = text.set32("mul.lo.u32", format_args!("{nth}, {groups}"));
            let partials = code.combining.load_shared(text, slots, slot, groups);
            let partial = code.combining.tree(text, partials);
            let result = code.row_of(text, row, 1)[0];
            let within = text.set32("and.b32", format_args!("{unit}, {}", vector - 1));
            let result = moved(text, result, within, words.column(0));
            conclude(text, partial, unit, result);
        }
    }
    text.place(&exit);
    if groups > 1 { code.combining.shared_words(slots) } else { 0 }
}

/// Combines the lanes of each column: first the lanes of one thread, then the neighbours' in the
/// warp.
fn walk(
    text: &mut Text,
    code: &KernelCode<'_>,
    rows: &[Reg],
    place: &Thread,
    division: Division,
) -> Vec<Partial> {
    let Division { lanes, at_once, vector, across, .. } = division;
    let near = division.near();
    let combining = code.combining;
    let body = code.body(text, rows);
    let rounds = lanes / at_once;
    // Combines the partials of a warp's threads that have one column. The first of these threads gets
    // the result.
    let nearby = |text: &mut Text, partial: Partial| combining.in_warp(text, "down", partial, across..WARP).0;
    let new = |text: &mut Text| -> Vec<Partial> { (0..vector).map(|_| combining.neutral(text)).collect() };
    // Totals of 1, 2, 4 … loads; a load is the lanes that are loaded at once. If any order is
    // right, there is one total of all loads so far.
    let levels = if combining.has_order() { rounds.trailing_zeros() } else { 0 };
    let stack: Vec<Vec<Partial>> = (0..levels).map(|_| new(text)).collect();
    let all = new(text);
    let count = text.set32("mov.b32", format_args!("0"));
    let lane = text.set32("mov.b32", format_args!("{}", place.lane));
    let from = Addresses::new(text, code, rows, place, near);
    let again = text.label();
    text.place(&again);

    let sums: Vec<Vec<Partial>> = (0..at_once)
        .map(|nth| {
            let at = text.set32("add.u32", format_args!("{lane}, {}", nth * near));
            (0..vector).map(|_| code.neutral(text, at)).collect()
        })
        .collect();
    add(text, code, body.as_ref(), (&from, place, lane), &sums, division);

    let totals: Vec<Partial> = (0..vector)
        .map(|column| {
            let mut lanes: Vec<Partial> = sums.iter().map(|sums| sums[column]).collect();
            if combining.has_order() {
                lanes = lanes.into_iter().map(|lane| nearby(text, lane)).collect();
            }
            combining.tree(text, lanes)
        })
        .collect();
    text.line(format_args!("add.u32 {lane}, {lane}, {}", at_once * near));
    from.advance(text, at_once);
    if combining.has_order() {
        let pushed = text.label();
        for (&to, &total) in all.iter().zip(&totals) {
            assign(text, to, total);
        }
        for (level, before) in stack.iter().enumerate() {
            let join = text.label();
            let bit = text.set32("and.b32", format_args!("{count}, {}", 1 << level));
            text.branch_if("setp.ne.u32", format_args!("{bit}, 0"), &join);
            before.iter().zip(&all).for_each(|(&to, &total)| assign(text, to, total));
            text.line(format_args!("bra {pushed}"));
            text.place(&join);
            for (&before, &all) in before.iter().zip(&all) {
                let both = combining.combined(text, before, all);
                assign(text, all, both);
            }
        }
        text.place(&pushed);
    } else {
        for (&all, total) in all.iter().zip(totals) {
            let both = combining.combined(text, all, total);
            assign(text, all, both);
        }
    }
    text.line(format_args!("add.u32 {count}, {count}, 1"));
    text.branch_if("setp.lt.u32", format_args!("{count}, {rounds}"), &again);
    if combining.has_order() {
        return all;
    }
    all.into_iter().map(|partial| nearby(text, partial)).collect()
}
