//! The text of the kernel that brings a few bytes to the host.

use std::sync::OnceLock;

use devarray::function::{
    ElementType,
    primitive::{Constant, Program, ProgramBuilder},
};

use super::{
    class::{Class, Family},
    index::nth,
    parameter::Parameter,
    text::{Bank, Reg, Text},
};

/// The most words of 8 bytes that the kernel writes, one thread each; and the mark of a word, which
/// is stored together with its bytes.
pub(crate) const WORDS: usize = 16;
pub(crate) const MARK: u64 = 1 << 32;

/// The words of the parameter: where to write, where to read, and how many bytes.
const SLOT: usize = 0;
const SOURCE: usize = 1;
const LEN_BYTES: usize = 2;
const COUNT: usize = 3;

/// The number of bytes that a word carries besides its mark.
const EACH: usize = 4;

/// The program and class of the kernel.
pub(super) fn key() -> &'static (Program, Class) {
    static KEY: OnceLock<(Program, Class)> = OnceLock::new();
    KEY.get_or_init(|| {
        let mut nothing = ProgramBuilder::new(&[], &[]);
        let zero = nothing.constant(Constant::B32(0));
        let class = Class { family: Family::Fetch, outer: 0, wide: true, operands: Vec::new() };
        (nothing.finish(zero, ElementType::U32), class)
    })
}

/// The parameter for bringing bytes from one address to another.
pub(super) fn parameter(slot: u64, source: u64, len_bytes: usize) -> Parameter {
    Parameter::from_words(vec![slot, source, len_bytes as u64])
}

/// Writes the kernel. Each thread has one word, and stores its bytes and its mark at once.
pub(super) fn write() -> String {
    let mut text = Text::default();
    let exit = text.label();
    let thread = text.set32("mov.u32", format_args!("%tid.x"));
    let first = text.set32("mul.lo.u32", format_args!("{thread}, {EACH}"));
    let len = text.parameter(Bank::B32, LEN_BYTES);
    text.branch_if("setp.ge.u32", format_args!("{first}, {len}"), &exit);
    let source = text.parameter(Bank::B64, SOURCE);
    let source = nth(&mut text, source, thread, EACH);
    // It loads bytes, because a source may begin at any address.
    let bytes: Vec<Reg> = (0..EACH)
        .map(|nth| {
            let at = text.set32("add.u32", format_args!("{first}, {nth}"));
            let inside = text.test("setp.lt.u32", format_args!("{at}, {len}"));
            let byte = text.set32("mov.b32", format_args!("0"));
            text.guarded(inside, |text| text.line(format_args!("ld.global.u8 {byte}, [{source}+{nth}]")));
            byte
        })
        .collect();
    let mut word = bytes[0];
    for (nth, byte) in bytes.into_iter().enumerate().skip(1) {
        let byte = text.set32("shl.b32", format_args!("{byte}, {}", 8 * nth));
        word = text.set32("or.b32", format_args!("{word}, {byte}"));
    }
    let word = text.set64("cvt.u64.u32", format_args!("{word}"));
    let marked = text.set64("or.b64", format_args!("{word}, {MARK:#x}"));
    let slot = text.parameter(Bank::B64, SLOT);
    let slot = nth(&mut text, slot, thread, 2 * EACH);
    text.line(format_args!("st.volatile.global.b64 [{slot}], {marked}"));
    text.place(&exit);
    text.line(format_args!("ret"));
    text.finish(COUNT, 0)
}

const _: () = assert!(WORDS <= super::text::BLOCK as usize, "a thread for each word");
