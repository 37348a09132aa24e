//! The families of kernels: chooses the one that computes a function, and writes the text of a
//! class.

use devarray::function::primitive::Program;

use super::{
    class::{Class, Family},
    fetch, follow_text, lines,
    operands::MapOperands,
    parameter::MapLaunch,
    reduce::write as write_reduction,
    tiles,
};

/// The launch for operands that one launch can compute; `None` if there are more operands and axes
/// than a parameter holds.
pub(super) fn choose(program: &Program, operands: &MapOperands, scalars: &[u64]) -> Option<MapLaunch> {
    let instructions = program.instructions().len();
    tiles::choose(operands, instructions, scalars).or_else(|| lines::choose(operands, program, scalars))
}

/// The text of the kernel of a class.
pub(super) fn write(program: &Program, class: &Class) -> String {
    match class.family {
        Family::Lines { vector, deal } => lines::kernel::write(program, class, vector.into(), deal.into()),
        Family::Tiles { wide, high } => tiles::kernel::write(program, class, wide.into(), high.into()),
        Family::Fetch => fetch::write(),
        Family::Product(ref kernel) => follow_text::write(program, class, kernel),
        Family::Reduce(ref kernel) => write_reduction(program, class, kernel),
    }
}
