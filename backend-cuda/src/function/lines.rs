//! Kernels whose threads take neighbouring elements along one axis. They serve flat arrays and
//! rows, and all other layouts one element at a time.

pub(super) mod kernel;

use devarray::{
    function::primitive::{Instruction, Program},
    layout::nest::Strided,
};

use super::{
    axes::Axes,
    class::{Access, Class, Family},
    operands::{ACCESS_BYTES, Kind, MapOperands, axis},
    parameter::{MapLaunch, Parameter},
    text::BLOCK,
};

/// The most instructions that are written for one thread: the driver compiles about a thousand in
/// 20 ms.
const INSTRUCTIONS: u64 = 1_024;

/// The longest axis along which a thread goes besides the inner one.
const DEAL: u64 = 4;

/// With fewer elements than this, a thread does not take several rows, or several pieces of a row:
/// multiprocessors would be idle.
const GROUPED: u64 = 1 << 18;

/// A thread takes several elements of a row if at least this many instructions are the same along
/// it.
const SHARED: u64 = 64;

/// The number of pieces of a row that a thread computes if all inputs are repeated.
const PIECES: u64 = 2;

/// The launch for any operands; `None` if there are more operands and axes than a parameter holds.
pub(super) fn choose(operands: &MapOperands, program: &Program, scalars: &[u64]) -> Option<MapLaunch> {
    let instructions = program.instructions().len();
    let all = Written { once: 0, each: instructions as u64 };
    let along_rows = Written::along_rows(operands, program);
    let shared = Some(Axes::innermost(operands)).filter(|_| along_rows.once >= SHARED);
    let (axes, vector, lead, accesses) = vectored(shared, along_rows)
        .or_else(|| vectored(pixels(operands), all))
        .or_else(|| vectored(in_pieces(operands), all))
        .or_else(|| vectored(grouped(operands, instructions), all))
        .or_else(|| vectored(Some(Axes::innermost(operands)), along_rows))
        .unwrap_or_else(|| one_by_one(operands));
    let pieces = (axes.extent + lead).div_ceil(vector);
    let threads = pieces * axes.outer.elements();
    let (mut parameter, words) = Parameter::new(&axes, scalars)?;
    parameter.halves(words.extent, axes.extent, lead);
    parameter.divider(words.pieces_divider, pieces)?;
    parameter.halves(words.pieces, pieces, threads);
    let (vector, deal) = (u8::try_from(vector).ok()?, u8::try_from(axes.other_extent).ok()?);
    let class = Class::new(Family::Lines { vector, deal }, &axes, accesses)?;
    let grid = u32::try_from(threads.div_ceil(BLOCK.into())).ok()?;
    Some(MapLaunch { class, grid, parameter })
}

/// The number of instructions that are written once for a thread, and the number written once for
/// each of its elements.
#[derive(Clone, Copy)]
struct Written {
    once: u64,
    each: u64,
}

impl Written {
    /// Counts for threads that take elements along the innermost axis. Instructions whose value is
    /// the same along it are written once.
    fn along_rows(operands: &MapOperands, program: &Program) -> Self {
        let differs = |instruction| {
            let operand = operands.kinds.iter().position(|kind| kind.is_read_by(instruction));
            operand
                .zip(operands.rank().checked_sub(1))
                .is_some_and(|(at, axis)| operands.stride(axis, at) != 0)
        };
        let mut each: Vec<bool> = Vec::with_capacity(program.instructions().len());
        for &instruction in program.instructions() {
            let one = differs(instruction) || instruction.operands().any(|operand| each[operand.index()]);
            each.push(one);
        }
        // Constants take no time.
        let is_constant = |at: usize| matches!(program.instructions()[at], Instruction::Constant(_));
        let count = (0..each.len()).filter(|&at| each[at] || is_constant(at)).count() as u64;
        Self { once: each.len() as u64 - count, each: count }
    }
}

/// Takes out the axes of [`dealt`].
fn pixels(operands: &MapOperands) -> Option<Axes> {
    let (inner, short) = dealt(operands)?;
    Some(Axes::both(operands, inner, short))
}

