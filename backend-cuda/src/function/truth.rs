//! Truth values, as words of 0 and 1.
//!
//! Assemblers of CUDA 12.4 and later simplify logic on predicates, and get some of it wrong
//! (`kernels/MISCOMPILED.md`). So no text combines predicates. A comparison sets a predicate, and
//! all other computation with truth values is arithmetic on words. A word becomes a predicate
//! only where it decides: in a selection or a branch. Every function here takes both forms.

use super::text::{Bank, Reg, Text};

/// The word of a truth value.
pub(super) fn word(text: &mut Text, value: Reg) -> Reg {
    match value.bank {
        Bank::Predicate => text.set32("selp.b32", format_args!("1, 0, {value}")),
        _ => value,
    }
}

/// The predicate of a truth value, to decide by.
pub(super) fn predicate(text: &mut Text, value: Reg) -> Reg {
    match value.bank {
        Bank::Predicate => value,
        _ => text.test("setp.ne.u32", format_args!("{value}, 0")),
    }
}

/// The word of "is not zero" of a register of 32 bits.
pub(super) fn nonzero(text: &mut Text, value: Reg) -> Reg {
    text.set32("min.u32", format_args!("{value}, 1"))
}

pub(super) fn not(text: &mut Text, value: Reg) -> Reg {
    match value.bank {
        Bank::Predicate => text.set32("selp.b32", format_args!("0, 1, {value}")),
        _ => text.set32("xor.b32", format_args!("{value}, 1")),
    }
}

pub(super) fn and(text: &mut Text, a: Reg, b: Reg) -> Reg {
    let (a, b) = if b.bank == Bank::Predicate { (b, a) } else { (a, b) };
    let b = word(text, b);
    match a.bank {
        Bank::Predicate => text.set32("selp.b32", format_args!("{b}, 0, {a}")),
        _ => text.set32("and.b32", format_args!("{a}, {b}")),
    }
}

pub(super) fn or(text: &mut Text, a: Reg, b: Reg) -> Reg {
    let (a, b) = if b.bank == Bank::Predicate { (b, a) } else { (a, b) };
    let b = word(text, b);
    match a.bank {
        Bank::Predicate => text.set32("selp.b32", format_args!("1, {b}, {a}")),
        _ => text.set32("or.b32", format_args!("{a}, {b}")),
    }
}

pub(super) fn xor(text: &mut Text, a: Reg, b: Reg) -> Reg {
    let (a, b) = (word(text, a), word(text, b));
    text.set32("xor.b32", format_args!("{a}, {b}"))
}

/// The first if the condition is true, else the second; a word where these are truth values.
pub(super) fn select(text: &mut Text, condition: Reg, a: Reg, b: Reg) -> Reg {
    let condition = predicate(text, condition);
    let (a, b) = (word(text, a), word(text, b));
    text.set(a.bank, &format!("selp.{}", a.bank.type_name()), format_args!("{a}, {b}, {condition}"))
}
