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
    RESIDENT, WARP, WARPS,
    combining::{Combining, Part, assign, chosen},
    kernel::{Kernel, Running},
    linked,
    site::Site,
};
use crate::function::{
    access::store_span,
    class::{Access, Class},
    index::{nth, numbers},
    text::{BLOCK, Bank, Reg, Text},
};

/// Elements of a thread that lie side by side.
pub(super) const SIDE: usize = 4;

/// Where a thread is.
struct Place {
    /// Addresses of the tile's first elements.
    tile: Vec<Reg>,
    /// The thread's first element in the tile.
    first: Reg,
    len: Reg,
    /// The thread's number among those of the tile, in its warp, and the warp's first slot in
    /// shared memory.
    thread: Reg,
    lane: Reg,
    slot: Reg,
}

/// The text of a kernel.
pub(super) fn write(
    program: &Program,
    class: &Class,
    kernel: &Kernel,
    (threads, pieces): (usize, usize),
    what: Running,
) -> String {
    let site = Site::new(program, class, kernel);
    let combining = site.combining;
    let words = site.words;
    let mut text = Text::default();
    if pieces > 1 {
        text.resident(if is_turned(threads, pieces, what) { turned::RESIDENT } else { RESIDENT });
    }
    let (block, thread) = numbers(&mut text);
    let of_block = BLOCK as usize / threads;
    let first = text.set32("mul.lo.u32", format_args!("{block}, {of_block}"));
    let within = text.set32("shr.u32", format_args!("{thread}, {}", threads.trailing_zeros()));
    let unit = text.set32("add.u32", format_args!("{first}, {within}"));
    let units = text.parameter(Bank::B32, words.units);
    let inside = text.test("setp.lt.u32", format_args!("{unit}, {units}"));
    let mut unit = text.set32("selp.b32", format_args!("{unit}, 0, {inside}"));
    let is_linked = matches!(what, Running::Linked { .. });
    let is_turned = is_turned(threads, pieces, what);
    let slots = if is_turned { WARPS } else { pieces * WARPS };
    if is_linked {
        unit = linked::unit(&mut text, &site, slots, thread);
    }
    let (row, tile) = site.segment(&mut text, unit);
    let tile_len = threads * pieces * SIDE;
    let start = site.start(&mut text, tile, tile_len);
    let len = site.len(&mut text, start, tile_len, inside);
    let rows = site.row(&mut text, row);
    let body = site.body(&mut text, &rows);
    let number = text.set32("and.b32", format_args!("{thread}, {}", threads - 1));
    let place = Place {
        tile: site.tile(&mut text, &rows, start),
        first: text.set32("mul.lo.u32", format_args!("{number}, {SIDE}")),
        len,
        lane: text.set32("and.b32", format_args!("{thread}, 31")),
        // A tile that has warps of its own begins at the first of them.
        slot: text.set32("shr.u32", format_args!("{thread}, 5")),
        thread: number,
    };
    if let (Running::Linked { form }, true) = (what, is_turned) {
        // All tiles of this size have elements: there is a block for each.
        let which = linked::Tile { unit, row, tile, thread: number };
        turned::write(&mut text, &site, body.as_ref(), (&place, which), form);
        text.line(format_args!("ret"));
        return text.finish(words.count(), turned::shared_words(&site));
    }
    let elements = load(&mut text, &site, body.as_ref(), &place, (threads, pieces));

    // Upwards. A thread keeps the totals of its way, or loads them again if they do not fit into
    // registers.
    let keeps = pieces == 1;
    let (mut totals, mut known) = (Vec::new(), Vec::new());
    for four in &elements {
        let up = upwards(&mut text, combining, four, threads);
        totals.push(up.total);
        known.extend(keeps.then_some(up));
    }
    let warps = threads.div_ceil(WARP);
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
    let total = |text: &mut Text| {
        if threads > WARP {
            let of_piece = |text: &mut Text, piece| of_warps(text, &site, slots, &place, (piece, warps));
            let all = (0..pieces).flat_map(|piece| of_piece(text, piece)).collect();
            combining.tree(text, all)
        } else {
            combining.tree(text, totals)
        }
    };
    let running = match what {
        Running::Totals => {
            text.branch_if("setp.ne.u32", format_args!("{number}, 0"), &exit);
            let total = total(&mut text);
            site.conclude(&mut text, total, start, unit, rows[0]);
            None
        }
        Running::Linked { form } => {
            let which = linked::Tile { unit, row, tile, thread: number };
            Some((form, linked::before(&mut text, &site, slots, which, total)))
        }
        Running::Elements { form, carried: true } => {
            let base = text.parameter(Bank::B64, words.carry);
            let bank = combining.bank();
            let at = nth(&mut text, base, unit, combining.value_type().len_bytes());
            let value = text.set(bank, &format!("ld.global.nc.{}", bank.type_name()), format_args!("[{at}]"));
            Some((form, Part { value, index: None }))
        }
        Running::Elements { form, carried: false } => {
            Some((form, Part { value: combining.identity(&mut text), index: None }))
        }
    };
    if let Some((form, before)) = running {
        let before = before_pieces(&mut text, &site, before, &place, (pieces, warps), slots);
        for (piece, mut before) in before.into_iter().enumerate() {
            let elements = &elements[piece];
            let up = known.pop().unwrap_or_else(|| upwards(&mut text, combining, elements, threads));
            for (level, &beside) in up.beside.iter().enumerate().rev() {
                before = after(&mut text, &site, before, beside, place.lane, 1 << level);
            }
            let second = combining.combined(&mut text, before, elements[0]);
            let third = combining.combined(&mut text, before, up.pair);
            let fourth = combining.combined(&mut text, third, elements[2]);
            let mut values = vec![before, second, third, fourth];
            if form == ReduceForm::Inclusive {
                for (value, &element) in values.iter_mut().zip(elements) {
                    *value = combining.combined(&mut text, *value, element);
                }
            }
            store(&mut text, &site, &place, values, piece * threads * SIDE);
        }
    }
    text.place(&exit);
    text.line(format_args!("ret"));
    let slot_words = if threads > WARP { combining.shared_words(slots) } else { 0 };
    let shared_words = slot_words + if is_linked { linked::WORDS } else { 0 };
    text.finish(words.count(), shared_words)
}

