//! Finishes and stores a total.

use devarray::function::primitive::Program;

use super::KernelCode;
use crate::function::{
    access::store_span,
    body::{Body, Differs},
    index::nth,
    reduce::{combining::Partial, exchange::len_bytes},
    text::{Bank, Reg, Text},
};

impl KernelCode<'_> {
    /// Stores the total of a segment: finished, at the address of the result; or as a partial, at the
    /// number of the unit.
    pub(in crate::function::reduce) fn conclude(
        &self,
        text: &mut Text,
        total: Partial,
        start: Reg,
        unit: Reg,
        result: Reg,
    ) {
        let mut total = total;
        if let Some(index) = total.index.filter(|index| index.bank == Bank::B32) {
            let index = text.set64("cvt.u64.u32", format_args!("{index}"));
            let start = match start.bank {
                Bank::B64 => start,
                _ => text.set64("cvt.u64.u32", format_args!("{start}")),
            };
            total.index = Some(text.set64("add.u64", format_args!("{index}, {start}")));
        }
        let Some(finish) = &self.kernel.finish else {
            for (word, register) in [0, self.words.indices].into_iter().zip(total.registers()) {
                let address = text.parameter(Bank::B64, word);
                self.store_partial(text, address, unit, register);
            }
            return;
        };
        let value = self.outcome(text, total, (finish, self.words.finish_scalars));
        store_span(text, finish.result_type(), result, &[value], 1, &[]);
    }

    /// Stores a partial at the number of its unit.
    pub(in crate::function::reduce) fn store_partial(
        &self,
        text: &mut Text,
        base: Reg,
        unit: Reg,
        value: Reg,
    ) {
        let address = nth(text, base, unit, len_bytes(value.bank));
        text.line(format_args!("st.global.{} [{address}], {value}", value.bank.type_name()));
    }

    /// The outcome that a finish makes from a total. Its scalars begin at a word.
    pub(in crate::function::reduce) fn outcome(
        &self,
        text: &mut Text,
        total: Partial,
        finish: (&Program, usize),
    ) -> Reg {
        let total = self.combining.begun(text, total);
        let value = self.combining.decoded(text, total);
        self.finished(text, finish, value)
    }

    /// Like `outcome`, for a value.
    pub(in crate::function::reduce) fn finished(
        &self,
        text: &mut Text,
        (finish, scalars): (&Program, usize),
        value: Reg,
    ) -> Reg {
        let mut body = Body::new(finish, scalars, |_| Differs::ByElement);
        body.common(text, |_, _| value);
        body.alone(text, |_, _| value)
    }
}
