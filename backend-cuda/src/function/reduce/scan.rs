//! Writes kernels of scans: the threads of a block, or of a part of one, process a tile of a row.
//!
//! Totals of aligned blocks of elements are built upwards: in a thread, in its warp by exchange, in
//! the block through shared memory. Then the total before each element is built downwards: from the
//! total before the tile and the totals of the blocks to the left of the element, the largest
//! first.

mod steps;
mod transposed_tiles;

use super::{
    combining::Partial,
    kernel::{ScanPass, ScanTile},
    kernel_code::{KernelCode, unit},
    look_back::{self, Thread},
    sizes::{RESIDENT, SIDE, WARP, WARPS},
};
use crate::function::{
    index::nth,
    text::{Bank, Text},
};
use steps::{before_pieces, downwards, load, of_warps, store, upwards};

/// Writes a kernel. Returns the words of shared memory.
pub(super) fn write(text: &mut Text, code: &KernelCode<'_>, size: ScanTile, pass: ScanPass) -> usize {
    let ScanTile { threads, pieces } = size;
    let combining = code.combining;
    let looks_back = matches!(pass, ScanPass::LookBack { .. });
    let is_transposed = looks_back && pieces == transposed_tiles::PIECES;
    if pieces > 1 {
        text.resident(if is_transposed { transposed_tiles::RESIDENT } else { RESIDENT });
    }
    let (thread, _, unit) = unit(text, threads);
    let (mut unit, inside) = code.inside(text, unit);
    if looks_back {
        unit = look_back::unit(text, code, thread);
    }
    let (row, tile) = code.segment(text, unit);
    let start = code.start(text, tile);
    let len = code.len(text, start, inside);
    let rows = code.row(text, row);
    let body = code.body(text, &rows);
    let number = text.set32("and.b32", format_args!("{thread}, {}", threads - 1));
    let slots = if is_transposed { WARPS } else { pieces * WARPS };
    let place = Thread {
        unit,
        row,
        tile,
        addresses: code.tile(text, &rows, start),
        first: text.set32("mul.lo.u32", format_args!("{number}, {SIDE}")),
        len,
        lane: text.set32("and.b32", format_args!("{thread}, 31")),
        // A tile that has warps of its own begins at the first of them.
        slot: text.set32("shr.u32", format_args!("{thread}, 5")),
        thread: number,
        size,
        slots,
    };
    if let (ScanPass::LookBack { form }, true) = (pass, is_transposed) {
        // All tiles of this size have elements, because there is one block for each tile.
        transposed_tiles::write(text, code, body.as_ref(), &place, form);
        return transposed_tiles::shared_words(code);
    }
    let elements = load(text, code, body.as_ref(), &place);

    // First the upward part. A thread keeps the totals on its way, or loads its elements again if
    // the totals do not fit registers.
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
    // If this is asked for, a row has several tiles, and each tile has a whole block.
    let total = |text: &mut Text| {
        let all = (0..pieces).flat_map(|piece| of_warps(text, combining, &place, piece)).collect();
        combining.tree(text, all)
    };
    let scanned = match pass {
        ScanPass::Totals => {
            text.branch_if("setp.ne.u32", format_args!("{number}, 0"), &exit);
            let total = total(text);
            code.conclude(text, total, start, unit, rows[0]);
            None
        }
        ScanPass::LookBack { form } => Some((form, look_back::before(text, code, &place, total))),
        ScanPass::Elements { form, carried: true } => {
            let base = text.parameter(Bank::B64, code.words.carry);
            let bank = combining.bank();
            let at = nth(text, base, unit, combining.value_type().len_bytes());
            let value = text.set(bank, &format!("ld.global.nc.{}", bank.type_name()), format_args!("[{at}]"));
            Some((form, Partial { value, index: None }))
        }
        ScanPass::Elements { form, carried: false } => {
            Some((form, Partial { value: combining.identity(text), index: None }))
        }
    };
    if let Some((form, before)) = scanned {
        let before = before_pieces(text, combining, before, &place, pieces);
        for (piece, before) in before.into_iter().enumerate() {
            let elements = &elements[piece];
            let up = known.pop().unwrap_or_else(|| upwards(text, combining, elements, threads));
            let before = up.before(text, combining, before, place.lane);
            let values = downwards(text, combining, &up.levels, before, form);
            store(text, code, &place, &values, piece * threads * SIDE);
        }
    }
    text.place(&exit);
    let slot_words = if threads > WARP { combining.shared_words(slots) } else { 0 };
    slot_words + if looks_back { look_back::WORDS } else { 0 }
}
