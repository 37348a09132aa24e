//! Tiles that are transposed in shared memory: neighbouring threads load consecutive
//! elements, and each thread computes consecutive elements.
//!
//! So most of the tree is inside one thread, without exchange. Elements stay in shared memory while
//! the tile waits for earlier tiles, which frees registers; afterwards each thread loads its own
//! elements again.

use devarray::backend::ReduceForm;

use super::steps::{self, before_pieces, downwards, finished, first, of_warps, store, upwards};
use crate::function::{
    access::store_span,
    body::Body,
    class::Access,
    reduce::{
        combining::Partial,
        kernel_code::{Elements, KernelCode},
        look_back::{self, Thread},
        sizes::{SIDE, WARPS},
    },
    text::{BLOCK, Bank, Reg, Text},
};

/// Pieces of four elements that a thread has, and elements of a block and their bytes.
pub(super) const PIECES: usize = 8;
const TILE: usize = BLOCK as usize * PIECES * SIDE;
const BUFFER_BYTES: usize = TILE * 4;

/// Blocks of a multiprocessor: 48 registers for each thread, and 33 KB of shared memory each.
pub(super) const RESIDENT: u32 = 5;

/// Bytes of a line of the cache.
const LINE_BYTES: usize = 128;

/// The start of the elements in shared memory, behind the totals of warps.
fn start(code: &KernelCode<'_>) -> usize {
    4 * (code.combining.shared_words(WARPS) + look_back::WORDS).next_multiple_of(SIDE)
}

/// Words of 4 bytes of shared memory.
pub(super) fn shared_words(code: &KernelCode<'_>) -> usize {
    (start(code) + BUFFER_BYTES) / 4
}

/// The elements of a tile, in groups of four neighbours. The number of the thread that computes a
/// group permutes the group's place, so that neighbours are in different banks for both loading and
/// computing.
struct Buffer {
    /// Address of the first four elements that the thread loads.
    loaded: Reg,
    /// Address of the first element that it computes, and the permutation of its fours.
    own: Reg,
    swizzle: Reg,
}

impl Buffer {
    fn new(text: &mut Text, code: &KernelCode<'_>, thread: Reg) -> Self {
        let tile = text.set32("mov.u32", format_args!("tile"));
        let start = text.set32("add.u32", format_args!("{tile}, {}", start(code)));
        let owner = text.set32("shr.u32", format_args!("{thread}, 3"));
        let swizzle = text.set32("and.b32", format_args!("{owner}, {}", PIECES - 1));
        let place = text.set32("xor.b32", format_args!("{thread}, {swizzle}"));
        let loaded = text.set32("mad.lo.u32", format_args!("{place}, {}, {start}", 4 * SIDE));
        let own = text.set32("mad.lo.u32", format_args!("{thread}, {}, {start}", 4 * SIDE * PIECES));
        let swizzle = text.set32("and.b32", format_args!("{thread}, {}", PIECES - 1));
        let swizzle = text.set32("mul.lo.u32", format_args!("{swizzle}, {}", 4 * SIDE));
        Self { loaded, own, swizzle }
    }

    /// The place of four elements that the thread loads or stores.
    fn of_piece(&self, piece: usize) -> String {
        format!("{}+{}", self.loaded, piece * BUFFER_BYTES / PIECES)
    }

    /// The place of four elements that it computes.
    fn of_own(&self, text: &mut Text, nth: usize) -> String {
        let swizzled = text.set32("xor.b32", format_args!("{}, {}", self.swizzle, 4 * SIDE * nth));
        text.set32("add.u32", format_args!("{}, {swizzled}", self.own)).to_string()
    }

    /// The elements that the thread computes.
    fn own(&self, text: &mut Text, bank: Bank) -> Vec<Partial> {
        (0..PIECES)
            .flat_map(|nth| {
                let place = self.of_own(text, nth);
                load(text, bank, &place)
            })
            .collect()
    }
}

fn load(text: &mut Text, bank: Bank, place: &str) -> [Partial; SIDE] {
    let four = [(); SIDE].map(|()| text.register(bank));
    let [a, b, c, d] = four;
    text.line(format_args!("ld.shared.v4.{} {{{a}, {b}, {c}, {d}}}, [{place}]", bank.type_name()));
    four.map(|value| Partial { value, index: None })
}

fn put(text: &mut Text, place: &str, four: &[Partial]) {
    let [a, b, c, d] = [0, 1, 2, 3].map(|at| four[at].value);
    text.line(format_args!("st.shared.v4.{} [{place}], {{{a}, {b}, {c}, {d}}}", a.bank.type_name()));
}