/// The inner axis and a short one, along which elements of an operand lie side by side: pixels of a
/// few channels.
pub(super) fn dealt(operands: &MapOperands) -> Option<(usize, usize)> {
    let last = operands.rank().checked_sub(1)?;
    let before = last.checked_sub(1)?;
    let side_by_side = |operand: usize, short: usize, inner: usize| {
        let size = operands.kinds[operand].len_bytes();
        let extent = operands.extent(short).cast_signed();
        (2..=DEAL).contains(&operands.extent(short))
            && operands.kinds[operand].element_type().is_some()
            && operands.stride(short, operand).abs() == size
            && operands.stride(inner, operand) == size * extent
    };
    if side_by_side(0, last, before) {
        return Some((before, last));
    }
    let is_short = |&axis: &usize| (1..operands.count()).any(|operand| side_by_side(operand, axis, last));
    Some((last, (0..last).find(is_short)?))
}

/// Takes a part of the innermost axis as the inner axis, and the number of parts as the short one,
/// if all inputs are repeated along one of the two innermost axes. Writing then takes nearly all
/// the time, and is fastest if every block writes one stretch.
fn in_pieces(operands: &MapOperands) -> Option<Axes> {
    let inner = operands.rank().checked_sub(1)?;
    let extent = u64::from(BLOCK) * widest(operands);
    let worth = operands.elements() >= GROUPED
        && operands.extent(inner).is_multiple_of(PIECES * extent)
        && operands.stride(inner, 0) == operands.kinds[0].len_bytes()
        && operands.bases[0].is_multiple_of(ACCESS_BYTES)
        && operands.count() > 1
        && (1..operands.count()).all(|operand| is_repeated(operands, operand));
    if !worth {
        return None;
    }
    let mut outer = operands.clone();
    let strides = outer.axes[inner].strides.clone();
    let other = strides.iter().map(|&stride| stride as i64 * extent.cast_signed());
    let other = axis(PIECES, other).strides;
    outer.lengthen(inner, PIECES * extent);
    Some(Axes { outer, extent, inner: strides, other_extent: PIECES, other })
}

/// Whether an operand's elements are the same along one of the two innermost axes, if there are two.
fn is_repeated(operands: &MapOperands, operand: usize) -> bool {
    let rank = operands.rank();
    rank > 1
        && operands.kinds[operand].element_type().is_some()
        && (rank - 2..rank).any(|axis| operands.stride(axis, operand) == 0)
}

/// Takes the innermost axis, and a few rows as the short one, if operands are repeated along one of
/// the two. A thread then loads repeated elements once, and computes its position once.
fn grouped(operands: &MapOperands, instructions: usize) -> Option<Axes> {
    let inner = operands.rank().checked_sub(1)?;
    let rows = inner.checked_sub(1)?;
    let all = instructions as u64 * ACCESS_BYTES * DEAL;
    let worth = operands.elements() >= GROUPED
        && all <= INSTRUCTIONS
        && (1..operands.count()).any(|operand| is_repeated(operands, operand));
    if !worth || !operands.extent(rows).is_multiple_of(DEAL) {
        return None;
    }
    let mut outer = operands.clone();
    let Strided { extent, strides: inner } = outer.axes.remove(inner);
    let other = outer.axes[rows].strides.clone();
    outer.lengthen(rows, DEAL);
    Some(Axes { outer, extent: extent as u64, inner, other_extent: DEAL, other })
}

/// The most elements of every operand that one access holds.
fn widest(operands: &MapOperands) -> u64 {
    let sizes = operands.kinds.iter().filter_map(|kind| kind.element_type()).map(|kind| kind.len_bytes());
    ACCESS_BYTES / sizes.max().unwrap_or(1) as u64
}

/// The axes; how many elements a thread takes; how many the first thread leaves out; and the access
/// to each operand.
type Vectored = (Axes, u64, u64, Vec<Access>);

