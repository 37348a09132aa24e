//! A scan in one launch (a decoupled look-back): each tile publishes its total, and waits for the
//! tiles before it.
//!
//! Blocks take tiles in order, so a tile waits only for tiles of blocks that run or are done, and
//! none waits for ever. A published value is a word with a mark in its high half, which is 0 until
//! then.
//!
//! A group has as many tiles as a block has threads. A tile publishes its total, and needs the
//! totals of the earlier tiles of its group: each thread waits for one, and together they make
//! totals of aligned blocks of tiles. The last tile of a group publishes the total of the largest
//! aligned block of groups that ends with this group.
//!
//! Two totals precede a group: the total of the block that ends with the previous group, and the total of all
//! elements before this block. Every tile waits for both and combines them. The first tile of a group
//! publishes the result, for later groups that need it.

use super::{
    combining::{Partial, assign},
    kernel::ScanTile,
    kernel_code::KernelCode,
    sizes::{GROUP, WARP, WARPS},
};
use crate::function::{
    index::nth,
    text::{Bank, Reg, Text},
};

/// The place of a thread.
pub(super) struct Thread {
    /// The number of its tile, the number of the row, and the tile's number in the row.
    pub(super) unit: Reg,
    pub(super) row: Reg,
    pub(super) tile: Reg,
    /// Addresses of the tile's first elements.
    pub(super) addresses: Vec<Reg>,
    /// The thread's first element in the tile.
    pub(super) first: Reg,
    pub(super) len: Reg,
    /// The thread's number among the threads of the tile, in its warp, and the warp's first slot in
    /// shared memory.
    pub(super) thread: Reg,
    pub(super) lane: Reg,
    pub(super) slot: Reg,
    pub(super) size: ScanTile,
    /// The number of totals of warps in shared memory.
    pub(super) slots: usize,
}

/// Words of 4 bytes of shared memory behind the slots: the number of the tile, the value before it,
/// totals of warps, and of the blocks of tiles to the left that are smaller than a warp.
const BEFORE: usize = 2;
const OF_WARPS: usize = 4;
const OF_BLOCKS: usize = OF_WARPS + WARPS;
pub(super) const WORDS: usize = OF_BLOCKS + 8;

/// The address in shared memory of the number of the tile, and of the value before it.
fn shared(text: &mut Text, code: &KernelCode<'_>, word: usize) -> Reg {
    let tile = text.set32("mov.u32", format_args!("tile"));
    let behind = 4 * (code.combining.shared_words(WARPS) + word);
    text.set32("add.u32", format_args!("{tile}, {behind}"))
}

/// Takes the next tile that no block has yet.
pub(super) fn unit(text: &mut Text, code: &KernelCode<'_>, thread: Reg) -> Reg {
    let address = text.parameter(Bank::B64, code.words.columns);
    let at = shared(text, code, 0);
    let first = text.test("setp.eq.u32", format_args!("{thread}, 0"));
    text.guard(Some(first));
    let unit = text.set32("atom.global.add.u32", format_args!("[{address}], 1"));
    text.line(format_args!("st.shared.b32 [{at}], {unit}"));
    text.guard(None);
    text.line(format_args!("bar.sync 0"));
    text.set32("ld.shared.b32", format_args!("[{at}]"))
}