/// Computes a tile, and stores its results.
pub(super) fn write(
    text: &mut Text,
    code: &KernelCode<'_>,
    body: Option<&Body<'_>>,
    place: &Thread,
    form: ReduceForm,
) {
    let combining = code.combining;
    let bank = combining.bank();
    let buffer = Buffer::new(text, code, place.thread);
    // In a whole tile no element is checked, and all loads are under way at one time.
    let behind = |piece: usize| piece * BLOCK as usize * SIDE;
    let is_ragged = text.test("setp.lt.u32", format_args!("{}, {TILE}", place.len));
    let (ragged, loaded) = (text.label(), text.label());
    text.line(format_args!("@{is_ragged} bra {ragged}"));
    let whole: Vec<Elements> = (0..PIECES)
        .map(|piece| {
            let local = text.set32("add.u32", format_args!("{}, {}", place.first, behind(piece)));
            let addresses = code.along(text, &place.addresses, local);
            code.several(text, &addresses, SIDE, None)
        })
        .collect();
    fetch_ahead(text, code, place);
    for (piece, elements) in whole.iter().enumerate() {
        let four: Vec<Partial> = (0..SIDE).map(|at| code.partial(text, body, elements, at, None)).collect();
        put(text, &buffer.of_piece(piece), &four);
    }
    text.line(format_args!("bra {loaded}"));
    text.place(&ragged);
    for (piece, four) in steps::load(text, code, body, place).iter().enumerate() {
        put(text, &buffer.of_piece(piece), four);
    }
    text.place(&loaded);
    text.line(format_args!("bar.sync 0"));

    let own = buffer.own(text, bank);
    let up = upwards(text, combining, &own, BLOCK as usize);
    let leads = text.test("setp.eq.u32", format_args!("{}, 0", place.lane));
    text.guarded(leads, |text| combining.store_shared(text, WARPS, place.slot, up.total));
    text.line(format_args!("bar.sync 0"));
    let before = look_back::before(text, code, place, |text| {
        let warps = of_warps(text, combining, place, 0);
        combining.tree(text, warps)
    });
    let before = before_pieces(text, combining, before, place, 1)[0];
    let before = up.before(text, combining, before, place.lane);

    let own = buffer.own(text, bank);
    let levels = combining.levels(text, own, 2);
    let results = downwards(text, combining, &levels, before, form);
    // Only this thread reads the elements that it computes from.
    for (nth, four) in results.chunks(SIDE).enumerate() {
        let place = buffer.of_own(text, nth);
        put(text, &place, four);
    }
    text.line(format_args!("bar.sync 0"));
    let (ragged, end) = (text.label(), text.label());
    if let Access::Span { width } = code.class.operands[0].1 {
        text.line(format_args!("@{is_ragged} bra {ragged}"));
        for piece in 0..PIECES {
            let four = load(text, bank, &buffer.of_piece(piece));
            let (of, values) = finished(text, code, &four);
            let first = first(text, code, place, behind(piece)).1;
            store_span(text, of, first, &values, width.into(), &[]);
        }
        text.line(format_args!("bra {end}"));
    }
    text.place(&ragged);
    for piece in 0..PIECES {
        let four = load(text, bank, &buffer.of_piece(piece));
        store(text, code, place, &four, behind(piece));
    }
    text.place(&end);
}

/// Brings a later tile to the cache, one line per thread, while this tile waits for earlier tiles.
/// The tile is 1.5 tiles per multiprocessor ahead; a multiprocessor holds five tiles at once.
fn fetch_ahead(text: &mut Text, code: &KernelCode<'_>, place: &Thread) {
    let some = text.set32("mov.u32", format_args!("%nsmid"));
    let half = text.set32("shr.u32", format_args!("{some}, 1"));
    let some = text.set32("add.u32", format_args!("{some}, {half}"));
    let unit = text.set32("add.u32", format_args!("{}, {some}", place.unit));
    let (unit, inside) = code.inside(text, unit);
    let (row, tile) = code.segment(text, unit);
    let start = code.start(text, tile);
    let len = code.len(text, start, inside);
    let whole = text.test("setp.eq.u32", format_args!("{len}, {TILE}"));
    let rows = code.row(text, row);
    for (address, &(kind, access)) in
        code.tile(text, &rows, start).into_iter().zip(&code.class.operands).skip(1)
    {
        let (Access::Span { .. }, Some(element_type)) = (access, kind.element_type()) else { continue };
        let line = text.set64("mul.wide.u32", format_args!("{}, {LINE_BYTES}", place.thread));
        let line = text.set64("add.s64", format_args!("{line}, {address}"));
        let lines = TILE * element_type.len_bytes() / LINE_BYTES;
        let lines_there = text.set32("selp.b32", format_args!("{lines}, 0, {whole}"));
        let there = text.test("setp.lt.u32", format_args!("{}, {lines_there}", place.thread));
        for round in 0..lines.div_ceil(BLOCK as usize) {
            let behind = round * BLOCK as usize * LINE_BYTES;
            text.guarded(there, |text| text.line(format_args!("prefetch.global.L2 [{line}+{behind}]")));
        }
    }
}
