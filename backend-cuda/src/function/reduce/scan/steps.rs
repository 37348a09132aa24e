//! The steps of a scan: load elements, build totals upwards and downwards, store results.

use devarray::{
    backend::ReduceForm,
    function::{ElementType, primitive::Program},
};

use crate::function::{
    access::store_span,
    body::Body,
    class::Access,
    reduce::{
        combining::{Combining, Partial, assign},
        kernel_code::{KernelCode, moved},
        look_back::Thread,
        sizes::{SIDE, WARP, WARPS},
    },
    text::{Reg, Text},
};

/// The totals that a thread gets from its elements and its warp: of aligned blocks of its elements,
/// of the neighbouring block at each level, and of all.
pub(super) struct Upwards {
    pub(super) levels: Vec<Vec<Partial>>,
    pub(super) beside: Vec<Partial>,
    pub(super) total: Partial,
}

pub(super) fn upwards(
    text: &mut Text,
    combining: Combining,
    elements: &[Partial],
    threads: usize,
) -> Upwards {
    let mut levels = combining.levels(text, elements.to_vec(), 1);
    let total = levels.pop().expect("a level of one")[0];
    let (total, beside) = combining.in_warp(text, "bfly", total, 1..threads.min(WARP));
    Upwards { levels, beside, total }
}

impl Upwards {
    /// The total before the thread, given the total before its warp.
    pub(super) fn before(
        &self,
        text: &mut Text,
        combining: Combining,
        mut before: Partial,
        lane: Reg,
    ) -> Partial {
        for (level, &beside) in self.beside.iter().enumerate().rev() {
            before = combining.preceding(text, before, &[beside], lane, 1 << level);
        }
        before
    }
}

/// The value of a scan for each element of a thread, given the value before the first. `levels` are
/// the totals of aligned blocks of its elements.
pub(super) fn downwards(
    text: &mut Text,
    combining: Combining,
    levels: &[Vec<Partial>],
    before: Partial,
    form: ReduceForm,
) -> Vec<Partial> {
    let mut values = Vec::with_capacity(levels[0].len());
    descend(text, combining, levels, (before, 0), &mut values);
    if form == ReduceForm::Inclusive {
        for (value, &element) in values.iter_mut().zip(&levels[0]) {
            *value = combining.combined(text, *value, element);
        }
    }
    values
}

/// The value before each element of block `at` of the level above them, given the value before the
/// block.
fn descend(
    text: &mut Text,
    combining: Combining,
    levels: &[Vec<Partial>],
    (before, at): (Partial, usize),
    values: &mut Vec<Partial>,
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
pub(super) fn of_warps(text: &mut Text, combining: Combining, place: &Thread, piece: usize) -> Vec<Partial> {
    let warps = place.size.threads.div_ceil(WARP);
    let first = text.set32("and.b32", format_args!("{}, {}", place.slot, 31 & !(warps - 1)));
    let first = text.set32("add.u32", format_args!("{first}, {}", piece * WARPS));
    combining.load_shared(text, place.slots, first, warps)
}

/// The total before the warp, for each piece.
pub(super) fn before_pieces(
    text: &mut Text,
    combining: Combining,
    before: Partial,
    place: &Thread,
    pieces: usize,
) -> Vec<Partial> {
    if place.size.threads <= WARP {
        return vec![before; pieces];
    }
    let warp = text.set32("shr.u32", format_args!("{}, 5", place.thread));
    let totals: Vec<Vec<Partial>> =
        (0..pieces).map(|piece| of_warps(text, combining, place, piece)).collect();
    let whole: Vec<Partial> = if pieces > 1 {
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
                let left = |pair: &[Partial]| combining.tree(text, pair[..size].to_vec());
                let lefts: Vec<Partial> = totals[piece].chunks(2 * size).map(left).collect();
                before = combining.preceding(text, before, &lefts, warp, size);
                size /= 2;
            }
            before
        })
        .collect()
}

