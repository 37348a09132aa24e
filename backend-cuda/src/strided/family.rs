//! Which family of kernels copies a problem.

use super::{axes::Problem, gather, launch::Launch, rows, tile};

/// The best launch for one problem. Gather takes what no other family does.
pub(super) fn choose(problem: &Problem, scale: tile::Scale) -> Launch {
    rows::select(problem, scale)
        .or_else(|| tile::select(problem, scale))
        .unwrap_or_else(|| gather::select(problem))
}
