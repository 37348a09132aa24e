//! Kernels whose blocks compute boxes of two axes: the result is fastest along one, some inputs
//! along the other. Those are loaded along their own axis, kept in shared memory, and read from
//! there along the result's.

pub(super) mod kernel;

use super::{
    class::{Access, Class, Family},
    launch::{Launch, Parameter},
    lines::{dealt, is_wide},
    problem::{Kind, Problem},
};

/// Elements that a thread loads, or computes, side by side.
pub(super) const VECTOR: usize = 4;

/// Sides of a full tile, the largest that fits first.
const SIDES: [usize; 3] = [64, 32, 16];

/// Words of 4 bytes of shared memory that every kernel may use.
const SHARED_WORDS: usize = 48 * 1024 / 4;

/// From this distance in bytes along the result's axis on, neighbouring threads share nothing that
/// they load.
const APART_BYTES: i64 = 32;

/// Longest programs: a thread computes at least [`VECTOR`] elements.
const INSTRUCTIONS: usize = 512;

/// Words of shared memory for one turned input. Rows are one element longer than the tile, so that
/// the elements of a column are in different banks.
pub(super) fn shared_words(kind: Kind, wide: usize, high: usize) -> usize {
    wide * (high + 1) * if kind.len_bytes() == 8 { 2 } else { 1 }
}

/// Whether an input is far apart along an axis, and near along another.
fn turns(problem: &Problem, operand: usize, inner: usize, other: usize) -> bool {
    let (inner, other) = (problem.along(inner)[operand].abs(), problem.along(other)[operand].abs());
    let element = matches!(problem.kinds[operand], Kind::Input(..) | Kind::InPlace(..));
    element && inner >= APART_BYTES && (1..APART_BYTES).contains(&other) && other < inner
}

/// The launch for a problem with inputs of both kinds; `None` for any other.
pub(super) fn choose(problem: &Problem, instructions: usize, scalars: &[u64]) -> Option<Launch> {
    let inner = problem.rank().checked_sub(1)?;
    let size = problem.kinds[0].len_bytes();
    if inner == 0 || instructions > INSTRUCTIONS || problem.along(inner)[0] != size {
        return None;
    }
    let bytes = |other: &usize| -> i64 {
        let turned = (1..problem.operands()).filter(|&operand| turns(problem, operand, inner, *other));
        turned.map(|operand| problem.kinds[operand].len_bytes()).sum()
    };
    let other = (0..inner).max_by_key(bytes).filter(|other| bytes(other) > 0)?;
    if dealt(problem).is_some() {
        return None;
    }
    let is_turned: Vec<bool> =
        (0..problem.operands()).map(|operand| turns(problem, operand, inner, other)).collect();

    let mut outer = problem.clone();
    let (width, inner) = outer.remove(inner);
    let (height, other) = outer.remove(other);
    let (wide, high) = sides(&outer, &is_turned, width, height);
    let accesses = (0..outer.operands()).map(|operand| {
        let strides = (inner[operand], other[operand]);
        access(&outer, operand, is_turned[operand], strides, (width, height))
    });
    let class = Class {
        family: Family::Tiles { wide: u16::try_from(wide).ok()?, high: u16::try_from(high).ok()? },
        outer: u8::try_from(outer.rank()).ok()?,
        wide: is_wide([&outer.strides, &inner, &other]),
        operands: outer.kinds.iter().copied().zip(accesses).collect(),
    };
    let (across, down) = (width.div_ceil(wide), height.div_ceil(high));
    let (mut parameter, words) = Parameter::new(&outer, (&inner, &other), scalars)?;
    parameter.halves(words.extent, width, height);
    parameter.divider(words.pieces_divider, across)?;
    parameter.halves(words.pieces, across, 0);
    parameter.divider(words.tiles_divider, down)?;
    parameter.halves(words.tiles, down, 0);
    let grid = u32::try_from(across * down * outer.elements()).ok()?;
    Some(Launch { class, grid, parameter })
}

/// The sides of a tile: powers of two that are not much longer than the axes.
fn sides(outer: &Problem, is_turned: &[bool], width: u64, height: u64) -> (u64, u64) {
    let fits = |side: usize| {
        let turned = outer.kinds.iter().zip(is_turned).filter(|(_, turned)| **turned);
        // A tile of the same area takes at most what this long one does.
        let words: usize = turned.map(|(&kind, _)| shared_words(kind, side * side / VECTOR, VECTOR)).sum();
        words <= SHARED_WORDS
    };
    let side = SIDES.into_iter().find(|&side| fits(side)).unwrap_or(VECTOR);
    let (side, least) = (side as u64, VECTOR as u64);
    let area = side * side;
    let high = height.next_power_of_two().clamp(least, side);
    let wide = width.next_power_of_two().clamp(least, area / high);
    let high = height.next_power_of_two().clamp(least, area / wide);
    (wide, high)
}

fn access(
    outer: &Problem,
    operand: usize,
    is_turned: bool,
    (inner, other): (i64, i64),
    (width, height): (u64, u64),
) -> Access {
    let kind = outer.kinds[operand];
    let size = kind.len_bytes();
    // The widest access to elements side by side along one axis, at any step along all others; at
    // most a vector.
    let widest = |stride: i64, extent: u64| {
        outer.widest(operand, (outer.bases[operand], stride), extent | VECTOR as u64)
    };
    match (inner, other) {
        (_, other) if is_turned => {
            Access::Turned { width: if other == size { widest(inner, height) } else { 1 } }
        }
        (0, 0) => Access::Uniform,
        (0, _) => Access::Each,
        _ if inner == size && kind.element_type().is_some() => Access::Span { width: widest(other, width) },
        _ => Access::Single,
    }
}