/// The totals that a thread gets from its four elements and its warp: of the first two elements, of
/// the block beside its own at each level, and of all.
struct Upwards {
    pair: Part,
    beside: Vec<Part>,
    total: Part,
}

fn upwards(text: &mut Text, combining: Combining, four: &[Part], threads: usize) -> Upwards {
    let pair = combining.combined(text, four[0], four[1]);
    let other = combining.combined(text, four[2], four[3]);
    let total = combining.combined(text, pair, other);
    let (total, beside) = combining.in_warp(text, "bfly", total, 1..threads.min(WARP));
    Upwards { pair, beside, total }
}

/// The totals of the warps of a tile, of one piece.
fn of_warps(
    text: &mut Text,
    site: &Site<'_>,
    slots: usize,
    place: &Place,
    (piece, warps): (usize, usize),
) -> Vec<Part> {
    let first = text.set32("and.b32", format_args!("{}, {}", place.slot, 31 & !(warps - 1)));
    let first = text.set32("add.u32", format_args!("{first}, {}", piece * WARPS));
    site.combining.load_shared(text, slots, first, warps)
}

/// The total before the warp, for each piece.
fn before_pieces(
    text: &mut Text,
    site: &Site<'_>,
    before: Part,
    place: &Place,
    (pieces, warps): (usize, usize),
    slots: usize,
) -> Vec<Part> {
    if warps == 1 {
        return vec![before; pieces];
    }
    let warp = text.set32("shr.u32", format_args!("{}, 5", place.thread));
    let totals: Vec<Vec<Part>> =
        (0..pieces).map(|piece| of_warps(text, site, slots, place, (piece, warps))).collect();
    let whole: Vec<Part> = if pieces > 1 {
        totals.iter().map(|totals| site.combining.tree(text, totals.clone())).collect()
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
                    let total = site.combining.tree(text, whole[left..left + size].to_vec());
                    before = site.combining.combined(text, before, total);
                }
                size /= 2;
            }
            let mut size = warps / 2;
            while size > 0 {
                // The left one of the pair of blocks that the warp is in.
                let blocks: Vec<Part> = totals[piece]
                    .chunks(2 * size)
                    .map(|pair| site.combining.tree(text, pair[..size].to_vec()))
                    .collect();
                let mut left = blocks[0];
                for (nth, &block) in blocks.iter().enumerate().skip(1) {
                    let from = nth * 2 * size;
                    let behind = text.test("setp.ge.u32", format_args!("{warp}, {from}"));
                    left = chosen(text, behind, block, left);
                }
                before = after(text, site, before, left, warp, size);
                size /= 2;
            }
            before
        })
        .collect()
}

