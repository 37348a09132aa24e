//! Passes partials between threads: in a warp by exchange, in a block through shared memory.
//!
//! Shared memory has a slot for each partial: all values, then all indices.

use std::ops::Range;

use super::combining::{Combining, Partial};
use crate::function::text::{Bank, Reg, Text};

impl Combining {
    /// The partial of another thread of the warp, which is `by` numbers away in the mode `down` or
    /// `bfly`.
    pub(super) fn shuffled(self, text: &mut Text, mode: &str, partial: Partial, by: usize) -> Partial {
        let index = partial.index.map(|index| shuffled(text, mode, index, by));
        Partial { value: shuffled(text, mode, partial.value, by), index }
    }

    /// Combines a thread's partial with partials of other threads in its warp, at doubling distances.
    /// Returns the result, and the partial received at each distance.
    pub(super) fn in_warp(
        self,
        text: &mut Text,
        mode: &str,
        mut partial: Partial,
        distances: Range<usize>,
    ) -> (Partial, Vec<Partial>) {
        let (mut by, mut others) = (distances.start, Vec::new());
        while by < distances.end {
            let other = self.shuffled(text, mode, partial, by);
            partial = self.combined(text, partial, other);
            others.push(other);
            by *= 2;
        }
        (partial, others)
    }

    /// The address of one of `slots` slots: for its value and for its index.
    fn slot(self, text: &mut Text, slots: usize, slot: Reg) -> Partial {
        let bytes = self.value_type().len_bytes();
        let tile = text.set32("mov.u32", format_args!("tile"));
        let value = text.set32("mad.lo.s32", format_args!("{slot}, {bytes}, {tile}"));
        let index = self.index.map(|bank| {
            let start = text.set32("add.s32", format_args!("{tile}, {}", slots * bytes));
            text.set32("mad.lo.s32", format_args!("{slot}, {}, {start}", len_bytes(bank)))
        });
        Partial { value, index }
    }

    pub(super) fn store_shared(self, text: &mut Text, slots: usize, slot: Reg, partial: Partial) {
        let place = self.slot(text, slots, slot);
        for (place, register) in place.registers().zip(partial.registers()) {
            text.line(format_args!("st.shared.{} [{place}], {register}", register.bank.type_name()));
        }
    }

    /// Loads `count` consecutive partials.
    pub(super) fn load_shared(self, text: &mut Text, slots: usize, slot: Reg, count: usize) -> Vec<Partial> {
        let Partial { value, index } = self.slot(text, slots, slot);
        let mut load = |bank: Bank, address: Reg, nth: usize| {
            let at = nth * len_bytes(bank);
            text.set(bank, &format!("ld.shared.{}", bank.type_name()), format_args!("[{address}+{at}]"))
        };
        (0..count)
            .map(|nth| {
                let value = load(self.bank(), value, nth);
                Partial {
                    value,
                    index: index.zip(self.index).map(|(address, bank)| load(bank, address, nth)),
                }
            })
            .collect()
    }

    /// Words of 4 bytes that the slots take.
    pub(super) fn shared_words(self, slots: usize) -> usize {
        let index = self.index.map_or(0, len_bytes);
        (slots * (self.value_type().len_bytes() + index)).div_ceil(4)
    }
}

/// Bytes of a register in memory.
pub(super) fn len_bytes(bank: Bank) -> usize {
    if matches!(bank, Bank::B64 | Bank::F64) { 8 } else { 4 }
}

fn shuffled(text: &mut Text, mode: &str, from: Reg, by: usize) -> Reg {
    let word = |text: &mut Text, word: Reg| {
        text.set32(&format!("shfl.sync.{mode}.b32"), format_args!("{word}, {by}, 31, -1"))
    };
    match from.bank {
        Bank::B64 => {
            let low = text.set32("cvt.u32.u64", format_args!("{from}"));
            let high = text.set64("shr.u64", format_args!("{from}, 32"));
            let high = text.set32("cvt.u32.u64", format_args!("{high}"));
            let (low, high) = (word(text, low), word(text, high));
            let low = text.set64("cvt.u64.u32", format_args!("{low}"));
            let high = text.set64("cvt.u64.u32", format_args!("{high}"));
            let high = text.set64("shl.b64", format_args!("{high}, 32"));
            text.set64("or.b64", format_args!("{low}, {high}"))
        }
        Bank::F64 => {
            let bits = text.set64("mov.b64", format_args!("{from}"));
            let bits = shuffled(text, mode, bits, by);
            text.set(Bank::F64, "mov.b64", format_args!("{bits}"))
        }
        Bank::F32 => {
            let bits = text.set32("mov.b32", format_args!("{from}"));
            let bits = word(text, bits);
            text.set(Bank::F32, "mov.b32", format_args!("{bits}"))
        }
        _ => word(text, from),
    }
}
