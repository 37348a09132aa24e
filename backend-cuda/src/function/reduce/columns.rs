//! The text of kernels whose threads lie across rows: elements of neighbouring rows lie side by side.
//!
//! A thread goes through its lanes one after another, some of them side by side, and combines them as they end with those
//! before, as a binary counter counts: two totals of one number of lanes become one. Threads of a block that have other
//! lanes of the same columns go on so in shared memory.

use devarray::function::{Combine, primitive::Program};

use super::{
    combining::{Part, assign},
    exchange::Shared,
    kernel::Kernel,
    site::{Site, moved},
};
use crate::function::{
    class::{Access, Class},
    index::divided,
    text::{BLOCK, Bank, Reg, Text},
};

/// How a block is divided.
#[derive(Debug, Clone, Copy)]
pub(super) struct Division {
    /// Threads side by side.
    pub(super) across: usize,
    /// Lanes of a thread.
    pub(super) lanes: usize,
    /// How many of these are loaded at once.
    pub(super) at_once: usize,
    /// Columns of a thread.
    pub(super) vector: usize,
}

/// The text of a kernel.
pub(super) fn write(program: &Program, class: &Class, kernel: &Kernel, division: Division) -> String {
    let Division { across, lanes, vector, .. } = division;
    let site = Site::new(program, class, kernel);
    let words = site.words;
    let mut text = Text::default();
    let (block, thread) = Site::numbers(&mut text);
    let (rest, tile) = divided(&mut text, block, words.across_divider(), words.across());
    let (row, segment) = site.segment(&mut text, rest);
    let start = site.start(&mut text, segment, Combine::SEGMENT);
    let group = text.set(Bank::B32, "shr.u32", format_args!("{thread}, {}", across.trailing_zeros()));
    let place = text.set(Bank::B32, "and.b32", format_args!("{thread}, {}", across - 1));
    let column = text.set(Bank::B32, "mad.lo.u32", format_args!("{tile}, {across}, {place}"));
    let column = text.set(Bank::B32, "mul.lo.u32", format_args!("{column}, {vector}"));
    let columns = text.parameter(Bank::B32, words.columns());
    let inside = text.set(Bank::Predicate, "setp.lt.u32", format_args!("{column}, {columns}"));
    let len = site.len(&mut text, start, Combine::SEGMENT, inside);
    let mut rows = site.row(&mut text, row);
    for (operand, address) in rows.iter_mut().enumerate() {
        *address = moved(&mut text, *address, column, words.column(operand));
    }

    let lane = text.set(Bank::B32, "mul.lo.u32", format_args!("{group}, {lanes}"));
    let parts = walk(&mut text, &site, &rows, (start, len, lane), division);

    let groups = BLOCK as usize / across;
    let shared = Shared { slots: BLOCK as usize * vector };
    let first = text.set(Bank::B32, "mul.lo.u32", format_args!("{thread}, {vector}"));
    let mut by = 1;
    while by < groups {
        let skip = text.label();
        let done = text.set(Bank::B32, "and.b32", format_args!("{group}, {}", by - 1));
        let other = text.set(Bank::Predicate, "setp.ne.u32", format_args!("{done}, 0"));
        text.line(format_args!("@{other} bra {skip}"));
        store(&mut text, &site, shared, first, &parts);
        text.place(&skip);
        text.line(format_args!("bar.sync 0"));
        let skip = text.label();
        let done = text.set(Bank::B32, "and.b32", format_args!("{group}, {}", 2 * by - 1));
        let other = text.set(Bank::Predicate, "setp.ne.u32", format_args!("{done}, 0"));
        text.line(format_args!("@{other} bra {skip}"));
        let slot = text.set(Bank::B32, "add.u32", format_args!("{first}, {}", by * across * vector));
        let others = site.combining.load_shared(&mut text, shared, slot, vector);
        for (&part, other) in parts.iter().zip(others) {
            let both = site.combining.combined(&mut text, part, other);
            assign(&mut text, part, both);
        }
        text.place(&skip);
        by *= 2;
    }
    let exit = text.label();
    let other = text.set(Bank::Predicate, "setp.ne.u32", format_args!("{group}, 0"));
    text.line(format_args!("@{other} bra {exit}"));
    let beyond = text.set(Bank::Predicate, "setp.eq.u32", format_args!("{len}, 0"));
    text.line(format_args!("@{beyond} bra {exit}"));
    let whole_row = text.set(Bank::B32, "mad.lo.u32", format_args!("{row}, {columns}, {column}"));
    let mut result = rows[0];
    for (nth, part) in parts.into_iter().enumerate() {
        let unit = text.set(Bank::B32, "add.u32", format_args!("{whole_row}, {nth}"));
        let unit = if kernel.segmented {
            let segments = text.parameter(Bank::B32, words.segments());
            text.set(Bank::B32, "mad.lo.u32", format_args!("{unit}, {segments}, {segment}"))
        } else {
            unit
        };
        if nth > 0 {
            let stride = text.parameter(Bank::B64, words.column(0));
            result = text.set(Bank::B64, "add.s64", format_args!("{result}, {stride}"));
        }
        site.conclude(&mut text, part, start, unit, result);
    }
    text.place(&exit);
    text.line(format_args!("ret"));
    let shared_words = if groups > 1 { site.combining.shared_words(shared.slots) } else { 0 };
    text.finish(words.count(), shared_words)
}

