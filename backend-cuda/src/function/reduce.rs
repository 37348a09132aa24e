//! Reductions and scans: their PTX text is written from the program, the finish and the kind of
//! layouts.
//!
//! | form | takes | idea |
//! |---|---|---|
//! | rows | elements of a row side by side, and everything else | neighbouring threads have neighbouring lanes of a segment; short rows share a block |
//! | short | the same, of up to 1,024 elements | threads of one warp have a row or several, and load all their elements at once |
//! | columns | elements of neighbouring rows side by side | threads cover a line of the cache; each has lanes of a few columns, one after another |
//! | two reductions | rows of up to one segment, as for a variance | a block keeps a row between |
//! | scan | scans | a block has a tile of a row; totals go up a tree, values before blocks come down |
//!
//! All of them combine in the order of [`Combine`]. A row of more than one segment takes more than one
//! launch. So do columns that are too few to fill the device. Launches pass partials on in memory from
//! the pool.
#![allow(unsafe_code)] // frees memory that the launches before have used

mod columns;
mod combining;
mod exchange;
mod extreme;
mod kernel;
mod kernel_code;
mod look_back;
mod normalize;
mod plan;
mod reduce_operands;
mod row_cache;
mod rows;
mod scan;
mod short;
mod sizes;
mod two_reductions;
mod write;

use std::{num::NonZeroUsize, sync::Arc};

use devarray::{
    Error, Result,
    backend::{Buffer, FreeOp, MapOp, ReduceForm, ReduceOp},
    function::{Combine, ElementType},
};

pub(super) use kernel::Kernel;
use sizes::UNITS;
pub(super) use sizes::dynamic_bytes;
pub(super) use write::write;

use super::{
    computing::Computing,
    modules::LoadedKernel,
    operands::{Kind, axis},
};
use crate::{driver::INVALID_VALUE, memory::CudaBuffer};
use combining::{Combining, is_of_position};
use kernel::{ScanPass, ScanTile};
use plan::{Output, Pass};
use reduce_operands::{ReduceOperands, segments};

/// The alignment of partials in memory, in bytes.
const ALIGNMENT: u64 = 256;

/// Enqueues a reduction or a scan. Does not synchronize.
pub(super) fn reduce(at: Computing<'_>, op: &ReduceOp<'_, CudaBuffer>) -> Result<()> {
    if launch_again(at, op)? {
        return Ok(());
    }
    let is_scan = op.form() != ReduceForm::Total;
    let of_position = is_of_position(op.combine());
    let of_nothing =
        op.form() == ReduceForm::Exclusive && !matches!(op.combine(), Combine::Sum | Combine::Product);
    let operands = ReduceOperands::new(op).filter(|_| !(is_scan && of_position || of_nothing));
    let mut operands = operands.ok_or_else(|| at.context.error("reduce", INVALID_VALUE))?;
    let combining = Combining::new(op.combine(), op.program().result_type(), true);
    if !(is_scan || of_position || combining.has_order()) {
        operands = operands.in_any_order();
    }
    let reduction = Reduction { at, op, combining };
    // If a later launch fails, earlier ones are already enqueued.
    at.stream.enqueue_or_wait("reduce", |_| reduction.halved(&operands))
}

/// Launches a reduction with the kernel of an equal earlier one. Returns whether there was one.
fn launch_again(at: Computing<'_>, op: &ReduceOp<'_, CudaBuffer>) -> Result<bool> {
    let driver = at.context.bound("reduce")?;
    let mut launches = at.begin();
    let Some(ready) = launches.reduction(op) else { return Ok(false) };
    let launched = at.launch(driver, &ready.loaded, (ready.grid, 0), &ready.parameter);
    launched.map(|()| true).map_err(|failure| at.context.error("reduce", failure))
}

/// Enqueues one launch that reduces rows twice and computes a function of the results. Returns
/// false, and enqueues nothing, if no kernel computes all of that at once. Does not synchronize.
pub(super) fn fuse(
    at: Computing<'_>,
    reductions: &[ReduceOp<'_, CudaBuffer>],
    last: Option<&MapOp<'_, CudaBuffer>>,
) -> Result<bool> {
    let [first, second] = reductions else { return Ok(false) };
    match two_reductions::pass(dynamic_bytes(&at.context.info().properties), first, second, last) {
        Some(pass) => launch(at, &pass).map(|_| true),
        None => Ok(false),
    }
}

fn launch(at: Computing<'_>, pass: &Pass<'_>) -> Result<Arc<LoadedKernel>> {
    let Pass { class, grid, dynamic_bytes, parameter, program } = pass;
    let Computing { functions, context, .. } = at;
    let driver = context.bound("reduce")?;
    let loaded = functions.kernel(context, driver, program, class)?;
    let _launches = at.begin();
    at.launch(driver, &loaded, (*grid, *dynamic_bytes), parameter)
        .map_err(|failure| context.error("reduce", failure))?;
    Ok(loaded)
}

/// A reduction that is being enqueued.
struct Reduction<'a> {
    at: Computing<'a>,
    op: &'a ReduceOp<'a, CudaBuffer>,
    combining: Combining,
}

