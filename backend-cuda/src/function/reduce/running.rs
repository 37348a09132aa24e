//! The text of kernels of running forms: a tile of a row goes through the threads of a block, or of
//! a part of one.
//!
//! Totals of aligned blocks of elements grow upwards: in a thread, in its warp by exchange, in the
//! block through shared memory. The total before an element comes downwards: the total before the
//! tile, with the totals of the blocks to the left of the element, the largest first.

mod turned;

use devarray::{
    backend::ReduceForm,
    function::{ElementType, primitive::Program},
};

use super::{
    combining::{Combining, Part, assign},
    kernel::{Running, Tile},
    linked::{self, Place},
    site::{Site, moved, unit},
    sizes::{RESIDENT, SIDE, WARP, WARPS},
};
use crate::function::{
    access::store_span,
    body::Body,
    class::Access,
    index::nth,
    text::{Bank, Reg, Text},
};

/// Writes a kernel. Returns the words of shared memory.
pub(super) fn write(text: &mut Text, site: &Site<'_>, size: Tile, what: Running) -> usize {
    let Tile { threads, pieces } = size;
    let combining = site.combining;
    let is_linked = matches!(what, Running::Linked { .. });
    let is_turned = is_linked && pieces == turned::PIECES;
    if pieces > 1 {
        text.resident(if is_turned { turned::RESIDENT } else { RESIDENT });
    }
    let (thread, _, unit) = unit(text, threads);
    let (mut unit, inside) = site.inside(text, unit);
    if is_linked {
        unit = linked::unit(text, site, thread);
    }
    let (row, tile) = site.segment(text, unit);
    let start = site.start(text, tile);
    let len = site.len(text, start, inside);
    let rows = site.row(text, row);
    let body = site.body(text, &rows);
    let number = text.set32("and.b32", format_args!("{thread}, {}", threads - 1));
    let slots = if is_turned { WARPS } else { pieces * WARPS };
    let place = Place {
        unit,
        row,
        tile,
        addresses: site.tile(text, &rows, start),
        first: text.set32("mul.lo.u32", format_args!("{number}, {SIDE}")),
        len,
        lane: text.set32("and.b32", format_args!("{thread}, 31")),
        // A tile that has warps of its own begins at the first of them.
        slot: text.set32("shr.u32", format_args!("{thread}, 5")),
        thread: number,
        size,
        slots,
    };
    if let (Running::Linked { form }, true) = (what, is_turned) {
        // All tiles of this size have elements: there is a block for each.
        turned::write(text, site, body.as_ref(), &place, form);
        return turned::shared_words(site);
    }
    let elements = load(text, site, body.as_ref(), &place);

    // Upwards. A thread keeps the totals of its way, or loads them again if they do not fit into
    // registers.
    let keeps = pieces == 1;
    let (mut totals, mut known) = (Vec::new(), Vec::new());
    for four in &elements {
        let up = upwards(text, combining, four, threads);
        totals.push(up.total);
        known.extend(keeps.then_some(up));
    }
    if threads > WARP {
        let leads = text.test("setp.eq.u32", format_args!("{}, 0", place.lane));
        for (piece, &total) in totals.iter().enumerate() {
            let behind = piece * WARPS;
            let slot = text.set32("add.u32", format_args!("{}, {behind}", place.slot));
            text.guarded(leads, |text| combining.store_shared(text, slots, slot, total));
        }
        text.line(format_args!("bar.sync 0"));
    }
    let exit = text.label();
    text.branch_if("setp.eq.u32", format_args!("{len}, 0"), &exit);
    // Where it is asked for, a row has several tiles, and each has a whole block.
    let total = |text: &mut Text| {
        let all = (0..pieces).flat_map(|piece| of_warps(text, combining, &place, piece)).collect();
        combining.tree(text, all)
    };
    let running = match what {
        Running::Totals => {
            text.branch_if("setp.ne.u32", format_args!("{number}, 0"), &exit);
            let total = total(text);
            site.conclude(text, total, start, unit, rows[0]);
            None
        }
        Running::Linked { form } => Some((form, linked::before(text, site, &place, total))),
        Running::Elements { form, carried: true } => {
            let base = text.parameter(Bank::B64, site.words.carry);
            let bank = combining.bank();
            let at = nth(text, base, unit, combining.value_type().len_bytes());
            let value = text.set(bank, &format!("ld.global.nc.{}", bank.type_name()), format_args!("[{at}]"));
            Some((form, Part { value, index: None }))
        }
        Running::Elements { form, carried: false } => {
            Some((form, Part { value: combining.identity(text), index: None }))
        }
    };
    if let Some((form, before)) = running {
        let before = before_pieces(text, combining, before, &place, pieces);
        for (piece, before) in before.into_iter().enumerate() {
            let elements = &elements[piece];
            let up = known.pop().unwrap_or_else(|| upwards(text, combining, elements, threads));
            let before = up.before(text, combining, before, place.lane);
            let values = downwards(text, combining, &up.levels, before, form);
            store(text, site, &place, &values, piece * threads * SIDE);
        }
    }
    text.place(&exit);
    let slot_words = if threads > WARP { combining.shared_words(slots) } else { 0 };
    slot_words + if is_linked { linked::WORDS } else { 0 }
}

