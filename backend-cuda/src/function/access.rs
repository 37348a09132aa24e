//! Loads and stores of elements: singly, or packed in accesses of up to 16 bytes.

use std::fmt;

use devarray::function::{
    ElementType,
    primitive::{Instruction, RegisterType},
};

use super::{
    class::Class,
    operands::Kind,
    text::{Bank, Reg, Text},
    truth,
};

/// A loaded element: its own register, or a part of a shared one.
#[derive(Debug, Clone, Copy)]
pub(super) enum Loaded {
    Whole(Reg),
    Part { word: Reg, byte: usize },
}

/// The bank of the element's register in the program.
pub(super) fn bank(element_type: ElementType) -> Bank {
    Bank::of(RegisterType::of(element_type))
}

/// Loads one element into the register that the program reads. `address` is the text between the
/// brackets.
pub(super) fn load_one(
    text: &mut Text,
    space: &str,
    element_type: ElementType,
    address: fmt::Arguments<'_>,
) -> Reg {
    let (bank, type_name) = alone(element_type);
    let loaded = text.set(bank, &format!("ld.{space}.{type_name}"), format_args!("[{address}]"));
    element(text, element_type, Loaded::Whole(loaded))
}

/// The register of an element that is loaded singly, and the type in the load instruction.
fn alone(element_type: ElementType) -> (Bank, &'static str) {
    match element_type {
        ElementType::Bool | ElementType::U8 => (Bank::B32, "u8"),
        ElementType::I8 => (Bank::B32, "s8"),
        ElementType::I16 => (Bank::B32, "s16"),
        ElementType::U16 | ElementType::F16 | ElementType::BF16 => (Bank::B32, "u16"),
        other => (bank(other), bank(other).type_name()),
    }
}

/// Loads an input that is the same for all elements of a thread: from the operand at one of these
/// addresses, or its position.
pub(super) fn load_uniform(text: &mut Text, class: &Class, at: &[Reg], instruction: Instruction) -> Reg {
    let operand = class.operand(instruction);
    let (kind, address) = (class.operands[operand].0, at[operand]);
    match kind.element_type() {
        Some(element_type) => load_one(text, kind.space(), element_type, format_args!("{address}")),
        None => address,
    }
}

/// Loads one element of an operand if the guard is true. A position is its own address: nothing is
/// loaded.
pub(super) fn load(text: &mut Text, kind: Kind, address: Reg, guard: Option<Reg>) -> Loaded {
    let Some(element_type) = kind.element_type() else { return Loaded::Whole(address) };
    load_span(text, kind.space(), element_type, address, (1, 1), guard.as_slice())[0]
}

/// Loads `count` consecutive elements, `width` of them with each access. Each access happens only
/// if its guard is true; without guards, all happen.
pub(super) fn load_span(
    text: &mut Text,
    space: &str,
    element_type: ElementType,
    address: Reg,
    (count, width): (usize, usize),
    guards: &[Reg],
) -> Vec<Loaded> {
    let accesses = load_accesses(text, space, element_type, address, (count, width), guards);
    let size = element_type.len_bytes();
    let elements =
        |word: Reg, bytes: usize| (0..bytes).step_by(size).map(move |byte| Loaded::Part { word, byte });
    let mut loaded = Vec::with_capacity(count);
    for Words { registers, .. } in accesses {
        for word in registers {
            if width == 1 || size >= 4 {
                loaded.push(Loaded::Whole(word));
            } else {
                loaded.extend(elements(word, (width * size).min(4)));
            }
        }
    }
    loaded
}

/// The registers of one access, in the order of memory.
#[derive(Debug)]
pub(super) struct Words {
    registers: Vec<Reg>,
    type_name: &'static str,
}

/// Loads `count` consecutive elements that begin some bytes after an address, as raw accesses.
pub(super) fn load_accesses(
    text: &mut Text,
    space: &str,
    element_type: ElementType,
    address: Reg,
    (count, width): (usize, usize),
    guards: &[Reg],
) -> Vec<Words> {
    let size = element_type.len_bytes();
    let (bank, type_name) = match width * size {
        _ if width == 1 => alone(element_type),
        2 => (Bank::B32, "u16"),
        _ if size < 4 => (Bank::B32, Bank::B32.type_name()),
        _ => (bank(element_type), bank(element_type).type_name()),
    };
    let registers = if width == 1 { 1 } else { (width * size).div_ceil(size.max(4)) };
    let one = |(piece, first): (usize, usize)| {
        let registers: Vec<Reg> = (0..registers).map(|_| text.register(bank)).collect();
        let (list, vector) = listed(&registers);
        let at = first * size;
        text.guard(guards.get(piece).copied());
        text.line(format_args!("ld.{space}{vector}.{type_name} {list}, [{address}+{at}]"));
        text.guard(None);
        Words { registers, type_name }
    };
    (0..count).step_by(width).enumerate().map(one).collect()
}

