//! Programs are as short as the known facts about their operands allow.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::function::{
    ElementType::{self, F32, F64, I32, U32},
    Function,
    primitive::Program,
};

fn program(text: &str, of: ElementType) -> Program {
    Function::parse(text, &[of; 2], &[]).unwrap_or_else(|error| panic!("{text}: {error}")).expand()
}

/// A neutral operand leaves an integer unchanged.
#[test]
fn an_integer_and_a_neutral_one_are_the_integer() {
    for of in [I32, U32] {
        let ones = if of == I32 { "-1" } else { "4294967295" };
        let itself = program("x0", of);
        for neutral in
            ["x0 + 0", "0 + x0", "x0 | 0", "0 | x0", "x0 ^ 0", "0 ^ x0", "x0 * 1", "1 * x0", "x0 - 0"]
        {
            assert_eq!(program(neutral, of), itself, "{neutral} of {of}");
        }
        for text in ["x0 << 0", "x0 >> 0", &format!("x0 & {ones}"), &format!("{ones} & x0")] {
            assert_eq!(program(text, of), itself, "{text} of {of}");
        }
        // With an absorbing operand, nothing of the other one remains.
        for text in ["x1 + x0 * 0", "x1 + 0 * x0", "x1 + (x0 & 0)", &format!("x1 & (x0 | {ones})")] {
            assert_eq!(program(text, of), program("x1", of), "{text} of {of}");
        }
    }
    // The twins: an operand on the other side is not neutral, and floats have a zero of each sign.
    for (text, of) in [("0 - x0", I32), ("1 << x0", I32), ("x0 + 1", I32), ("x0 + 0", F32), ("x0 * 0", F32)] {
        assert_ne!(program(text, of), program("x0", of), "{text} of {of}");
    }
}

#[test]
fn a_known_result_is_an_input_whatever_float_it_is() {
    for of in [F32, F64] {
        let (sum, twice) = (program("x0 + x1", of), program("(x0 + x1) * (x0 + x1)", of));
        assert_eq!(sum.with_known(&sum).unwrap().inputs(), [of; 3]);
        // A stored value has only the one NaN; a value that is multiplied may have any.
        assert!(twice.with_known(&sum).is_none(), "{of}");
    }
    let sum = program("x0 + x1", I32);
    assert!(sum.with_known(&sum).is_none());
}