/// The totals that a thread gets from its elements and its warp: of aligned blocks of its elements,
/// of the block beside its own at each level, and of all.
struct Upwards {
    levels: Vec<Vec<Part>>,
    beside: Vec<Part>,
    total: Part,
}

fn upwards(text: &mut Text, combining: Combining, elements: &[Part], threads: usize) -> Upwards {
    let mut levels = combining.levels(text, elements.to_vec(), 1);
    let total = levels.pop().expect("a level of one")[0];
    let (total, beside) = combining.in_warp(text, "bfly", total, 1..threads.min(WARP));
    Upwards { levels, beside, total }
}

impl Upwards {
    /// The total before the thread, given that before its warp.
    fn before(&self, text: &mut Text, combining: Combining, mut before: Part, lane: Reg) -> Part {
        for (level, &beside) in self.beside.iter().enumerate().rev() {
            before = combining.preceding(text, before, &[beside], lane, 1 << level);
        }
        before
    }
}

/// What a running form has for each element of a thread, given what precedes the first. `levels`:
/// the totals of aligned blocks of its elements.
fn downwards(
    text: &mut Text,
    combining: Combining,
    levels: &[Vec<Part>],
    before: Part,
    form: ReduceForm,
) -> Vec<Part> {
    let mut values = Vec::with_capacity(levels[0].len());
    descend(text, combining, levels, (before, 0), &mut values);
    if form == ReduceForm::Inclusive {
        for (value, &element) in values.iter_mut().zip(&levels[0]) {
            *value = combining.combined(text, *value, element);
        }
    }
    values
}

/// What precedes each element of block `at` of the level above them, given what precedes the block.
fn descend(
    text: &mut Text,
    combining: Combining,
    levels: &[Vec<Part>],
    (before, at): (Part, usize),
    values: &mut Vec<Part>,
) {
    let Some((level, below)) = levels.split_last() else {
        values.push(before);
        return;
    };
    descend(text, combining, below, (before, 2 * at), values);
    let left = combining.combined(text, before, level[2 * at]);
    descend(text, combining, below, (left, 2 * at + 1), values);
}

/// The totals of the warps of a tile, of one piece.
fn of_warps(text: &mut Text, combining: Combining, place: &Place, piece: usize) -> Vec<Part> {
    let warps = place.size.threads.div_ceil(WARP);
    let first = text.set32("and.b32", format_args!("{}, {}", place.slot, 31 & !(warps - 1)));
    let first = text.set32("add.u32", format_args!("{first}, {}", piece * WARPS));
    combining.load_shared(text, place.slots, first, warps)
}

/// The total before the warp, for each piece.
fn before_pieces(
    text: &mut Text,
    combining: Combining,
    before: Part,
    place: &Place,
    pieces: usize,
) -> Vec<Part> {
    if place.size.threads <= WARP {
        return vec![before; pieces];
    }
    let warp = text.set32("shr.u32", format_args!("{}, 5", place.thread));
    let totals: Vec<Vec<Part>> = (0..pieces).map(|piece| of_warps(text, combining, place, piece)).collect();
    let whole: Vec<Part> = if pieces > 1 {
        totals.iter().map(|totals| combining.tree(text, totals.clone())).collect()
    } else {
        Vec::new()
    };
    (0..pieces)
        .map(|piece| {
            let mut before = before;
            let mut size = pieces / 2;
            while size > 0 {
                if piece & size != 0 {
                    let left = piece & !(2 * size - 1);
                    let total = combining.tree(text, whole[left..left + size].to_vec());
                    before = combining.combined(text, before, total);
                }
                size /= 2;
            }
            let mut size = totals[piece].len() / 2;
            while size > 0 {
                let left = |pair: &[Part]| combining.tree(text, pair[..size].to_vec());
                let lefts: Vec<Part> = totals[piece].chunks(2 * size).map(left).collect();
                before = combining.preceding(text, before, &lefts, warp, size);
                size /= 2;
            }
            before
        })
        .collect()
}

