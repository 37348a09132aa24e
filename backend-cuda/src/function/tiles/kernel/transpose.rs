//! Operands that go through shared memory: loaded along their own axis, stored so that columns can
//! be read.

use super::Kernel;
use crate::function::{
    access::{Loaded, element, load, load_span},
    class::Access,
    index::moved,
    operands::Kind,
    text::{BLOCK, Bank, Reg, Text},
    tiles::shared::{VECTOR as SIDE, slot_bytes, stored},
};

impl Kernel<'_> {
    /// Loads the transposed inputs along their own axis, all of them before any is stored, and stores
    /// them in shared memory.
    pub(super) fn transpose(&self, text: &mut Text, steps: usize) {
        let (first, row) = self.place(text, self.high);
        let lines = BLOCK as usize / (self.high / SIDE);
        let mut base = 0;
        let mut all = Vec::new();
        let mut row_of_step = vec![row];
        for step in 1..steps {
            let next = text.set32("add.s32", format_args!("{row}, {}", step * lines));
            row_of_step.push(next);
        }
        for (operand, words) in self.transposed() {
            let (kind, access) = self.class.operands[operand];
            let Access::Transposed { width } = access else { continue };
            let width = usize::from(width);
            let start = moved(text, self.class.wide, self.corners[operand], first, self.words.other(operand));
            let mut address = moved(text, self.class.wide, start, row, self.words.inner(operand));
            let inner = text.parameter(Bank::B64, self.words.inner(operand));
            let stride = text.set64("mul.lo.u64", format_args!("{inner}, {lines}"));
            for (step, &row) in row_of_step.iter().enumerate() {
                if step > 0 {
                    address = text.set64("add.s64", format_args!("{address}, {stride}"));
                }
                let extents = (self.height, self.width);
                let guards = self.guards(text, (first, row), extents, self.wide, width);
                let along = (self.words.other(operand), width);
                let loaded = self.group_of(text, kind, address, along, &guards);
                all.push((kind, base, row, loaded));
            }
            base += 4 * words;
        }
        for (kind, base, row, loaded) in all {
            let bytes = slot_bytes(kind);
            let line = text.set32("mad.lo.s32", format_args!("{row}, {}, {first}", self.high + 1));
            let tile = text.set32("mov.u32", format_args!("tile"));
            let address = text.set32("mad.lo.s32", format_args!("{line}, {bytes}, {tile}"));
            let inside = text.test("setp.lt.s32", format_args!("{row}, {}", self.wide));
            for (at, loaded) in loaded.into_iter().enumerate() {
                let value = element(text, stored(kind), loaded);
                let offset = base + at * bytes;
                text.guarded(inside, |text| {
                    text.line(format_args!(
                        "st.shared.{} [{address}+{offset}], {value}",
                        value.bank.type_name()
                    ))
                });
            }
        }
    }

    /// The elements of a group, with an access for each guard: `width` elements side by side, or one
    /// by one, a stride in the parameter apart; positions as they are.
    pub(super) fn group_of(
        &self,
        text: &mut Text,
        kind: Kind,
        first: Reg,
        (stride, width): (usize, usize),
        guards: &[Reg],
    ) -> Vec<Loaded> {
        if width > 1 {
            return load_span(text, kind.space(), stored(kind), first, (SIDE, width), guards);
        }
        let stride = text.parameter(Bank::B64, stride);
        let mut address = first;
        let mut loaded = Vec::new();
        for (at, &guard) in guards.iter().enumerate() {
            if at > 0 {
                address = text.set64("add.s64", format_args!("{address}, {stride}"));
            }
            loaded.push(load(text, kind, address, Some(guard)));
        }
        loaded
    }
}
