//! The place of a thread: its positions along axes, and its addresses.

use super::{
    class::{Class, Words},
    text::{BLOCK, Bank, Reg, Text},
};

/// The number of the block, and of the thread in it.
pub(super) fn numbers(text: &mut Text) -> (Reg, Reg) {
    let block = text.set32("mov.u32", format_args!("%ctaid.x"));
    (block, text.set32("mov.u32", format_args!("%tid.x")))
}

/// The thread's number in the grid.
pub(super) fn thread(text: &mut Text) -> Reg {
    let (block, thread) = numbers(text);
    text.set32("mad.lo.s32", format_args!("{block}, {BLOCK}, {thread}"))
}

/// Quotient and remainder of a number divided by word `by` of the parameter. Numbers below 2^31 use
/// the divider in word `divider`.
pub(super) fn divided(text: &mut Text, number: Reg, divider: usize, by: usize) -> (Reg, Reg) {
    if number.bank == Bank::B64 {
        let by = text.parameter(Bank::B64, by);
        let quotient = text.set64("div.u64", format_args!("{number}, {by}"));
        let whole = text.set64("mul.lo.u64", format_args!("{quotient}, {by}"));
        return (quotient, text.set64("sub.u64", format_args!("{number}, {whole}")));
    }
    let magic = text.parameter(Bank::B32, divider);
    let shift = text.parameter_high(divider);
    let high = text.set32("mul.hi.u32", format_args!("{number}, {magic}"));
    let sum = text.set32("add.u32", format_args!("{high}, {number}"));
    let quotient = text.set32("shr.u32", format_args!("{sum}, {shift}"));
    let by = text.parameter(Bank::B32, by);
    let whole = text.set32("mul.lo.u32", format_args!("{quotient}, {by}"));
    (quotient, text.set32("sub.u32", format_args!("{number}, {whole}")))
}

/// Loads the address of each operand's first element.
pub(super) fn bases(text: &mut Text, operands: usize) -> Vec<Reg> {
    (0..operands).map(|operand| text.parameter(Bank::B64, operand)).collect()
}

/// The operands' addresses at a row, or at a tile's corner: their first elements, moved along the
/// outer axes by the number of the row.
pub(super) fn rows(text: &mut Text, class: &Class, words: Words, row: Option<Reg>) -> Vec<Reg> {
    let mut addresses = bases(text, class.operands.len());
    if let Some(row) = row {
        let axes = (0..class.outer.into()).map(|axis| words.axis(axis));
        walk(text, class.wide, &mut addresses, row, axes, |_| true);
    }
    addresses
}

/// Moves the operands' addresses to a position of several axes, which are counted as one axis.
/// `axes` are the words with the divider of each axis, the innermost first. The extent and the
/// operands' strides follow each.
pub(super) fn walk(
    text: &mut Text,
    wide: bool,
    addresses: &mut [Reg],
    number: Reg,
    axes: impl Iterator<Item = usize>,
    moves: impl Fn(usize) -> bool,
) {
    let (mut rest, mut axes) = (number, axes.peekable());
    while let Some(at) = axes.next() {
        let mut step = rest;
        if axes.peek().is_some() {
            (rest, step) = divided(text, rest, at, at + 1);
        }
        for (operand, address) in addresses.iter_mut().enumerate().filter(|(operand, _)| moves(*operand)) {
            *address = moved(text, wide, *address, step, at + 2 + operand);
        }
    }
}

/// An address moved by some steps. The stride is in a word of the parameter.
pub(super) fn moved(text: &mut Text, wide: bool, address: Reg, steps: Reg, stride: usize) -> Reg {
    if !wide {
        let stride = text.parameter(Bank::B32, stride);
        return text.set64("mad.wide.s32", format_args!("{steps}, {stride}, {address}"));
    }
    let stride = text.parameter(Bank::B64, stride);
    let steps = match steps.bank {
        Bank::B64 => steps,
        _ => text.set64("cvt.s64.s32", format_args!("{steps}")),
    };
    text.set64("mad.lo.s64", format_args!("{steps}, {stride}, {address}"))
}

/// An address moved by some steps of `bytes`.
pub(super) fn moved_by(text: &mut Text, address: Reg, steps: Reg, bytes: i64) -> Reg {
    text.set64("mad.wide.s32", format_args!("{steps}, {bytes}, {address}"))
}

/// The address of element `number` of elements that lie side by side.
pub(super) fn nth(text: &mut Text, base: Reg, number: Reg, bytes: usize) -> Reg {
    let number = text.set64("cvt.u64.u32", format_args!("{number}"));
    text.set64("mad.lo.s64", format_args!("{number}, {bytes}, {base}"))
}