/// Gives a thread as many elements as accesses and program allow; `None` if that is only one.
fn vectored(axes: Option<Axes>, written: Written) -> Option<Vectored> {
    let axes = axes?;
    let mut vector = widest(&axes.outer);
    while vector > 1 {
        let fits = written.once + written.each * vector * axes.other_extent <= INSTRUCTIONS;
        let fills = axes.extent.is_multiple_of(vector) || axes.extent >= 4 * vector;
        if fits && fills {
            // Otherwise a row of one piece would be split in two.
            let lead = if axes.extent > vector { lead(&axes, vector) } else { 0 };
            let accesses: Vec<Access> =
                (0..axes.outer.count()).map(|operand| access(&axes, operand, vector, lead)).collect();
            let by_vector = |access: &Access| match *access {
                Access::Span { width }
                | Access::Reversed { width }
                | Access::Picked { width, .. }
                | Access::Row { width } => u64::from(width) == vector,
                Access::Dealt { width, .. } => width > 1,
                _ => false,
            };
            let worth = written.once >= SHARED || accesses.iter().any(by_vector);
            if accesses[0] != Access::Single && worth {
                return Some((axes, vector, lead, accesses));
            }
        }
        vector /= 2;
    }
    None
}

fn one_by_one(operands: &MapOperands) -> Vectored {
    let axes = Axes::innermost(operands);
    let is_uniform = |(operand, &stride): (usize, &isize)| operand > 0 && stride == 0;
    let access = |input| if is_uniform(input) { Access::Uniform } else { Access::Single };
    let accesses = axes.inner.iter().enumerate().map(access).collect();
    (axes, 1, 0, accesses)
}

/// The number of elements before the first one at which a thread begins, so that the result is
/// aligned.
fn lead(axes: &Axes, vector: u64) -> u64 {
    let width = |lead: &u64| match access(axes, 0, vector, *lead) {
        Access::Span { width } | Access::Dealt { width, .. } => width,
        _ => 1,
    };
    // The smallest of the best numbers is taken.
    (0..vector).rev().max_by_key(width).unwrap_or(0)
}

/// Whether a position counts the elements of every thread from 0 on.
fn is_counted(axes: &Axes, operand: usize, vector: u64) -> bool {
    let outer = &axes.outer;
    let starts_at_0 = outer.bases[operand] == 0
        && (0..outer.rank()).all(|axis| outer.stride(axis, operand) == 0 || outer.extent(axis) == 1);
    starts_at_0 && axes.other_extent == 1 && axes.extent == vector
}

fn access(axes: &Axes, operand: usize, vector: u64, lead: u64) -> Access {
    let (outer, deal) = (&axes.outer, axes.other_extent);
    let (inner, short) = (axes.inner[operand] as i64, axes.other[operand] as i64);
    let kind = outer.kinds[operand];
    let size = kind.len_bytes();
    let lead = lead.cast_signed();
    let first = outer.bases[operand].wrapping_add_signed(-lead * inner);
    let width = |first: u64, count: u64, short: i64| outer.widest(operand, (first, short), count);
    let last = vector.cast_signed() - 1;
    if deal > 1 && inner == size * deal.cast_signed() && short.abs() == size && kind.element_type().is_some()
    {
        let backwards = short < 0;
        let back = if backwards { size * (deal.cast_signed() - 1) } else { 0 };
        return Access::Dealt { width: width(first.wrapping_add_signed(-back), vector * deal, 0), backwards };
    }
    match inner {
        0 if short == 0 => Access::Uniform,
        0 => Access::Each,
        1 if kind.element_type().is_none() && is_counted(axes, operand, vector) => Access::Counted,
        _ if matches!(kind, Kind::Position(_)) => Access::Single,
        _ if inner == size && short == 0 && deal > 1 => Access::Row { width: width(first, vector, 0) },
        _ if inner == size => Access::Span { width: width(first, vector, short) },
        _ if inner == -size => {
            Access::Reversed { width: width(first.wrapping_add_signed(-last * size), vector, short) }
        }
        _ => match u8::try_from(inner / size) {
            Ok(step @ 2..=4) if inner % size == 0 && operand > 0 => {
                Access::Picked { step, width: width(first, vector * u64::from(step), short) }
            }
            _ => Access::Single,
        },
    }
}