/// The total of all elements before a tile. The first thread knows the tile's own total.
pub(super) fn before(
    text: &mut Text,
    code: &KernelCode<'_>,
    place: &Thread,
    total: impl FnOnce(&mut Text) -> Partial,
) -> Partial {
    let combining = code.combining;
    let Thread { unit, tile, thread, .. } = *place;
    let raw = code.words.carry;
    let other = text.test("setp.ne.u32", format_args!("{thread}, 0"));
    let others = text.label();
    text.line(format_args!("@{other} bra {others}"));
    let total = total(text);
    publish(text, raw, unit, total.value);
    // The word is mostly published already, and arrives while the tile works.
    let (group, group_unit) = group(text, code, place);
    let early = text.set64("mov.b64", format_args!("0"));
    let last = text.set32("sub.u32", format_args!("{group_unit}, 1"));
    let at = word(text, code.words.across, last);
    let later = text.test("setp.ne.u32", format_args!("{group}, 0"));
    text.line(format_args!("@{later} ld.volatile.global.b64 {early}, [{at}]"));
    text.place(&others);

    let nth = text.set32("and.b32", format_args!("{tile}, {}", GROUP - 1));
    let partial = combining.neutral(text);
    let none = text.label();
    text.branch_if("setp.gt.u32", format_args!("{thread}, {nth}"), &none);
    let back = text.set32("sub.u32", format_args!("{nth}, {thread}"));
    let earlier = text.set32("sub.u32", format_args!("{unit}, {back}"));
    let earlier = awaited(text, code, raw, earlier, None);
    assign(text, partial, earlier);
    text.place(&none);

    // Upwards. The block to the left of the tile, of each size, goes to shared memory.
    let name = partial.value.bank.type_name();
    let mut partial = partial;
    for level in 0..WARP.trailing_zeros() {
        let start = text.set32("and.b32", format_args!("{nth}, {}", GROUP - (2 << level)));
        let is_left = text.test("setp.eq.u32", format_args!("{thread}, {start}"));
        let at = shared(text, code, OF_BLOCKS + level as usize);
        text.line(format_args!("@{is_left} st.shared.{name} [{at}], {}", partial.value));
        let beside = combining.shuffled(text, "bfly", partial, 1 << level);
        partial = combining.combined(text, partial, beside);
    }
    let lane = text.set32("and.b32", format_args!("{thread}, {}", WARP - 1));
    let leads = text.test("setp.eq.u32", format_args!("{lane}, 0"));
    let warp = text.set32("shr.u32", format_args!("{thread}, 5"));
    let at = shared(text, code, OF_WARPS);
    let at = text.set32("mad.lo.s32", format_args!("{warp}, 4, {at}"));
    text.line(format_args!("@{leads} st.shared.{name} [{at}], {}", partial.value));
    text.line(format_args!("bar.sync 0"));

    let others = text.label();
    text.line(format_args!("@{other} bra {others}"));
    let load = |text: &mut Text, word: usize| {
        let at = shared(text, code, word);
        let value = text.set(combining.bank(), &format!("ld.shared.{name}"), format_args!("[{at}]"));
        Partial { value, index: None }
    };
    let warps = (0..WARPS).map(|warp| load(text, OF_WARPS + warp)).collect();
    let mut levels = combining.levels(text, warps, 1);
    let whole = levels.pop().expect("a level of one")[0];
    let mut before = of_groups(text, code, (group, group_unit, early), nth, whole);
    for (level, totals) in levels.iter().enumerate().rev() {
        let lefts: Vec<Partial> = totals.iter().step_by(2).copied().collect();
        before = combining.preceding(text, before, &lefts, nth, WARP << level);
    }
    for level in (0..WARP.trailing_zeros()).rev() {
        let left = load(text, OF_BLOCKS + level as usize);
        before = combining.preceding(text, before, &[left], nth, 1 << level);
    }
    let at = shared(text, code, BEFORE);
    text.line(format_args!("st.shared.{name} [{at}], {}", before.value));
    text.place(&others);
    text.line(format_args!("bar.sync 0"));
    load(text, BEFORE)
}

/// The number of a tile's group in its row, and among all groups.
fn group(text: &mut Text, code: &KernelCode<'_>, place: &Thread) -> (Reg, Reg) {
    let shift = GROUP.trailing_zeros();
    let group = text.set32("shr.u32", format_args!("{}, {shift}", place.tile));
    let tiles = text.parameter(Bank::B32, code.words.segments);
    let groups = text.set32("add.u32", format_args!("{tiles}, {}", GROUP - 1));
    let groups = text.set32("shr.u32", format_args!("{groups}, {shift}"));
    (group, text.set32("mad.lo.u32", format_args!("{}, {groups}, {group}", place.row)))
}