/// Stores the loaded elements to shared memory. Accesses are `step` bytes apart.
pub(super) fn store_accesses(
    text: &mut Text,
    accesses: &[Words],
    (address, behind, step): (Reg, usize, usize),
    guard: Reg,
) {
    for (nth, Words { registers, type_name }) in accesses.iter().enumerate() {
        let (list, vector) = listed(registers);
        // A byte has no sign in memory.
        let type_name = type_name.replace("s8", "u8").replace("s16", "u16");
        let at = behind + nth * step;
        text.guarded(guard, |text| {
            text.line(format_args!("st.shared{vector}.{type_name} [{address}+{at}], {list}"));
        });
    }
}

/// The register of a loaded element of an operand, or of a position, as the program reads it.
pub(super) fn unpacked(text: &mut Text, kind: Kind, loaded: Loaded) -> Reg {
    match (kind.element_type(), loaded) {
        (Some(element_type), loaded) => element(text, element_type, loaded),
        (None, Loaded::Whole(register) | Loaded::Part { word: register, .. }) => register,
    }
}

/// The register of a loaded element, as the program reads it.
pub(super) fn element(text: &mut Text, element_type: ElementType, loaded: Loaded) -> Reg {
    match (loaded, element_type) {
        (Loaded::Whole(register), ElementType::Bool) => truth::nonzero(text, register),
        (Loaded::Whole(register), _) => register,
        (Loaded::Part { word, byte }, ElementType::Bool) => {
            let mask = 0xff_u32 << (8 * byte);
            let bits = text.set32("and.b32", format_args!("{word}, {mask:#x}"));
            truth::nonzero(text, bits)
        }
        // `bfe.s32` cannot be used: assemblers up to at least CUDA 13.0 turn `cvt.rn.f64.u32` of
        // its 16 bits into a signed conversion. For `prmt`, the number of a byte plus 8 means that
        // byte's sign, eight times.
        (Loaded::Part { word, byte }, ElementType::I8) => {
            let sign = byte + 8;
            text.set32("prmt.b32", format_args!("{word}, 0, 0x{sign:x}{sign:x}{sign:x}{byte}"))
        }
        (Loaded::Part { word, byte }, ElementType::I16) => {
            let (high, sign) = (byte + 1, byte + 9);
            text.set32("prmt.b32", format_args!("{word}, 0, 0x{sign:x}{sign:x}{high}{byte}"))
        }
        (Loaded::Part { word, byte }, _) => {
            let bits = 8 * element_type.len_bytes();
            text.set32("bfe.u32", format_args!("{word}, {}, {bits}", 8 * byte))
        }
    }
}

/// Stores consecutive elements, `width` of them with each access. Each access happens only if its
/// guard is true; without guards, all happen.
pub(super) fn store_span(
    text: &mut Text,
    element_type: ElementType,
    address: Reg,
    values: &[Reg],
    width: usize,
    guards: &[Reg],
) {
    store_to(text, "global", element_type, address, values, width, guards);
}

/// Like `store_span`, to a given kind of memory.
pub(super) fn store_to(
    text: &mut Text,
    space: &str,
    element_type: ElementType,
    address: Reg,
    values: &[Reg],
    width: usize,
    guards: &[Reg],
) {
    let size = element_type.len_bytes();
    let bits: Vec<Reg> = values
        .iter()
        .map(|&value| match element_type {
            ElementType::Bool => truth::word(text, value),
            _ => value,
        })
        .collect();
    for (piece, group) in bits.chunks(width).enumerate() {
        let at = piece * width * size;
        let words = if size < 4 && width > 1 { packed(text, group, size) } else { group.to_vec() };
        let type_name = match width * size {
            1 => "u8",
            2 => "u16",
            _ => words[0].bank.type_name(),
        };
        let (list, vector) = listed(&words);
        text.guard(guards.get(piece).copied());
        text.line(format_args!("st.{space}{vector}.{type_name} [{address}+{at}], {list}"));
        text.guard(None);
    }
}

/// Packs the low bytes of registers into words of 4 bytes, or into one word of 2 bytes if that
/// holds them all.
fn packed(text: &mut Text, values: &[Reg], size: usize) -> Vec<Reg> {
    let mut join = |values: &[Reg], bytes: &str| -> Vec<Reg> {
        let pair = |pair: &[Reg]| text.set32("prmt.b32", format_args!("{}, {}, {bytes}", pair[0], pair[1]));
        values.chunks(2).map(pair).collect()
    };
    let pairs = if size == 1 { join(values, "0x3340") } else { values.to_vec() };
    if pairs.len() == 1 { pairs } else { join(&pairs, "0x5410") }
}

/// The text of registers as the operand of a load or store, and the suffix of the instruction's
/// name for their number.
fn listed(registers: &[Reg]) -> (String, &'static str) {
    let names: Vec<String> = registers.iter().map(Reg::to_string).collect();
    match names.len() {
        1 => (names.concat(), ""),
        2 => (format!("{{{}}}", names.join(", ")), ".v2"),
        _ => (format!("{{{}}}", names.join(", ")), ".v4"),
    }
}
