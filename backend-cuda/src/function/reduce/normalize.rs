//! A function of every element of rows that were reduced twice, and of both results. The kernel
//! still has the elements, or the values that the second reduction combined.

use devarray::{
    backend::{Buffer, MapOp, ReduceOp},
    function::{Combine, primitive::Instruction},
};

use super::{
    kernel::Last,
    kernel_code::{KernelCode, moved},
    reduce_operands::are_same,
    row_cache::{RowCache, Values},
    sizes::SIDE,
};
use crate::{
    function::{
        access::store_span,
        body::Body,
        class::Access,
        shared_divisor::Reciprocals,
        text::{Reg, Text},
    },
    memory::CudaBuffer,
};

impl Last {
    /// The last computation, if it reads only the inputs of the second reduction and its outcome.
    pub(super) fn new(second: &ReduceOp<'_, CudaBuffer>, last: &MapOp<'_, CudaBuffer>) -> Option<Self> {
        let (outcome, inputs) = last.inputs().split_last()?;
        let is_outcome = outcome.buffer().address() == second.result().buffer().address();
        if !(is_outcome && are_same(inputs, second.inputs()) && last.scalars().is_empty()) {
            return None;
        }
        let outcome = u8::try_from(inputs.len()).ok()?;
        // Partials of sums and products are the combined values themselves.
        let is_sum = matches!(second.combine(), Combine::Sum | Combine::Product);
        let known = last.program().with_known(second.program()).filter(|_| is_sum);
        // Only one of the two is kept: the combined value, if the element itself is not needed any
        // more.
        let combined = known.filter(|program| {
            let reads = |instruction: &Instruction| match *instruction {
                Instruction::Input(at) => at + 1 < outcome,
                Instruction::Position(_) => true,
                _ => false,
            };
            !program.instructions().iter().any(reads)
        });
        Some(match combined {
            Some(program) => Self { program, outcome, combined: Some(outcome + 1) },
            None => Self { program: last.program().clone(), outcome, combined: None },
        })
    }

    pub(super) fn is_combined(&self, instruction: Instruction) -> bool {
        self.combined.is_some_and(|at| instruction == Instruction::Input(at))
    }

    /// Computes and stores the elements of a thread.
    pub(super) fn store(
        &self,
        text: &mut Text,
        code: &KernelCode<'_>,
        body: &Body<'_>,
        (cache, values): (&RowCache<'_>, Option<&Values>),
        row: Reg,
    ) {
        let of = self.program.result_type();
        let Access::Span { width } = code.class.operands[0].1 else {
            unreachable!("elements of the result lie side by side")
        };
        let to = moved(text, row, cache.first, code.words.along(0));
        // There is no branch per element. If one of four is out of range, the four are computed the
        // plain way.
        let reciprocals = (body.reciprocal_divisions() > 0).then(|| Reciprocals::begin(text));
        let known = reciprocals.map(|reciprocals| {
            body.line(text, Some(reciprocals), |_, _| {
                unreachable!("elements differ, or are the same for all")
            })
        });
        let behind = Combine::LANES * of.len_bytes();
        cache.each(text, |text, step| {
            let values = values.map(|values| values.of(text, step));
            let to = match step.number {
                Some(steps) => text.set64("add.s64", format_args!("{to}, {}", steps * behind)),
                None => to,
            };
            let guards = step.there.map_or_else(Vec::new, |there| vec![there; SIDE / usize::from(width)]);
            let source = |text: &mut Text, at: usize, instruction| match &values {
                Some(values) if self.is_combined(instruction) => values[at],
                _ => code.element(text, step.elements, at, instruction),
            };
            let (plain, next) = (text.label(), text.label());
            if let (Some(reciprocals), Some(known)) = (reciprocals, &known) {
                let sound = reciprocals.divisors_are_in_range(text);
                text.line(format_args!("@!{sound} bra {plain}"));
                let lines = std::iter::repeat_n(known, SIDE);
                let results = body.elements(text, lines, Some(reciprocals), source);
                let sound = reciprocals.numbers_are_in_range(text);
                text.line(format_args!("@!{sound} bra {plain}"));
                store_span(text, of, to, &results, width.into(), &guards);
                text.line(format_args!("bra {next}"));
                text.place(&plain);
            }
            let results: Vec<Reg> = (0..SIDE)
                .map(|at| body.alone(text, |text, instruction| source(text, at, instruction)))
                .collect();
            store_span(text, of, to, &results, width.into(), &guards);
            text.place(&next);
            if step.number.is_none() {
                text.line(format_args!("add.s64 {to}, {to}, {behind}"));
            }
        });
    }
}