/// Memory for partials, which is given out piece by piece.
struct Arena {
    next: u64,
    end: u64,
}

impl Arena {
    fn take(&mut self, len_bytes: u64) -> Option<u64> {
        let start = self.next;
        self.next = start.checked_add(padded(len_bytes)).filter(|end| *end <= self.end)?;
        Some(start)
    }

    /// Memory for `count` elements.
    fn take_elements(&mut self, count: u64, of: ElementType) -> Option<u64> {
        self.take(count.checked_mul(of.len_bytes() as u64)?)
    }
}

fn padded(len_bytes: u64) -> u64 {
    len_bytes.next_multiple_of(ALIGNMENT)
}

impl Reduction<'_> {
    fn invalid(&self) -> Error {
        self.at.context.error("reduce", INVALID_VALUE)
    }

    /// The division of a scan's row, and the number of its tiles.
    fn tiles(&self, operands: &ReduceOperands, of_partials: bool) -> (ScanTile, u64) {
        let instructions = if of_partials { 1 } else { self.op.program().instructions().len() as u64 };
        let tile = plan::tile(operands.row_len(), instructions, self.combining.value_type());
        (tile, operands.row_len().div_ceil(tile.len() as u64))
    }

    /// If there are very many rows, does one half of them after the other.
    fn halved(&self, operands: &ReduceOperands) -> Result<()> {
        let is_total = self.op.form() == ReduceForm::Total;
        let each = if is_total { segments(operands) } else { self.tiles(operands, false).1 };
        if let Some(halves) = operands.halves().filter(|_| operands.rows() > UNITS / each) {
            return halves.iter().try_for_each(|half| self.halved(half));
        }
        let units = operands.rows().checked_mul(each).filter(|units| *units <= UNITS);
        let units = units.ok_or_else(|| self.invalid())?;
        let (lines, split) = if is_total { self.shares(operands) } else { (None, 1) };
        let is_plain = lines.is_none() && split == 1;
        if is_total && is_plain && self.combining.index.is_none() && plan::joins(operands) {
            return self.enqueue(operands, false, Output::Joined { address: self.at.stream.scratch()? });
        }
        let enqueue = |arena: &mut Arena| match &lines {
            _ if !is_total => self.scan(operands, (false, self.op.form()), arena),
            _ if is_plain => self.totals(operands, false, arena),
            lines => self.shared(operands, (lines.as_ref(), split), arena),
        };
        if each == 1 && is_plain {
            return enqueue(&mut Arena { next: 0, end: 0 });
        }
        // Partials have partials in turn, less than half as many. Scans also keep the total before
        // each.
        let levels = (0..u64::BITS / 11).map(|level| padded((units >> level) * 16) + 2 * ALIGNMENT);
        let shares = if split > 1 { padded(units * split * 16) + 2 * ALIGNMENT } else { 0 };
        let len_bytes = usize::try_from(levels.sum::<u64>() + shares).ok().and_then(NonZeroUsize::new);
        let buffer = self.at.stream.alloc(len_bytes.ok_or_else(|| self.invalid())?)?;
        let start = buffer.address();
        let done = enqueue(&mut Arena { next: start, end: start + buffer.len_bytes() as u64 });
        // SAFETY: everything that uses the memory is earlier in the stream.
        let freed = self.at.stream.free(unsafe { FreeOp::new_unchecked(buffer) });
        // Returning this error would say that nothing was enqueued, so it is only reported.
        if let Err(error) = freed {
            self.at.context.driver().report(error);
        }
        done
    }

    /// The segments as rows, if inputs are nearest across segments; and how many blocks share a
    /// segment.
    fn shares(&self, operands: &ReduceOperands) -> (Option<ReduceOperands>, u64) {
        let lines =
            operands.inner_lines().filter(|lines| self.combining.index.is_none() && plan::has_columns(lines));
        let split = plan::split(self.op, lines.as_ref().unwrap_or(operands));
        (lines, split)
    }

    /// Computes totals of segments that are rows or that `split` blocks share, then continues like
    /// `totals`.
    fn shared(
        &self,
        operands: &ReduceOperands,
        (lines, split): (Option<&ReduceOperands>, u64),
        arena: &mut Arena,
    ) -> Result<()> {
        let all = lines.unwrap_or(operands);
        let mut partials = self.partials(all, false, split, arena)?;
        if split > 1 {
            let shares = all.of_partials(&partials, segments(all) * split).cut(split);
            if segments(operands) == 1 {
                return self.totals(&shares, true, arena);
            }
            partials = self.partials(&shares, true, 1, arena)?;
        }
        self.totals(&operands.of_partials(&partials, segments(operands)), true, arena)
    }

    /// Computes totals of segments, then totals of these, until each row has one total.
    fn totals(&self, operands: &ReduceOperands, of_partials: bool, arena: &mut Arena) -> Result<()> {
        let segments = segments(operands);
        if segments == 1 {
            return self.enqueue(operands, of_partials, Output::Finished);
        }
        let partials = self.partials(operands, of_partials, 1, arena)?;
        self.totals(&operands.of_partials(&partials, segments), true, arena)
    }

    /// Computes the partials of segments, or of `split` shares of each, and stores them: operands for
    /// another launch.
    fn partials(
        &self,
        operands: &ReduceOperands,
        of_partials: bool,
        split: u64,
        arena: &mut Arena,
    ) -> Result<Vec<(Kind, u64)>> {
        let value_type = self.combining.value_type();
        let units = operands.rows() * segments(operands) * split;
        let values = arena.take_elements(units, value_type).ok_or_else(|| self.invalid())?;
        let mut partials = vec![(Kind::Input(0, value_type), values)];
        let mut indices = 0;
        if self.combining.index.is_some() {
            indices = arena.take_elements(units, ElementType::I64).ok_or_else(|| self.invalid())?;
            partials.push((Kind::Input(1, ElementType::I64), indices));
        }
        self.enqueue(operands, of_partials, Output::Partials { values, indices })?;
        Ok(partials)
    }

    /// Computes the totals of tiles, then the total before each tile, and from these the elements.
    fn scan(
        &self,
        operands: &ReduceOperands,
        (of_partials, form): (bool, ReduceForm),
        arena: &mut Arena,
    ) -> Result<()> {
        let value_type = self.combining.value_type();
        let (tile, tiles) = self.tiles(operands, of_partials);
        let pass = |carried| ScanPass::Elements { form, carried };
        if tiles == 1 {
            return self.enqueue(operands, of_partials, Output::Scan { tile, pass: pass(false), address: 0 });
        }
        let rows = operands.rows();
        let size = value_type.len_bytes() as u64;
        if size == 4 {
            // One store writes a value and its mark.
            let len_bytes = plan::look_back_bytes(rows, tiles);
            let address = arena.take(len_bytes).ok_or_else(|| self.invalid())?;
            self.clear(address, len_bytes)?;
            let pass = ScanPass::LookBack { form };
            return self.enqueue(operands, of_partials, Output::Scan { tile, pass, address });
        }
        let totals = arena.take_elements(rows * tiles, value_type).ok_or_else(|| self.invalid())?;
        let before = arena.take_elements(rows * tiles, value_type).ok_or_else(|| self.invalid())?;
        self.enqueue(operands, of_partials, Output::Scan { tile, pass: ScanPass::Totals, address: totals })?;
        let row = (tiles * size).cast_signed();
        let partials = ReduceOperands {
            kinds: vec![Kind::Result(value_type), Kind::Input(0, value_type)],
            bases: vec![before, totals],
            kept: [axis(rows, [row; 2])].into_iter().collect(),
            reduced: [axis(tiles, [size.cast_signed(); 2])].into_iter().collect(),
        };
        self.scan(&partials, (true, ReduceForm::Exclusive), arena)?;
        self.enqueue(operands, of_partials, Output::Scan { tile, pass: pass(true), address: before })
    }

    fn clear(&self, address: u64, len_bytes: u64) -> Result<()> {
        let words = usize::try_from(len_bytes / 4).map_err(|_| self.invalid())?;
        self.at.stream.enqueue("reduce", |driver, stream| {
            // SAFETY: the memory was allocated for this, and everything else that uses it comes
            // later.
            unsafe { driver.memset_d32_async(address, 0, words, stream) }
        })
    }

    /// Makes a launch. If it gives all totals from the elements, remembers it.
    fn enqueue(&self, operands: &ReduceOperands, of_partials: bool, output: Output) -> Result<()> {
        let pass = Pass::new(self.op, operands, of_partials, output).ok_or_else(|| self.invalid())?;
        let loaded = launch(self.at, &pass)?;
        let are_totals = match output {
            Output::Finished => !of_partials,
            // Calls of a capture may run side by side, and need scratch of their own.
            Output::Joined { .. } => !of_partials && !self.at.stream.captures(),
            _ => false,
        };
        if are_totals && operands.rows() == self.op.rows().len() as u64 {
            let mut launches = self.at.begin();
            launches.keep_reduction(self.op, (operands.kinds.clone(), loaded, pass.grid, pass.parameter));
        }
        Ok(())
    }
}
