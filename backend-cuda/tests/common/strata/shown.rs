//! Programs in words, and the elements that a wrong one is computed from.

use std::fmt;

use devarray::function::primitive::{Instruction, Program};

use super::{
    super::{cases::positions, maps::Case},
    work::Wrong,
};

/// One line for each instruction.
pub(crate) fn program(f: &mut impl fmt::Write, program: &Program, scalars: &[u64]) -> fmt::Result {
    for (at, &instruction) in program.instructions().iter().enumerate() {
        write!(f, "    %{at} = ")?;
        match instruction {
            Instruction::Constant(value) => writeln!(f, "{value:x?}")?,
            Instruction::Input(input) => {
                writeln!(f, "x{input}: {}", program.inputs()[usize::from(input)])?;
            }
            Instruction::Scalar(scalar) => {
                let (at, of) = (usize::from(scalar), program.scalars());
                writeln!(f, "k{scalar}: {} = {:#x}", of[at], scalars[at])?;
            }
            Instruction::Position(axis) => writeln!(f, "i{axis}")?,
            Instruction::Unary(op, a) => {
                writeln!(f, "{op:?} {:?} %{}", program.register_type(a), a.index())?;
            }
            Instruction::Binary(op, a, b) => {
                writeln!(f, "{op:?} {:?} %{}, %{}", program.register_type(a), a.index(), b.index())?;
            }
            Instruction::Fma(a, b, c) => writeln!(f, "Fma %{}, %{}, %{}", a.index(), b.index(), c.index())?,
            Instruction::Select(c, a, b) => {
                let of = program.register_type(a);
                writeln!(f, "Select {of:?} %{} ? %{} : %{}", c.index(), a.index(), b.index())?;
            }
        }
    }
    writeln!(f, "    result %{} as {}", program.result().index(), program.result_type())
}

/// The inputs of a wrong element.
pub(crate) fn operands(case: &Case, wrong: &Wrong) -> String {
    let Some(nth) = positions(&case.result.0).into_iter().position(|place| place == wrong.element) else {
        return "the element is not of the result".to_owned();
    };
    let shape = case.result.0.shape();
    let mut text = format!("element {nth} of shape {shape:?} in row-major order");
    for (at, (layout, bytes)) in case.inputs.iter().enumerate() {
        let (of, place) = (case.program.inputs()[at], positions(layout)[nth]);
        let size = of.len_bytes();
        text += &format!("; x{at}: {of} = {:02x?}", &bytes[place * size..(place + 1) * size]);
    }
    text
}
