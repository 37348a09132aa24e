//! Counts the primitives of an operation. The count limits functions.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{Emitter, expand};
use crate::{ElementType, Operation, Value, primitive::Instruction};

/// The most instructions that a function may expand to.
pub const MAX_INSTRUCTIONS: usize = 1 << 16;

/// The most instructions that an operation adds to any program. `of` is the type of its operands,
/// or of the result if there are none.
///
/// The operation adds this many if nothing is known of its operands. Constant operands, and
/// instructions that exist already, can only make it fewer.
pub(crate) fn instructions(operation: Operation, of: ElementType, result: ElementType) -> usize {
    /// One more than the count; 0 if it was not counted yet.
    static COUNTED: [[AtomicU32; ElementType::ALL.len()]; ROWS] =
        [const { [const { AtomicU32::new(0) }; ElementType::ALL.len()] }; ROWS];
    let counted = &COUNTED[row(operation, result)][of as usize];
    match counted.load(Ordering::Relaxed) {
        0 => {
            let count = count(operation, of, result);
            counted.store(u32::try_from(count + 1).unwrap_or(u32::MAX), Ordering::Relaxed);
            count
        }
        count => count as usize - 1,
    }
}

const ROWS: usize = 160;

/// The row of an operation for operands of one type.
fn row(operation: Operation, result: ElementType) -> usize {
    match operation {
        Operation::Input(_) => 0,
        Operation::Scalar(_) => 1,
        Operation::Position(_) => 2,
        Operation::Constant(_) => 3,
        Operation::Fma(..) => 4,
        Operation::Clip(..) => 5,
        Operation::Where(..) => 6,
        Operation::Cast(_) => 16 + result as usize,
        Operation::Bitcast(_) => 32 + result as usize,
        Operation::Unary(operation, _) => 48 + operation as usize,
        Operation::Binary(operation, ..) => 112 + operation as usize,
    }
}

fn count(operation: Operation, of: ElementType, result: ElementType) -> usize {
    let mut types = [of; 3];
    if matches!(operation, Operation::Where(..)) {
        types = [ElementType::Bool, result, result];
    }
    let mut emitter = Emitter::new(&types, &[of]);
    let registers = [0_u8, 1, 2].map(|at| {
        let register = emitter.builder.push(Instruction::Input(at));
        emitter.loaded(types[usize::from(at)], register)
    });
    // The operands are the values 0, 1 and 2. Inputs and scalars are different from these.
    let operation = match operation {
        Operation::Input(_) | Operation::Scalar(_) => Operation::Scalar(0),
        Operation::Constant(_) => Operation::Constant(0),
        other => {
            let mut values = (0..).map(Value);
            other.with_operands(|_| values.next().unwrap_or(Value(0)))
        }
    };
    let before = emitter.builder.len();
    let at = |value: Value| (types[value.index()], registers[value.index()]);
    expand(&mut emitter, operation, result, at);
    emitter.builder.len() - before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BinaryOperation, Function, FunctionBuilder, UnaryOperation};

    /// Each operation, on each type it takes, applied to the results of others, never adds more
    /// than its cost.
    #[test]
    fn a_program_has_at_most_the_instructions_that_its_operations_cost() {
        const TEXTS: [&str; 10] = [
            "x0 ** x1 + x0 ** 3 - minimum(x0, 1)",
            "(x0 // x1) * (x0 % x1) + (x0 // 0)",
            "cast(cast(x0, f16), f64) + cast(x1, f64)",
            "where(x0 < x1, clip(x0, 1, 3), x1) - abs(x0)",
            "cast(x0, bf16) + cast(exp(cast(x1, f32)), bf16)",
            "hypot(cast(x0, f64), 1) * atan2(cast(x1, f64), cast(x1 - x0, f64)) ** 2",
            "fma(cast(x0, f16), 2, cast(k0, f16))",
            "cast(i0, u8) << cast(x0, u8) >> 3",
            "(cast(x0, i16) ** cast(x1, i16)) * 7 + cast(tan(cast(x0, f16)), i16)",
            "sign(x0 * x0) + square(x1)",
        ];
        for text in TEXTS {
            for of in ElementType::ALL.into_iter().filter(|&of| of != ElementType::Bool) {
                let function = Function::parse(text, &[of; 2], &[of]).expect("it is a function");
                let (builder, _) = FunctionBuilder::continuing(&function, &[]).expect("it was built before");
                let stored = 8;
                let found = function.expand().instructions().len();
                assert!(found <= builder.instructions() + stored, "{text} of {of}: {found}");
            }
        }
    }

    /// Two operations that may expand to different numbers of instructions do not share a row.
    #[test]
    fn operations_have_rows_of_their_own() {
        let value = Value(0);
        let mut operations = vec![
            Operation::Input(0),
            Operation::Scalar(0),
            Operation::Position(0),
            Operation::Constant(0),
            Operation::Fma(value, value, value),
            Operation::Clip(value, value, value),
            Operation::Where(value, value, value),
        ];
        let unary = UnaryOperation::FUNCTIONS.map(|(_, operation)| operation).into_iter();
        let unary = unary.chain([UnaryOperation::Negate, UnaryOperation::Not]);
        operations.extend(unary.map(|operation| Operation::Unary(operation, value)));
        let binary = BinaryOperation::FUNCTIONS.map(|(_, operation)| operation).into_iter();
        let binary = binary.chain(BinaryOperation::OPERATORS.map(|(_, operation, _)| operation));
        operations.extend(binary.map(|operation| Operation::Binary(operation, value, value)));
        let mut rows: Vec<_> = operations.iter().map(|&one| row(one, ElementType::F32)).collect();
        for of in ElementType::ALL {
            rows.extend([Operation::Cast(value), Operation::Bitcast(value)].map(|cast| row(cast, of)));
        }
        let count = rows.len();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), count);
        assert!(rows.iter().all(|&row| row < ROWS));
    }

    /// The twin: the count is near the number of instructions, so the limit really limits them.
    #[test]
    fn an_operation_alone_costs_what_it_expands_to() {
        for (text, operation) in [("sin(x0)", UnaryOperation::Sin), ("exp(x0)", UnaryOperation::Exp)] {
            let of = ElementType::F64;
            let found =
                Function::parse(text, &[of], &[]).expect("it is a function").expand().instructions().len();
            let cost = instructions(Operation::Unary(operation, Value(0)), of, of);
            assert!(cost > 30 && found >= cost, "{text}: {found}, {cost}");
        }
    }
    /// A function with exactly the allowed instructions is accepted; with one more it is refused.
    #[test]
    fn the_limit_is_reached_and_not_passed() {
        let types = [ElementType::F64, ElementType::I64];
        let mut builder = FunctionBuilder::new(&types, &[]).expect("two inputs");
        let [mut float, mut integer] = [0, 1].map(|at| builder.input(at).expect("an input"));
        let tan =
            instructions(Operation::Unary(UnaryOperation::Tan, float), ElementType::F64, ElementType::F64);
        while builder.instructions() + tan <= MAX_INSTRUCTIONS {
            float = builder.unary(UnaryOperation::Tan, float).expect("there is room");
        }
        while builder.instructions() < MAX_INSTRUCTIONS {
            integer = builder.unary(UnaryOperation::Not, integer).expect("there is room for one");
        }
        assert!(builder.unary(UnaryOperation::Not, integer).is_err());
        assert_eq!(builder.instructions(), MAX_INSTRUCTIONS, "what is refused costs nothing");
    }
}
