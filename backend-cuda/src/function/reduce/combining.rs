//! Combines two partials of a reduction to one, in registers.
//!
//! Sums and products are combined directly. The least and the greatest are found by keys: integers
//! in the order of the elements, with NaN before or after all others, so that one instruction
//! combines two. An absent element counts as the neutral element, which changes no value: −0 for a
//! sum of floats, 1 for a product, the last key for an extreme.

use devarray::function::{Combine, ElementType, primitive::RegisterType};

use crate::function::{
    text::{Bank, Reg, Text},
    truth::{self, select},
};

/// The combination of some elements: a value or a key, and its position if that is needed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Partial {
    pub(super) value: Reg,
    pub(super) index: Option<Reg>,
}

impl Partial {
    /// The value, and the index if there is one.
    pub(super) fn registers(self) -> impl Iterator<Item = Reg> {
        std::iter::once(self.value).chain(self.index)
    }
}

/// Whether the result is a position.
pub(super) fn is_of_position(combine: Combine) -> bool {
    matches!(combine, Combine::ArgMinimum | Combine::ArgMaximum)
}

/// The combination of partials of elements of one type.
#[derive(Debug, Clone, Copy)]
pub(super) struct Combining {
    pub(super) combine: Combine,
    pub(super) element_type: ElementType,
    /// The bank of indices: 32 bits inside a segment.
    pub(super) index: Option<Bank>,
}

impl Combining {
    /// If `whole`, indices count the elements of a row, not of a segment.
    pub(super) fn new(combine: Combine, element_type: ElementType, whole: bool) -> Self {
        let bank = if whole { Bank::B64 } else { Bank::B32 };
        Self { combine, element_type, index: is_of_position(combine).then_some(bank) }
    }

    fn is_sum(self) -> bool {
        matches!(self.combine, Combine::Sum | Combine::Product)
    }

    /// Whether partials must be combined in the order of their pairs, because results are rounded.
    pub(super) fn has_order(self) -> bool {
        self.is_sum() && matches!(self.element_type, ElementType::F32 | ElementType::F64)
    }

    fn greater(self) -> bool {
        matches!(self.combine, Combine::Maximum | Combine::ArgMaximum)
    }

    /// The type of values and keys in memory.
    pub(super) fn value_type(self) -> ElementType {
        match self.element_type {
            ElementType::F64 if self.is_sum() => ElementType::F64,
            ElementType::F32 if self.is_sum() => ElementType::F32,
            ElementType::F64 | ElementType::I64 | ElementType::U64 => ElementType::U64,
            _ => ElementType::U32,
        }
    }

    pub(super) fn bank(self) -> Bank {
        Bank::of(RegisterType::of(self.value_type()))
    }

