//! Which family of kernels computes a problem, and who writes the text of a class.

use devarray::function::primitive::Program;

use super::{
    class::{Class, Family},
    fetch, lines,
    parameter::Launch,
    problem::Problem,
    reduce::write as write_reduction,
    tiles,
};

/// The launch for a problem that one launch computes; `None` if it has more operands and axes than
/// a parameter holds.
pub(super) fn choose(program: &Program, problem: &Problem, scalars: &[u64]) -> Option<Launch> {
    let instructions = program.instructions().len();
    tiles::choose(problem, instructions, scalars).or_else(|| lines::choose(problem, program, scalars))
}

/// The text of the kernel of a class.
pub(super) fn write(program: &Program, class: &Class) -> String {
    match class.family {
        Family::Lines { vector, deal } => lines::kernel::write(program, class, vector.into(), deal.into()),
        Family::Tiles { wide, high } => tiles::kernel::write(program, class, wide.into(), high.into()),
        Family::Fetch => fetch::write(),
        Family::Reduce(ref kernel) => write_reduction(program, class, kernel),
    }
}
