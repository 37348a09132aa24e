//! Where a thread is: positions along axes, and addresses.

use super::{
    class::{Class, Words},
    text::{BLOCK, Bank, Reg, Text},
};

/// The thread's number in the grid.
pub(super) fn thread(text: &mut Text) -> Reg {
    let block = text.set(Bank::B32, "mov.u32", format_args!("%ctaid.x"));
    let thread = text.set(Bank::B32, "mov.u32", format_args!("%tid.x"));
    text.set(Bank::B32, "mad.lo.s32", format_args!("{block}, {BLOCK}, {thread}"))
}

/// Quotient and remainder by a number below 2^31 that is in the parameter, with its divider.
pub(super) fn divided(text: &mut Text, number: Reg, divider: usize, by: usize) -> (Reg, Reg) {
    let magic = text.parameter(Bank::B32, divider);
    let shift = text.parameter_high(divider);
    let high = text.set(Bank::B32, "mul.hi.u32", format_args!("{number}, {magic}"));
    let sum = text.set(Bank::B32, "add.u32", format_args!("{high}, {number}"));
    let quotient = text.set(Bank::B32, "shr.u32", format_args!("{sum}, {shift}"));
    let by = text.parameter(Bank::B32, by);
    let whole = text.set(Bank::B32, "mul.lo.u32", format_args!("{quotient}, {by}"));
    (quotient, text.set(Bank::B32, "sub.u32", format_args!("{number}, {whole}")))
}

/// Addresses of a row, or of a tile's corner: those of the first elements, moved along the outer
/// axes by the number of the row.
pub(super) fn rows(text: &mut Text, class: &Class, words: Words, row: Option<Reg>) -> Vec<Reg> {
    let mut addresses: Vec<Reg> =
        (0..class.operands.len()).map(|operand| text.parameter(Bank::B64, words.base(operand))).collect();
    let outer = usize::from(class.outer);
    let Some(mut rest) = row.filter(|_| outer > 0) else { return addresses };
    for axis in 0..outer {
        let step = if axis + 1 == outer {
            rest
        } else {
            let (quotient, remainder) =
                divided(text, rest, words.axis_divider(axis), words.axis_extent(axis));
            rest = quotient;
            remainder
        };
        for (operand, address) in addresses.iter_mut().enumerate() {
            *address = moved(text, class.wide, *address, step, words.axis_stride(axis, operand));
        }
    }
    addresses
}

/// An address, some steps of the stride in a word of the parameter further.
pub(super) fn moved(text: &mut Text, wide: bool, address: Reg, steps: Reg, stride: usize) -> Reg {
    if wide {
        let stride = text.parameter(Bank::B64, stride);
        let steps = text.set(Bank::B64, "cvt.s64.s32", format_args!("{steps}"));
        return text.set(Bank::B64, "mad.lo.s64", format_args!("{steps}, {stride}, {address}"));
    }
    let stride = text.parameter(Bank::B32, stride);
    text.set(Bank::B64, "mad.wide.s32", format_args!("{steps}, {stride}, {address}"))
}

/// An address, some steps of that many bytes further.
pub(super) fn moved_by(text: &mut Text, address: Reg, steps: Reg, bytes: i64) -> Reg {
    text.set(Bank::B64, "mad.wide.s32", format_args!("{steps}, {bytes}, {address}"))
}