/// Loads the elements of a thread. Those beyond the end are neutral.
fn load(text: &mut Text, site: &Site<'_>, body: Option<&Body<'_>>, place: &Place) -> Vec<Vec<Part>> {
    let elements: Vec<Vec<Part>> =
        (0..place.size.pieces).map(|_| (0..SIDE).map(|_| site.combining.neutral(text)).collect()).collect();
    for (piece, parts) in elements.iter().enumerate() {
        let (one_by_one, done) = (text.label(), text.label());
        let local =
            text.set32("add.u32", format_args!("{}, {}", place.first, piece * place.size.threads * SIDE));
        let end = text.set32("add.u32", format_args!("{local}, {SIDE}"));
        text.branch_if("setp.gt.u32", format_args!("{end}, {}", place.len), &one_by_one);
        let addresses = site.along(text, &place.addresses, local);
        let loaded = site.several(text, &addresses, SIDE, None);
        for (at, &part) in parts.iter().enumerate() {
            let element = site.part(text, body, &loaded, at, None);
            assign(text, part, element);
        }
        text.line(format_args!("bra {done}"));
        text.place(&one_by_one);
        for (at, &part) in parts.iter().enumerate() {
            let local = text.set32("add.u32", format_args!("{local}, {at}"));
            let inside = text.test("setp.lt.u32", format_args!("{local}, {}", place.len));
            let addresses = site.along(text, &place.addresses, local);
            let loaded = site.several(text, &addresses, 1, Some(inside));
            let element = site.part(text, body, &loaded, 0, None);
            text.guarded(inside, |text| assign(text, part, element));
        }
        text.place(&done);
    }
    elements
}

/// Stores four elements of a running form, as far as they exist.
fn store(text: &mut Text, site: &Site<'_>, place: &Place, values: &[Part], behind: usize) {
    let (result_type, values) = finished(text, site, values);
    let (local, first) = first(text, site, place, behind);
    let (one_by_one, done) = (text.label(), text.label());
    if let Access::Span { width } = site.class.operands[0].1 {
        let end = text.set32("add.u32", format_args!("{local}, {SIDE}"));
        text.branch_if("setp.gt.u32", format_args!("{end}, {}", place.len), &one_by_one);
        store_span(text, result_type, first, &values, width.into(), &[]);
        text.line(format_args!("bra {done}"));
    }
    text.place(&one_by_one);
    let mut address = first;
    for (at, value) in values.into_iter().enumerate() {
        if at > 0 {
            address = site.next(text, 0, address);
        }
        let local = text.set32("add.u32", format_args!("{local}, {at}"));
        let inside = text.test("setp.lt.u32", format_args!("{local}, {}", place.len));
        store_span(text, result_type, address, &[value], 1, &[inside]);
    }
    text.place(&done);
}

/// The registers that are stored for four elements, and their type.
fn finished(text: &mut Text, site: &Site<'_>, values: &[Part]) -> (ElementType, Vec<Reg>) {
    let result_type = site.kernel.finish.as_ref().map_or(site.combining.value_type(), Program::result_type);
    let finished = |&value: &Part| match &site.kernel.finish {
        None => value.value,
        Some(finish) => {
            let value = site.combining.decoded(text, value);
            site.finished(text, (finish, site.words.finish_scalars), value)
        }
    };
    (result_type, values.iter().map(finished).collect())
}

/// The element `behind` after a thread's first: its number in the tile, and its address.
fn first(text: &mut Text, site: &Site<'_>, place: &Place, behind: usize) -> (Reg, Reg) {
    let local = text.set32("add.u32", format_args!("{}, {behind}", place.first));
    (local, moved(text, place.addresses[0], local, site.words.along(0)))
}
