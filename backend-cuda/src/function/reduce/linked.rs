//! How the tiles of a running form are linked in one launch: each says what it has, and waits for those before it.
//!
//! Blocks take tiles in order, so a tile waits only for tiles of blocks that run or are done, and none waits for ever.
//! A tile tells two things, each a word with a mark in its high half that is 0 until it is told: the total of the largest
//! aligned block of tiles that ends with it, and what precedes it. For the first it needs the left halves, for the
//! second what precedes that block and the block's total, which the tile in front tells.

use super::{
    combining::{Part, assign},
    exchange::Shared,
    site::Site,
};
use crate::function::text::{Bank, Reg, Text};

/// Words of 4 bytes of shared memory behind the slots.
pub(super) const WORDS: usize = 4;

/// Where the number of the tile, and what precedes it, are in shared memory.
fn place(text: &mut Text, site: &Site<'_>, shared: Shared, word: usize) -> Reg {
    let tile = text.set(Bank::B32, "mov.u32", format_args!("tile"));
    let behind = 4 * (site.combining.shared_words(shared.slots) + word);
    text.set(Bank::B32, "add.u32", format_args!("{tile}, {behind}"))
}

/// The number of the block's tile: the next that no block has.
pub(super) fn unit(text: &mut Text, site: &Site<'_>, shared: Shared, thread: Reg) -> Reg {
    let address = text.parameter(Bank::B64, site.words.columns());
    let at = place(text, site, shared, 0);
    let first = text.set(Bank::Predicate, "setp.eq.u32", format_args!("{thread}, 0"));
    text.guard(Some(first));
    let unit = text.set(Bank::B32, "atom.global.add.u32", format_args!("[{address}], 1"));
    text.line(format_args!("st.shared.b32 [{at}], {unit}"));
    text.guard(None);
    text.line(format_args!("bar.sync 0"));
    text.set(Bank::B32, "ld.shared.b32", format_args!("[{at}]"))
}

/// What precedes a tile of a total that the first thread knows.
pub(super) fn before(
    text: &mut Text,
    site: &Site<'_>,
    shared: Shared,
    (unit, tile, thread): (Reg, Reg, Reg),
    total: impl FnOnce(&mut Text) -> Part,
) -> Part {
    let combining = site.combining;
    let (totals, befores) = (site.words.carry(), site.words.indices());
    let at = place(text, site, shared, 2);
    let others = text.label();
    let other = text.set(Bank::Predicate, "setp.ne.u32", format_args!("{thread}, 0"));
    text.line(format_args!("@{other} bra {others}"));

    let total = total(text);
    let (again, ends) = (text.label(), text.label());
    let size = text.set(Bank::B32, "mov.b32", format_args!("1"));
    text.place(&again);
    let bit = text.set(Bank::B32, "and.b32", format_args!("{tile}, {size}"));
    let right = text.set(Bank::Predicate, "setp.eq.u32", format_args!("{bit}, 0"));
    text.line(format_args!("@{right} bra {ends}"));
    let left = text.set(Bank::B32, "sub.u32", format_args!("{unit}, {size}"));
    let left = told(text, site, totals, left);
    let both = combining.combined(text, left, total);
    assign(text, total, both);
    text.line(format_args!("add.u32 {size}, {size}, {size}"));
    text.line(format_args!("bra {again}"));
    text.place(&ends);
    tell(text, totals, unit, total.value);

    let before = Part { value: combining.identity(text), index: None };
    let known = text.label();
    let first = text.set(Bank::Predicate, "setp.eq.u32", format_args!("{tile}, 0"));
    text.line(format_args!("@{first} bra {known}"));
    let back = text.set(Bank::B32, "sub.u32", format_args!("{tile}, 1"));
    let start = text.set(Bank::B32, "and.b32", format_args!("{tile}, {back}"));
    let alone = text.label();
    let none = text.set(Bank::Predicate, "setp.eq.u32", format_args!("{start}, 0"));
    text.line(format_args!("@{none} bra {alone}"));
    let behind = text.set(Bank::B32, "sub.u32", format_args!("{tile}, {start}"));
    let earlier = text.set(Bank::B32, "sub.u32", format_args!("{unit}, {behind}"));
    let earlier = told(text, site, befores, earlier);
    assign(text, before, earlier);
    text.place(&alone);
    let last = text.set(Bank::B32, "sub.u32", format_args!("{unit}, 1"));
    let block = told(text, site, totals, last);
    let both = combining.combined(text, before, block);
    assign(text, before, both);
    text.place(&known);
    tell(text, befores, unit, before.value);
    let name = before.value.bank.type_name();
    text.line(format_args!("st.shared.{name} [{at}], {}", before.value));
    text.place(&others);
    text.line(format_args!("bar.sync 0"));
    let value = text.set(before.value.bank, &format!("ld.shared.{name}"), format_args!("[{at}]"));
    Part { value, index: None }
}

fn word(text: &mut Text, base: usize, unit: Reg) -> Reg {
    let base = text.parameter(Bank::B64, base);
    let unit = text.set(Bank::B64, "cvt.u64.u32", format_args!("{unit}"));
    text.set(Bank::B64, "mad.lo.s64", format_args!("{unit}, 8, {base}"))
}

/// Waits for what a tile tells.
fn told(text: &mut Text, site: &Site<'_>, base: usize, unit: Reg) -> Part {
    let address = word(text, base, unit);
    let again = text.label();
    text.place(&again);
    let whole = text.set(Bank::B64, "ld.volatile.global.b64", format_args!("[{address}]"));
    let mark = text.set(Bank::B64, "shr.u64", format_args!("{whole}, 32"));
    let missing = text.set(Bank::Predicate, "setp.eq.u64", format_args!("{mark}, 0"));
    text.line(format_args!("@{missing} bra {again}"));
    let bits = text.set(Bank::B32, "cvt.u32.u64", format_args!("{whole}"));
    let bank = site.combining.bank();
    let value = if bank == Bank::F32 { text.set(bank, "mov.b32", format_args!("{bits}")) } else { bits };
    Part { value, index: None }
}

/// One store of 8 bytes, so that the mark is never there without the value.
fn tell(text: &mut Text, base: usize, unit: Reg, value: Reg) {
    let address = word(text, base, unit);
    let bits = text.set(Bank::B32, "mov.b32", format_args!("{value}"));
    let bits = text.set(Bank::B64, "cvt.u64.u32", format_args!("{bits}"));
    let marked = text.set(Bank::B64, "or.b64", format_args!("{bits}, 0x100000000"));
    text.line(format_args!("st.volatile.global.b64 [{address}], {marked}"));
}
