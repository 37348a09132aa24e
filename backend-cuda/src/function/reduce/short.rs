//! Writes kernels of short rows: threads of one warp have a row, and a thread loads all its
//! elements of some rows before it combines them. If a row is longer than four elements for each
//! thread of a warp, the warp goes through it in chunks.

use super::{
    combining::{Partial, assign},
    kernel_code::{Elements, KernelCode},
    sizes::{SIDE, WARP},
};
use crate::function::{
    body::Body,
    index::numbers,
    text::{BLOCK, Bank, Reg, Text},
};

/// A row. A thread has four elements of each of its chunks.
struct Row<'a> {
    number: Reg,
    inside: Reg,
    addresses: Vec<Reg>,
    body: Option<Body<'a>>,
    /// Elements that were loaded together, and the one among them that belongs to each lane.
    loaded: Vec<(Elements, usize)>,
}

/// Writes a kernel: `threads` threads share `rows` rows of `chunks` chunks, and load four elements at once if
/// `vector` is set. Returns the words of shared memory.
pub(super) fn write(
    text: &mut Text,
    code: &KernelCode<'_>,
    (threads, rows, chunks, vector): (usize, usize, usize, bool),
) -> usize {
    let (block, thread) = numbers(text);
    let side = BLOCK as usize / threads;
    let of_block = text.set32("mul.lo.u32", format_args!("{block}, {}", rows * side));
    // A warp without rows ends before it reads anything. No other warp waits for it before storing
    // a result, and the host takes the inputs as read once it sees the result.
    let warp = text.set32("shr.u32", format_args!("{thread}, 5"));
    let of_warp = text.set32("mad.lo.u32", format_args!("{warp}, {}, {of_block}", WARP / threads));
    let units = text.parameter(Bank::B32, code.words.units);
    let exit = text.label();
    text.branch_if("setp.ge.u32", format_args!("{of_warp}, {units}"), &exit);
    let within = text.set32("shr.u32", format_args!("{thread}, {}", threads.trailing_zeros()));
    let first = text.set32("add.u32", format_args!("{of_block}, {within}"));
    let place = text.set32("and.b32", format_args!("{thread}, {}", threads - 1));
    let local = text.set32("mul.lo.u32", format_args!("{place}, {SIDE}"));
    let len = text.parameter(Bank::B32, code.words.row_len);
    let start = text.set32("mov.b32", format_args!("0"));
    let lanes: Vec<(Reg, Reg)> = (0..chunks * SIDE)
        .map(|lane| lane / SIDE * SIDE * threads + lane % SIDE)
        .map(|lane| {
            let at = text.set32("add.u32", format_args!("{local}, {lane}"));
            (at, text.test("setp.lt.u32", format_args!("{at}, {len}")))
        })
        .collect();

    let all: Vec<Row<'_>> =
        (0..rows).map(|nth| row(text, code, (first, nth * side), (&lanes, len), vector)).collect();
    for row in all {
        let partials: Vec<Partial> = row
            .loaded
            .iter()
            .zip(&lanes)
            .map(|((elements, at), &(index, there))| {
                let lane = code.neutral(text, index);
                let partial = code.partial(text, row.body.as_ref(), elements, *at, Some(index));
                let sum = code.added(text, lane, partial);
                text.guarded(there, |text| assign(text, lane, sum));
                lane
            })
            .collect();
        let mut of_chunks: Vec<Partial> =
            partials.chunks(SIDE).map(|four| code.combining.tree(text, four.to_vec())).collect();
        let mut by = 1;
        while by < threads {
            for partial in &mut of_chunks {
                let other = code.combining.shuffled(text, "down", *partial, by);
                *partial = code.combining.combined(text, *partial, other);
            }
            by *= 2;
        }
        let partial = code.combining.tree(text, of_chunks);
        let next = text.label();
        text.branch_if("setp.ne.u32", format_args!("{place}, 0"), &next);
        text.line(format_args!("@!{} bra {next}", row.inside));
        code.conclude(text, partial, start, row.number, row.addresses[0]);
        text.place(&next);
    }
    text.place(&exit);
    0
}

/// Loads a thread's elements of row `first` + `behind`. `len` is the row's length.
fn row<'a>(
    text: &mut Text,
    code: &KernelCode<'a>,
    (first, behind): (Reg, usize),
    (lanes, len): (&[(Reg, Reg)], Reg),
    vector: bool,
) -> Row<'a> {
    let number = text.set32("add.u32", format_args!("{first}, {behind}"));
    let (number, inside) = code.inside(text, number);
    let addresses = code.row(text, number);
    let body = code.body(text, &addresses);
    // Either all four exist, or none.
    let count = if vector { SIDE } else { 1 };
    let mut loaded = Vec::with_capacity(lanes.len());
    let len = text.set32("selp.b32", format_args!("{len}, 0, {inside}"));
    for &(at, _) in lanes.iter().step_by(count) {
        let guard = text.test("setp.lt.u32", format_args!("{at}, {len}"));
        let from = code.along(text, &addresses, at);
        let elements = code.several(text, &from, count, Some(guard));
        loaded.extend((0..count).map(|lane| (elements.clone(), lane)));
    }
    Row { number, inside, addresses, body, loaded }
}