fn store(text: &mut Text, site: &Site<'_>, shared: Shared, first: Reg, parts: &[Part]) {
    for (nth, &part) in parts.iter().enumerate() {
        let slot = text.set(Bank::B32, "add.u32", format_args!("{first}, {nth}"));
        site.combining.store_shared(text, shared, slot, part);
    }
}

/// What the lanes of a thread combine to, for each of its columns.
fn walk(
    text: &mut Text,
    site: &Site<'_>,
    rows: &[Reg],
    (start, len, first): (Reg, Reg, Reg),
    division: Division,
) -> Vec<Part> {
    let Division { lanes, at_once, vector, .. } = division;
    let body = site.body(text, rows);
    let levels = (lanes / at_once).trailing_zeros() as usize;
    let new = |text: &mut Text| -> Vec<Part> { (0..vector).map(|_| site.combining.neutral(text)).collect() };
    // Totals of 1, 2, 4 … times as many lanes as are loaded at once.
    let stack: Vec<Vec<Part>> = (0..=levels).map(|_| new(text)).collect();
    let all = new(text);
    let count = text.set(Bank::B32, "mov.b32", format_args!("0"));
    let lane = text.set(Bank::B32, "mov.b32", format_args!("{first}"));
    let end = text.set(Bank::B32, "add.u32", format_args!("{first}, {lanes}"));
    let end = text.set(Bank::B32, "min.u32", format_args!("{end}, {len}"));
    let (again, done) = (text.label(), text.label());
    text.place(&again);
    let over = text.set(Bank::Predicate, "setp.ge.u32", format_args!("{lane}, {end}"));
    text.line(format_args!("@{over} bra {done}"));

    let sums: Vec<Vec<Part>> = (0..at_once)
        .map(|nth| {
            let at = text.set(Bank::B32, "add.u32", format_args!("{lane}, {nth}"));
            (0..vector).map(|_| site.neutral(text, at)).collect()
        })
        .collect();
    add(text, site, body.as_ref(), rows, (start, len, lane), &sums);

    let total: Vec<Part> = (0..vector)
        .map(|column| site.combining.tree(text, sums.iter().map(|sums| sums[column]).collect()))
        .collect();
    let pushed = text.label();
    for (level, below) in stack.iter().enumerate() {
        if level < levels {
            let join = text.label();
            let bit = text.set(Bank::B32, "and.b32", format_args!("{count}, {}", 1 << level));
            let set = text.set(Bank::Predicate, "setp.ne.u32", format_args!("{bit}, 0"));
            text.line(format_args!("@{set} bra {join}"));
            below.iter().zip(&total).for_each(|(&to, &from)| assign(text, to, from));
            text.line(format_args!("bra {pushed}"));
            text.place(&join);
            for (&before, &so_far) in below.iter().zip(&total) {
                let both = site.combining.combined(text, before, so_far);
                assign(text, so_far, both);
            }
        } else {
            below.iter().zip(&total).for_each(|(&to, &from)| assign(text, to, from));
        }
    }
    text.place(&pushed);
    text.line(format_args!("add.u32 {count}, {count}, 1"));
    text.line(format_args!("add.u32 {lane}, {lane}, {at_once}"));
    text.line(format_args!("bra {again}"));
    text.place(&done);
    for (level, parts) in stack.iter().enumerate() {
        let bit = text.set(Bank::B32, "and.b32", format_args!("{count}, {}", 1 << level));
        let set = text.set(Bank::Predicate, "setp.ne.u32", format_args!("{bit}, 0"));
        for (&part, &all) in parts.iter().zip(&all) {
            let both = site.combining.combined(text, part, all);
            text.guard(Some(set));
            assign(text, all, both);
            text.guard(None);
        }
    }
    all
}