    /// The integer type of keys.
    fn key(self) -> &'static str {
        match self.element_type {
            ElementType::U64 => "u64",
            ElementType::F64 | ElementType::I64 => "s64",
            ElementType::U32 => "u32",
            _ => "s32",
        }
    }

    /// The key after all others, or before all others.
    fn last_key(self, behind: bool) -> String {
        match (self.key(), behind) {
            ("u64" | "u32", false) => "0".to_owned(),
            ("u64", true) => format!("{:#x}", u64::MAX),
            ("u32", true) => format!("{:#x}", u32::MAX),
            ("s64", true) => format!("{:#x}", i64::MAX),
            ("s64", false) => format!("{:#x}", i64::MIN),
            (_, true) => format!("{:#x}", i32::MAX),
            (_, false) => format!("{:#x}", i32::MIN),
        }
    }

    /// The key of NaN, which goes first.
    pub(super) fn nan_key(self) -> String {
        self.last_key(self.greater())
    }

    /// A new register with the neutral element.
    pub(super) fn neutral_value(self, text: &mut Text) -> Reg {
        let bank = self.bank();
        let bits = match (self.combine, bank) {
            (Combine::Sum, Bank::F32) => "0f80000000".to_owned(),
            (Combine::Sum, Bank::F64) => "0d8000000000000000".to_owned(),
            (Combine::Product, Bank::F32) => "0f3F800000".to_owned(),
            (Combine::Product, Bank::F64) => "0d3FF0000000000000".to_owned(),
            (Combine::Sum, _) => "0".to_owned(),
            (Combine::Product, _) => "1".to_owned(),
            _ => self.last_key(!self.greater()),
        };
        text.set(bank, &format!("mov.{}", bank.type_name()), format_args!("{bits}"))
    }

    /// New registers with the neutral element, whose index is after all others.
    pub(super) fn neutral(self, text: &mut Text) -> Partial {
        let index = self.index.map(|bank| {
            let last = if bank == Bank::B64 { i64::MAX } else { i32::MAX.into() };
            text.set(bank, &format!("mov.{}", bank.type_name()), format_args!("{last}"))
        });
        Partial { value: self.neutral_value(text), index }
    }

    /// The value or key of an element that a program computed.
    pub(super) fn encoded(self, text: &mut Text, element: Reg) -> Reg {
        if self.is_sum() {
            return element;
        }
        let nan = self.nan_key();
        match self.element_type {
            ElementType::Bool => truth::word(text, element),
            ElementType::F32 | ElementType::F64 => {
                let (bank, bits, zero) = if element.bank == Bank::F32 {
                    (Bank::B32, 32, "0f00000000")
                } else {
                    (Bank::B64, 64, "0d0000000000000000")
                };
                let name = element.bank.type_name();
                let number = text.test(&format!("setp.num.{name}"), format_args!("{element}, {element}"));
                // If the position is asked for, zeros of either sign are equal.
                let value = match self.index {
                    Some(_) => {
                        text.set(element.bank, &format!("add.rn.{name}"), format_args!("{element}, {zero}"))
                    }
                    None => element,
                };
                let raw = text.set(bank, &format!("mov.b{bits}"), format_args!("{value}"));
                let key = self.ordered(text, raw);
                text.set(bank, &format!("selp.b{bits}"), format_args!("{key}, {nan}, {number}"))
            }
            ElementType::F16 | ElementType::BF16 => {
                let magnitude = text.set32("and.b32", format_args!("{element}, 0x7fff"));
                let infinity = if self.element_type == ElementType::F16 { 0x7c00 } else { 0x7f80 };
                let number = text.test("setp.le.u32", format_args!("{magnitude}, {infinity}"));
                let signed = text.set32("bfe.s32", format_args!("{element}, 0, 16"));
                let mut key = self.ordered(text, signed);
                if self.index.is_some() {
                    let zero = text.test("setp.eq.u32", format_args!("{magnitude}, 0"));
                    key = text.set32("selp.b32", format_args!("0, {key}, {zero}"));
                }
                text.set32("selp.b32", format_args!("{key}, {nan}, {number}"))
            }
            // Only the low bits of a narrow integer count.
            ElementType::I8 => text.set32("bfe.s32", format_args!("{element}, 0, 8")),
            ElementType::I16 => text.set32("bfe.s32", format_args!("{element}, 0, 16")),
            ElementType::U8 => text.set32("and.b32", format_args!("{element}, 0xff")),
            ElementType::U16 => text.set32("and.b32", format_args!("{element}, 0xffff")),
            _ => element,
        }
    }

    /// Turns the bits of floats into integers in the order of floats, and back: the magnitude is
    /// inverted if the sign is set. Bits of 16-bit types are sign-extended.
    fn ordered(self, text: &mut Text, bits: Reg) -> Reg {
        let (wide, magnitude) = match self.element_type {
            ElementType::F64 => (64, "0x7fffffffffffffff"),
            ElementType::F32 => (32, "0x7fffffff"),
            _ => (32, "0x7fff"),
        };
        let sign = text.set(bits.bank, &format!("shr.s{wide}"), format_args!("{bits}, {}", wide - 1));
        let mask = text.set(bits.bank, &format!("and.b{wide}"), format_args!("{sign}, {magnitude}"));
        text.set(bits.bank, &format!("xor.b{wide}"), format_args!("{bits}, {mask}"))
    }

    /// The input of the finish, from a partial: the value, or the position.
    pub(super) fn decoded(self, text: &mut Text, partial: Partial) -> Reg {
        if let Some(index) = partial.index {
            return index;
        }
        let key = partial.value;
        if self.is_sum() {
            return key;
        }
        let nan = self.nan_key();
        match self.element_type {
            ElementType::Bool => truth::nonzero(text, key),
            ElementType::F32 | ElementType::F64 => {
                let (bank, bits, canonical) = if key.bank == Bank::B32 {
                    (Bank::F32, 32, "0x7fc00000")
                } else {
                    (Bank::F64, 64, "0x7ff8000000000000")
                };
                let is_nan = text.test(&format!("setp.eq.u{bits}"), format_args!("{key}, {nan}"));
                let raw = self.ordered(text, key);
                let raw = text.set(
                    key.bank,
                    &format!("selp.b{bits}"),
                    format_args!("{canonical}, {raw}, {is_nan}"),
                );
                text.set(bank, &format!("mov.b{bits}"), format_args!("{raw}"))
            }
            ElementType::F16 | ElementType::BF16 => {
                let canonical = if self.element_type == ElementType::F16 { 0x7e00 } else { 0x7fc0 };
                let is_nan = text.test("setp.eq.u32", format_args!("{key}, {nan}"));
                let signed = self.ordered(text, key);
                let raw = text.set32("and.b32", format_args!("{signed}, 0xffff"));
                text.set32("selp.b32", format_args!("{canonical:#x}, {raw}, {is_nan}"))
            }
            _ => key,
        }
    }

    /// Combines a total with the initial value of a sum.
    pub(super) fn begun(self, text: &mut Text, total: Partial) -> Partial {
        match (self.combine, total.value.bank) {
            (Combine::Sum, Bank::F32 | Bank::F64) => {
                let zero = self.identity(text);
                self.combined(text, Partial { value: zero, index: None }, total)
            }
            _ => total,
        }
    }

    /// The total if there are no elements: +0, 1, or the neutral key.
    pub(super) fn identity(self, text: &mut Text) -> Reg {
        match (self.combine, self.bank()) {
            (Combine::Sum, Bank::F32) => text.set(Bank::F32, "mov.f32", format_args!("0f00000000")),
            (Combine::Sum, Bank::F64) => text.set(Bank::F64, "mov.f64", format_args!("0d0000000000000000")),
            _ => self.neutral_value(text),
        }
    }

    /// Combines two partials, in new registers.
    pub(super) fn combined(self, text: &mut Text, a: Partial, b: Partial) -> Partial {
        let (first, second) = (a.value, b.value);
        let bank = first.bank;
        let name = bank.type_name();
        let operation = match (self.combine, bank) {
            (Combine::Sum, Bank::F32 | Bank::F64) => format!("add.rn.{name}"),
            (Combine::Product, Bank::F32 | Bank::F64) => format!("mul.rn.{name}"),
            (Combine::Sum, _) => "add.u64".to_owned(),
            (Combine::Product, _) => "mul.lo.u64".to_owned(),
            (Combine::Minimum, _) => format!("min.{}", self.key()),
            (Combine::Maximum, _) => format!("max.{}", self.key()),
            (Combine::ArgMinimum | Combine::ArgMaximum, _) => return self.first(text, a, b),
        };
        Partial { value: text.set(bank, &operation, format_args!("{first}, {second}")), index: None }
    }

    /// The partial with the first key, or, if keys are equal, with the first index.
    fn first(self, text: &mut Text, a: Partial, b: Partial) -> Partial {
        let (Some(index_a), Some(index_b)) = (a.index, b.index) else { return a };
        let (key, wide) = (self.key(), if index_a.bank == Bank::B64 { "s64" } else { "s32" });
        let before = self.before(text, b.value, a.value);
        let same = text.test(&format!("setp.eq.{key}"), format_args!("{}, {}", b.value, a.value));
        let earlier = text.set(index_a.bank, &format!("min.{wide}"), format_args!("{index_a}, {index_b}"));
        let Partial { value, index } = selected(text, before, b, a);
        Partial { value, index: index.map(|index| select(text, same, earlier, index)) }
    }

    fn before(self, text: &mut Text, a: Reg, b: Reg) -> Reg {
        let by = if self.greater() { "gt" } else { "lt" };
        text.test(&format!("setp.{by}.{}", self.key()), format_args!("{a}, {b}"))
    }

    /// Combines two partials. All indices of `a` precede the index of `b`, or `a` is neutral, with an
    /// index that exists or is after all others.
    pub(super) fn followed(self, text: &mut Text, a: Partial, b: Partial) -> Partial {
        if self.index.is_none() {
            return self.combined(text, a, b);
        }
        let takes = self.before(text, b.value, a.value);
        selected(text, takes, b, a)
    }

    /// The value before a block, given the value before its pair. If the block is the right one of
    /// the pair, which bit `size` of its number says, the left one is combined with it. `lefts` are
    /// the left ones of all pairs.
    pub(super) fn preceding(
        self,
        text: &mut Text,
        before: Partial,
        lefts: &[Partial],
        number: Reg,
        size: usize,
    ) -> Partial {
        let mut left = lefts[0];
        for (pair, &other) in lefts.iter().enumerate().skip(1) {
            let behind = text.test("setp.ge.u32", format_args!("{number}, {}", pair * 2 * size));
            left = selected(text, behind, other, left);
        }
        let with = self.combined(text, before, left);
        let bit = text.set32("and.b32", format_args!("{number}, {size}"));
        let set = text.test("setp.ne.u32", format_args!("{bit}, 0"));
        selected(text, set, with, before)
    }

    /// Combines neighbours in pairs, then the results, until one is left.
    pub(super) fn tree(self, text: &mut Text, partials: Vec<Partial>) -> Partial {
        let levels = self.levels(text, partials, 1);
        levels[levels.len() - 1][0]
    }

    /// The levels of that tree: the partials, their combined pairs, the combined pairs of these, and
    /// so on, until at most `left` are left.
    pub(super) fn levels(self, text: &mut Text, partials: Vec<Partial>, left: usize) -> Vec<Vec<Partial>> {
        let mut levels = vec![partials];
        while let Some(below) = levels.last().filter(|level| level.len() > left) {
            let pair = |pair: &[Partial]| match *pair {
                [a, b] => self.combined(text, a, b),
                _ => pair[0],
            };
            let level = below.chunks(2).map(pair).collect();
            levels.push(level);
        }
        levels
    }
}

/// Sets registers that were written before.
pub(super) fn assign(text: &mut Text, to: Partial, from: Partial) {
    for (to, from) in to.registers().zip(from.registers()) {
        text.line(format_args!("mov.{} {to}, {from}", to.bank.type_name()));
    }
}

/// The first if the condition is true, otherwise the second.
pub(super) fn selected(text: &mut Text, condition: Reg, a: Partial, b: Partial) -> Partial {
    let value = select(text, condition, a.value, b.value);
    Partial { value, index: a.index.zip(b.index).map(|(a, b)| select(text, condition, a, b)) }
}
