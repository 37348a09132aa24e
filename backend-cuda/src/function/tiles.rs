//! Kernels whose blocks compute boxes of two axes: the result is fastest along one, some inputs
//! along the other. These inputs are loaded along their own axis, kept in shared memory, and read from
//! there along the result's.

pub(super) mod kernel;
mod shared;

use super::{
    axes::Axes,
    class::{Access, Class, Family},
    lines::dealt,
    operands::{Kind, MapOperands},
    parameter::{MapLaunch, Parameter},
};
use shared::{VECTOR, shared_words};

/// Sides of a full tile, the largest that fits first.
const SIDES: [usize; 3] = [64, 32, 16];

/// Words of 4 bytes of shared memory that every kernel may use.
const SHARED_WORDS: usize = 48 * 1024 / 4;

/// At this distance in bytes along the result's axis, or more, neighbouring threads load nothing in
/// common.
const APART_BYTES: i64 = 32;

/// The longest programs: a thread computes at least [`VECTOR`] elements.
const INSTRUCTIONS: usize = 512;

/// Whether an input is far apart along an axis, and near along another.
fn is_far_along_inner(operands: &MapOperands, operand: usize, inner: usize, other: usize) -> bool {
    let (inner, other) = (operands.stride(inner, operand).abs(), operands.stride(other, operand).abs());
    let element = matches!(operands.kinds[operand], Kind::Input(..) | Kind::InPlace(..));
    element && inner >= APART_BYTES && (1..APART_BYTES).contains(&other) && other < inner
}

/// The launch for inputs of both kinds; `None` for other inputs.
pub(super) fn choose(operands: &MapOperands, instructions: usize, scalars: &[u64]) -> Option<MapLaunch> {
    let inner = operands.rank().checked_sub(1)?;
    let size = operands.kinds[0].len_bytes();
    if inner == 0 || instructions > INSTRUCTIONS || operands.stride(inner, 0) != size {
        return None;
    }
    let bytes = |other: &usize| -> i64 {
        let transposed =
            (1..operands.count()).filter(|&operand| is_far_along_inner(operands, operand, inner, *other));
        transposed.map(|operand| operands.kinds[operand].len_bytes()).sum()
    };
    let other = (0..inner).max_by_key(bytes).filter(|other| bytes(other) > 0)?;
    if dealt(operands).is_some() {
        return None;
    }
    let is_transposed: Vec<bool> =
        (0..operands.count()).map(|operand| is_far_along_inner(operands, operand, inner, other)).collect();

    let axes = Axes::both(operands, inner, other);
    let (wide, high) = sides(&axes, &is_transposed);
    let accesses =
        is_transposed.iter().enumerate().map(|(operand, &transposed)| access(&axes, operand, transposed));
    let (across, down) = (axes.extent.div_ceil(wide), axes.other_extent.div_ceil(high));
    let (mut parameter, words) = Parameter::new(&axes, scalars)?;
    parameter.halves(words.extent, axes.extent, axes.other_extent);
    parameter.divider(words.pieces_divider, across)?;
    parameter.halves(words.pieces, across, 0);
    parameter.divider(words.tiles_divider, down)?;
    parameter.halves(words.tiles, down, 0);
    let (wide, high) = (u16::try_from(wide).ok()?, u16::try_from(high).ok()?);
    let class = Class::new(Family::Tiles { wide, high }, &axes, accesses)?;
    let grid = u32::try_from(across * down * axes.outer.elements()).ok()?;
    Some(MapLaunch { class, grid, parameter })
}

/// The sides of a tile: powers of two that are not much longer than the axes.
fn sides(axes: &Axes, is_transposed: &[bool]) -> (u64, u64) {
    let fits = |side: usize| {
        let transposed = axes.outer.kinds.iter().zip(is_transposed).filter(|(_, transposed)| **transposed);
        // A tile of the same area takes at most as much as this long one.
        let words: usize =
            transposed.map(|(&kind, _)| shared_words(kind, side * side / VECTOR, VECTOR)).sum();
        words <= SHARED_WORDS
    };
    let side = SIDES.into_iter().find(|&side| fits(side)).unwrap_or(VECTOR);
    let (side, least) = (side as u64, VECTOR as u64);
    let (width, height) = (axes.extent.next_power_of_two(), axes.other_extent.next_power_of_two());
    let area = side * side;
    let wide = width.clamp(least, area / height.clamp(least, side));
    (wide, height.clamp(least, area / wide))
}

fn access(axes: &Axes, operand: usize, is_transposed: bool) -> Access {
    let (outer, inner, other) = (&axes.outer, axes.inner[operand] as i64, axes.other[operand] as i64);
    let kind = outer.kinds[operand];
    let size = kind.len_bytes();
    // The widest access to elements side by side along one axis, at any step along all others; at
    // most a vector.
    let widest = |stride: i64, extent: u64| {
        outer.widest(operand, (outer.bases[operand], stride), extent | VECTOR as u64)
    };
    match (inner, other) {
        _ if is_transposed => {
            Access::Transposed { width: if other == size { widest(inner, axes.other_extent) } else { 1 } }
        }
        (0, 0) => Access::Uniform,
        (0, _) => Access::Each,
        _ if inner == size && kind.element_type().is_some() => {
            Access::Span { width: widest(other, axes.extent) }
        }
        _ => Access::Single,
    }
}
