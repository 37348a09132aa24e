//! Foreseen conditions.

use devarray::function::{
    ElementType::{F32, F64, U32, U64},
    primitive::ProgramBuilder,
};

use super::*;

/// The foreseen value of a condition over inputs of 32 and 64 bits, floats and integers.
fn of(condition: impl FnOnce(&mut ProgramBuilder, [Register; 4]) -> Register) -> Option<bool> {
    let mut b = ProgramBuilder::new(&[F32, F64, U32, U64], &[]);
    let inputs = [0, 1, 2, 3].map(|input| b.push(Instruction::Input(input)));
    let condition = condition(&mut b, inputs);
    let one = b.constant(Constant::B32(1));
    let chosen = b.push(Instruction::Select(condition, one, inputs[2]));
    let program = b.finish(chosen, U32);
    let instructions = program.instructions();
    let select = instructions.iter().find_map(|instruction| match *instruction {
        Instruction::Select(condition, ..) => Some(condition),
        _ => None,
    });
    foreseen(instructions, select.expect("it is not folded"))
}

/// A number among very many, which another one hardly ever is.
fn never(b: &mut ProgramBuilder, x: [Register; 4]) -> Register {
    let seven = b.constant(Constant::B32(7));
    b.binary(Binary::Equal, x[2], seven)
}

fn unknown(b: &mut ProgramBuilder, x: [Register; 4]) -> Register {
    let seven = b.constant(Constant::F32(7.0_f32.to_bits()));
    b.binary(Binary::Less, x[0], seven)
}

/// Two operands, or these in the other order.
fn ordered(swapped: bool, a: Register, b: Register) -> [Register; 2] {
    if swapped { [b, a] } else { [a, b] }
}

#[test]
fn few_conditions_are_foreseen() {
    // Not NaN, infinite, and a number among very many; the last is of none of these kinds.
    assert_eq!(of(|b, x| b.binary(Binary::Equal, x[0], x[0])), Some(true));
    assert_eq!(of(never), Some(false));
    assert_eq!(of(unknown), None);
    for (number, input, foreseen) in [
        (Constant::F32(f32::INFINITY.to_bits()), 0, Some(true)),
        (Constant::F32(f32::NEG_INFINITY.to_bits()), 0, Some(true)),
        (Constant::F32(f32::MAX.to_bits()), 0, None),
        (Constant::F64(f64::INFINITY.to_bits()), 1, Some(true)),
        (Constant::F64(1.0_f64.to_bits()), 1, None),
    ] {
        for swapped in [false, true] {
            let less = of(|b, x| {
                let [a, c] = ordered(swapped, x[input], b.constant(number));
                b.binary(Binary::Less, a, c)
            });
            assert_eq!(less, foreseen, "{number:?}");
        }
    }
    for (condition, foreseen) in [(never as fn(&mut ProgramBuilder, _) -> _, Some(true)), (unknown, None)] {
        let not = of(|b, x| {
            let condition = condition(b, x);
            b.unary(Unary::Not, condition)
        });
        assert_eq!(not, foreseen);
    }
    // With what is not known, in either order.
    for (op, sure, foreseen) in [
        (Binary::And, false, Some(false)),
        (Binary::And, true, None),
        (Binary::Or, true, Some(true)),
        (Binary::Or, false, None),
    ] {
        for swapped in [false, true] {
            let both = of(|b, x| {
                let (y, z) = (never(b, x), unknown(b, x));
                let y = if sure { b.unary(Unary::Not, y) } else { y };
                let [y, z] = ordered(swapped, y, z);
                b.binary(op, y, z)
            });
            assert_eq!(both, foreseen, "{op:?}");
        }
    }
}

#[test]
fn numbers_of_few_bits_are_often_equal() {
    for (mask, foreseen) in [(0x7f, None), (0xff, Some(false)), (0x1ff, Some(false))] {
        for (input, mask, number) in
            [(2, Constant::B32(mask), Constant::B32(5)), (3, Constant::B64(mask.into()), Constant::B64(5))]
        {
            let equal = of(|b, x| {
                let (by, number) = (b.constant(mask), b.constant(number));
                let masked = b.binary(Binary::And, x[input], by);
                b.binary(Binary::Equal, masked, number)
            });
            assert_eq!(equal, foreseen, "{mask:?}");
        }
    }
    // A mask that is no constant may be of few bits.
    let of_any = of(|b, x| {
        let (not, number) = (b.unary(Unary::Not, x[2]), b.constant(Constant::B32(5)));
        let masked = b.binary(Binary::And, x[2], not);
        b.binary(Binary::Equal, masked, number)
    });
    assert_eq!(of_any, None);
}

#[test]
fn sides_of_a_selection_come_in_pairs() {
    for (one, other) in [(1, 2), (3, 4), (5, 6)] {
        assert_eq!((Tree::other_side(one), Tree::other_side(other)), (other, one));
    }
}