/// The total of all elements before a tile's group. `nth` is the number of the tile in the group; `unit` is
/// the number of the group among all groups; `early` is the published word of the block that ends with the
/// previous group; `whole` is the total of the group, if the tile is its last.
fn of_groups(
    text: &mut Text,
    code: &KernelCode<'_>,
    (group, unit, early): (Reg, Reg, Reg),
    nth: Reg,
    whole: Partial,
) -> Partial {
    let combining = code.combining;
    let (totals, befores) = (code.words.across, code.words.across_divider);
    let ended = text.label();
    text.branch_if("setp.ne.u32", format_args!("{nth}, {}", GROUP - 1), &ended);
    let block = combining.neutral(text);
    assign(text, block, whole);
    let (again, ends) = (text.label(), text.label());
    let size = text.set32("mov.b32", format_args!("1"));
    text.place(&again);
    let bit = text.set32("and.b32", format_args!("{group}, {size}"));
    text.branch_if("setp.eq.u32", format_args!("{bit}, 0"), &ends);
    let left = text.set32("sub.u32", format_args!("{unit}, {size}"));
    let left = awaited(text, code, totals, left, None);
    let both = combining.combined(text, left, block);
    assign(text, block, both);
    text.line(format_args!("add.u32 {size}, {size}, {size}"));
    text.line(format_args!("bra {again}"));
    text.place(&ends);
    publish(text, totals, unit, block.value);
    text.place(&ended);

    let before = Partial { value: combining.identity(text), index: None };
    let known = text.label();
    let first = text.test("setp.eq.u32", format_args!("{group}, 0"));
    text.line(format_args!("@{first} bra {known}"));
    let back = text.set32("sub.u32", format_args!("{group}, 1"));
    let start = text.set32("and.b32", format_args!("{group}, {back}"));
    let alone = text.label();
    text.branch_if("setp.eq.u32", format_args!("{start}, 0"), &alone);
    let behind = text.set32("sub.u32", format_args!("{group}, {start}"));
    let earlier = text.set32("sub.u32", format_args!("{unit}, {behind}"));
    let earlier = awaited(text, code, befores, earlier, None);
    assign(text, before, earlier);
    text.place(&alone);
    let last = text.set32("sub.u32", format_args!("{unit}, 1"));
    let block = awaited(text, code, totals, last, Some(early));
    let both = combining.combined(text, before, block);
    assign(text, before, both);
    // Every tile of a group computes this sum; later groups read the one that the first tile wrote.
    text.branch_if("setp.ne.u32", format_args!("{nth}, 0"), &known);
    publish(text, befores, unit, before.value);
    text.place(&known);
    before
}

fn word(text: &mut Text, base: usize, unit: Reg) -> Reg {
    let base = text.parameter(Bank::B64, base);
    nth(text, base, unit, 8)
}

/// Waits for the value that a tile publishes. `early` is a word that was loaded before, to begin
/// with.
fn awaited(text: &mut Text, code: &KernelCode<'_>, base: usize, unit: Reg, early: Option<Reg>) -> Partial {
    let address = word(text, base, unit);
    let (load, again) = (text.label(), text.label());
    let whole = text.register(Bank::B64);
    if let Some(early) = early {
        text.line(format_args!("mov.b64 {whole}, {early}"));
        text.line(format_args!("bra {again}"));
    }
    text.place(&load);
    text.line(format_args!("ld.volatile.global.b64 {whole}, [{address}]"));
    text.place(&again);
    let mark = text.set64("shr.u64", format_args!("{whole}, 32"));
    text.branch_if("setp.eq.u64", format_args!("{mark}, 0"), &load);
    let bits = text.set32("cvt.u32.u64", format_args!("{whole}"));
    let bank = code.combining.bank();
    let value = if bank == Bank::F32 { text.set(bank, "mov.b32", format_args!("{bits}")) } else { bits };
    Partial { value, index: None }
}

/// One store writes all 8 bytes, so that the mark is never there without the value.
fn publish(text: &mut Text, base: usize, unit: Reg, value: Reg) {
    let address = word(text, base, unit);
    let bits = text.set32("mov.b32", format_args!("{value}"));
    let bits = text.set64("cvt.u64.u32", format_args!("{bits}"));
    let marked = text.set64("or.b64", format_args!("{bits}, 0x100000000"));
    text.line(format_args!("st.volatile.global.b64 [{address}], {marked}"));
}