/// Loads the elements of a thread. Elements beyond the end are neutral.
pub(super) fn load(
    text: &mut Text,
    code: &KernelCode<'_>,
    body: Option<&Body<'_>>,
    place: &Thread,
) -> Vec<Vec<Partial>> {
    let elements: Vec<Vec<Partial>> =
        (0..place.size.pieces).map(|_| (0..SIDE).map(|_| code.combining.neutral(text)).collect()).collect();
    for (piece, partials) in elements.iter().enumerate() {
        let (one_by_one, done) = (text.label(), text.label());
        let local =
            text.set32("add.u32", format_args!("{}, {}", place.first, piece * place.size.threads * SIDE));
        let end = text.set32("add.u32", format_args!("{local}, {SIDE}"));
        text.branch_if("setp.gt.u32", format_args!("{end}, {}", place.len), &one_by_one);
        let addresses = code.along(text, &place.addresses, local);
        let loaded = code.several(text, &addresses, SIDE, None);
        for (at, &partial) in partials.iter().enumerate() {
            let element = code.partial(text, body, &loaded, at, None);
            assign(text, partial, element);
        }
        text.line(format_args!("bra {done}"));
        text.place(&one_by_one);
        for (at, &partial) in partials.iter().enumerate() {
            let local = text.set32("add.u32", format_args!("{local}, {at}"));
            let inside = text.test("setp.lt.u32", format_args!("{local}, {}", place.len));
            let addresses = code.along(text, &place.addresses, local);
            let loaded = code.several(text, &addresses, 1, Some(inside));
            let element = code.partial(text, body, &loaded, 0, None);
            text.guarded(inside, |text| assign(text, partial, element));
        }
        text.place(&done);
    }
    elements
}

/// Stores four elements of a scan, as far as they exist.
pub(super) fn store(
    text: &mut Text,
    code: &KernelCode<'_>,
    place: &Thread,
    values: &[Partial],
    behind: usize,
) {
    let (result_type, values) = finished(text, code, values);
    let (local, first) = first(text, code, place, behind);
    let (one_by_one, done) = (text.label(), text.label());
    if let Access::Span { width } = code.class.operands[0].1 {
        let end = text.set32("add.u32", format_args!("{local}, {SIDE}"));
        text.branch_if("setp.gt.u32", format_args!("{end}, {}", place.len), &one_by_one);
        store_span(text, result_type, first, &values, width.into(), &[]);
        text.line(format_args!("bra {done}"));
    }
    text.place(&one_by_one);
    let mut address = first;
    for (at, value) in values.into_iter().enumerate() {
        if at > 0 {
            address = code.next(text, 0, address);
        }
        let local = text.set32("add.u32", format_args!("{local}, {at}"));
        let inside = text.test("setp.lt.u32", format_args!("{local}, {}", place.len));
        store_span(text, result_type, address, &[value], 1, &[inside]);
    }
    text.place(&done);
}

/// The registers that are stored for four elements, and their type.
pub(super) fn finished(
    text: &mut Text,
    code: &KernelCode<'_>,
    values: &[Partial],
) -> (ElementType, Vec<Reg>) {
    let result_type = code.kernel.finish.as_ref().map_or(code.combining.value_type(), Program::result_type);
    let finished = |&value: &Partial| match &code.kernel.finish {
        None => value.value,
        Some(finish) => {
            let value = code.combining.decoded(text, value);
            code.finished(text, (finish, code.words.finish_scalars), value)
        }
    };
    (result_type, values.iter().map(finished).collect())
}

/// The element that comes `behind` elements after a thread's first: its number in the tile, and its
/// address.
pub(super) fn first(text: &mut Text, code: &KernelCode<'_>, place: &Thread, behind: usize) -> (Reg, Reg) {
    let local = text.set32("add.u32", format_args!("{}, {behind}", place.first));
    (local, moved(text, place.addresses[0], local, code.words.along(0)))
}
