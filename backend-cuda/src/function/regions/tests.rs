//! Which conditions are foreseen.

use devarray::function::{
    ElementType::{F32, F64, U32, U64},
    primitive::ProgramBuilder,
};

use super::*;

/// What is foreseen of a condition over inputs of 32 and 64 bits, floats and integers.
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

#[test]
fn few_conditions_are_foreseen() {
    let equal = |b: &mut ProgramBuilder, x, y| b.push(Instruction::Binary(Binary::Equal, x, y));
    let less = |b: &mut ProgramBuilder, x, y| b.push(Instruction::Binary(Binary::Less, x, y));
    let and = |b: &mut ProgramBuilder, x, y| b.push(Instruction::Binary(Binary::And, x, y));
    let or = |b: &mut ProgramBuilder, x, y| b.push(Instruction::Binary(Binary::Or, x, y));
    let not = |b: &mut ProgramBuilder, x| b.push(Instruction::Unary(Unary::Not, x));
    // Not NaN, infinite, and a number among very many; the last is of none of these kinds.
    let never = |b: &mut ProgramBuilder, x: [Register; 4]| {
        let seven = b.constant(Constant::B32(7));
        equal(b, x[2], seven)
    };
    let unknown = |b: &mut ProgramBuilder, x: [Register; 4]| {
        let seven = b.constant(Constant::F32(7.0_f32.to_bits()));
        less(b, x[0], seven)
    };
    assert_eq!(of(|b, x| equal(b, x[0], x[0])), Some(true));
    assert_eq!(of(never), Some(false));
    assert_eq!(of(unknown), None);
    for (bits, foreseen) in [(f32::INFINITY, Some(true)), (f32::NEG_INFINITY, Some(true)), (f32::MAX, None)] {
        let of_bits = |b: &mut ProgramBuilder| b.constant(Constant::F32(bits.to_bits()));
        assert_eq!(
            of(|b, x| {
                let y = of_bits(b);
                less(b, x[0], y)
            }),
            foreseen,
            "{bits}"
        );
        assert_eq!(
            of(|b, x| {
                let y = of_bits(b);
                less(b, y, x[0])
            }),
            foreseen,
            "{bits}"
        );
    }
    for (bits, foreseen) in [(f64::INFINITY, Some(true)), (1.0, None)] {
        let of_bits = |b: &mut ProgramBuilder| b.constant(Constant::F64(bits.to_bits()));
        assert_eq!(
            of(|b, x| {
                let y = of_bits(b);
                less(b, x[1], y)
            }),
            foreseen,
            "{bits}"
        );
    }
    assert_eq!(
        of(|b, x| {
            let y = never(b, x);
            not(b, y)
        }),
        Some(true)
    );
    assert_eq!(
        of(|b, x| {
            let y = unknown(b, x);
            not(b, y)
        }),
        None
    );
    for turned in [false, true] {
        // With what is not known, in either order.
        let pair = |b: &mut ProgramBuilder, x: [Register; 4], sure: bool| {
            let (y, z) = (never(b, x), unknown(b, x));
            let y = if sure { not(b, y) } else { y };
            if turned { (z, y) } else { (y, z) }
        };
        assert_eq!(
            of(|b, x| {
                let (y, z) = pair(b, x, false);
                and(b, y, z)
            }),
            Some(false)
        );
        assert_eq!(
            of(|b, x| {
                let (y, z) = pair(b, x, true);
                and(b, y, z)
            }),
            None
        );
        assert_eq!(
            of(|b, x| {
                let (y, z) = pair(b, x, true);
                or(b, y, z)
            }),
            Some(true)
        );
        assert_eq!(
            of(|b, x| {
                let (y, z) = pair(b, x, false);
                or(b, y, z)
            }),
            None
        );
    }
}

#[test]
fn numbers_of_few_bits_are_often_equal() {
    for (mask, foreseen) in [(0x7f, None), (0xff, Some(false)), (0x1ff, Some(false))] {
        let of_32 = of(|b, x| {
            let (mask, number) = (b.constant(Constant::B32(mask)), b.constant(Constant::B32(5)));
            let masked = b.push(Instruction::Binary(Binary::And, x[2], mask));
            b.push(Instruction::Binary(Binary::Equal, masked, number))
        });
        let of_64 = of(|b, x| {
            let (mask, number) = (b.constant(Constant::B64(mask.into())), b.constant(Constant::B64(5)));
            let masked = b.push(Instruction::Binary(Binary::And, x[3], mask));
            b.push(Instruction::Binary(Binary::Equal, masked, number))
        });
        assert_eq!([of_32, of_64], [foreseen; 2], "{mask:#x}");
    }
    // A mask that is no constant may be of few bits.
    let of_any = of(|b, x| {
        let (not, number) = (b.push(Instruction::Unary(Unary::Not, x[2])), b.constant(Constant::B32(5)));
        let masked = b.push(Instruction::Binary(Binary::And, x[2], not));
        b.push(Instruction::Binary(Binary::Equal, masked, number))
    });
    assert_eq!(of_any, None);
}

#[test]
fn sides_of_a_selection_come_in_pairs() {
    for (one, other) in [(1, 2), (3, 4), (5, 6)] {
        assert_eq!((Tree::other_side(one), Tree::other_side(other)), (other, one));
    }
}