/// Adds the elements of lanes side by side.
fn add(
    text: &mut Text,
    site: &Site<'_>,
    body: Option<&crate::function::body::Body<'_>>,
    rows: &[Reg],
    (start, len, lane): (Reg, Reg, Reg),
    sums: &[Vec<Part>],
) {
    let at_once = sums.len();
    let local = text.set(Bank::B32, "mov.b32", format_args!("{lane}"));
    let flat = site.words.reduced == 1;
    // One axis: addresses go on from step to step.
    let moving: Vec<Reg> = if flat {
        let position = site.position(text, start, local);
        let addresses = site.along(text, rows, position);
        addresses.into_iter().map(|from| text.set(Bank::B64, "mov.b64", format_args!("{from}"))).collect()
    } else {
        rows.to_vec()
    };
    let again = text.label();
    text.place(&again);
    let mut loaded = Vec::with_capacity(at_once);
    let mut addresses = moving.clone();
    for nth in 0..at_once {
        let at = text.set(Bank::B32, "add.u32", format_args!("{local}, {nth}"));
        let inside = text.set(Bank::Predicate, "setp.lt.u32", format_args!("{at}, {len}"));
        if !flat {
            let position = site.position(text, start, at);
            addresses = site.along(text, rows, position);
        } else if nth > 0 {
            for (operand, address) in addresses.iter_mut().enumerate().skip(1) {
                if site.class.operands[operand].1 != Access::Uniform {
                    let stride = text.parameter(Bank::B64, site.words.reduced(0) + 2 + operand);
                    *address = text.set(Bank::B64, "add.s64", format_args!("{address}, {stride}"));
                }
            }
        }
        let column = Some(site.words.column(0));
        loaded.push((at, inside, site.several(text, &addresses, sums[0].len(), column, Some(inside))));
    }
    for ((at, inside, elements), sums) in loaded.iter().zip(sums) {
        for (column, &sum) in sums.iter().enumerate() {
            let part = site.part(text, body, elements, column, Some(*at));
            let both = site.added(text, sum, part);
            text.guard(Some(*inside));
            assign(text, sum, both);
            text.guard(None);
        }
    }
    if flat {
        for (operand, &address) in moving.iter().enumerate().skip(1) {
            if site.class.operands[operand].1 != Access::Uniform {
                let stride = text.parameter(Bank::B64, site.words.reduced(0) + 2 + operand);
                text.line(format_args!("mad.lo.s64 {address}, {stride}, {}, {address}", Combine::LANES));
            }
        }
    }
    text.line(format_args!("add.u32 {local}, {local}, {}", Combine::LANES));
    let more = text.set(Bank::Predicate, "setp.lt.u32", format_args!("{local}, {len}"));
    text.line(format_args!("@{more} bra {again}"));
}