/// The total before, combined with the block to the left if the number has that bit.
pub(super) fn after(
    text: &mut Text,
    site: &Site<'_>,
    before: Part,
    left: Part,
    number: Reg,
    bit: usize,
) -> Part {
    let with = site.combining.combined(text, before, left);
    let bit = text.set32("and.b32", format_args!("{number}, {bit}"));
    let set = text.test("setp.ne.u32", format_args!("{bit}, 0"));
    chosen(text, set, with, before)
}

/// Loads the elements of a thread. Those beyond the end are neutral.
fn load(
    text: &mut Text,
    site: &Site<'_>,
    body: Option<&crate::function::body::Body<'_>>,
    place: &Place,
    (threads, pieces): (usize, usize),
) -> Vec<Vec<Part>> {
    let elements: Vec<Vec<Part>> =
        (0..pieces).map(|_| (0..SIDE).map(|_| site.combining.neutral(text)).collect()).collect();
    for (piece, parts) in elements.iter().enumerate() {
        let (one_by_one, done) = (text.label(), text.label());
        let local = text.set32("add.u32", format_args!("{}, {}", place.first, piece * threads * SIDE));
        let end = text.set32("add.u32", format_args!("{local}, {SIDE}"));
        text.branch_if("setp.gt.u32", format_args!("{end}, {}", place.len), &one_by_one);
        let addresses = site.along(text, &place.tile, local);
        let loaded = site.several(text, &addresses, SIDE, site.words.reduced(0) + 2, None);
        for (at, &part) in parts.iter().enumerate() {
            let element = site.part(text, body, &loaded, at, None);
            assign(text, part, element);
        }
        text.line(format_args!("bra {done}"));
        text.place(&one_by_one);
        for (at, &part) in parts.iter().enumerate() {
            let local = text.set32("add.u32", format_args!("{local}, {at}"));
            let inside = text.test("setp.lt.u32", format_args!("{local}, {}", place.len));
            let addresses = site.along(text, &place.tile, local);
            let loaded = site.one(text, &addresses, Some(inside));
            let element = site.part(text, body, &loaded, 0, None);
            text.guarded(inside, |text| assign(text, part, element));
        }
        text.place(&done);
    }
    elements
}

/// Stores four elements of a running form, as far as they exist.
fn store(text: &mut Text, site: &Site<'_>, place: &Place, values: Vec<Part>, behind: usize) {
    let (result_type, values) = finished(text, site, values);
    let stride = site.words.reduced(0) + 2;
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
        if at > 0 && site.words.reduced > 0 {
            let stride = text.parameter(Bank::B64, stride);
            address = text.set64("add.s64", format_args!("{address}, {stride}"));
        }
        let local = text.set32("add.u32", format_args!("{local}, {at}"));
        let inside = text.test("setp.lt.u32", format_args!("{local}, {}", place.len));
        store_span(text, result_type, address, &[value], 1, &[inside]);
    }
    text.place(&done);
}

/// The registers that are stored for four elements, and their type.
fn finished(text: &mut Text, site: &Site<'_>, values: Vec<Part>) -> (ElementType, Vec<Reg>) {
    let result_type = site.kernel.finish.as_ref().map_or(site.combining.value_type(), Program::result_type);
    let finished = |value: Part| match &site.kernel.finish {
        None => value.value,
        Some(finish) => {
            let value = site.combining.decoded(text, value);
            site.finished(text, (finish, site.words.finish_scalars), value)
        }
    };
    (result_type, values.into_iter().map(finished).collect())
}

/// The element `behind` after a thread's first: its number in the tile, and its address.
fn first(text: &mut Text, site: &Site<'_>, place: &Place, behind: usize) -> (Reg, Reg) {
    let local = text.set32("add.u32", format_args!("{}, {behind}", place.first));
    let address = if site.words.reduced > 0 {
        super::site::moved(text, place.tile[0], local, site.words.reduced(0) + 2)
    } else {
        place.tile[0]
    };
    (local, address)
}

/// Whether the elements of a tile change places, as in whole blocks that wait for one another.
fn is_turned(threads: usize, pieces: usize, what: Running) -> bool {
    matches!(what, Running::Linked { .. }) && (threads, pieces) == (BLOCK as usize, turned::PIECES)
}
