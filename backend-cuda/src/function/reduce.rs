//! Reductions and scans: PTX text written from the program, the finish and the kind of
//! layouts.
//!
//! | form | takes | idea |
//! |---|---|---|
//! | rows | elements of a row side by side, and everything else | neighbouring threads have neighbouring lanes of a segment; short rows share a block |
//! | short | the same, of up to 1,024 elements | threads of one warp have a row or several, and load all their elements at once |
//! | columns | elements of neighbouring rows side by side | threads cover a line of the cache; each has lanes of a few columns, one after another |
//! | twice | rows of up to one segment that are reduced twice, as for a variance | a block keeps a row between |
//! | running | scans | a block has a tile of a row; totals go up a tree, what precedes comes down |
//!
//! All of them combine in the order that [`Combine`] states. A row of more than one segment takes
//! more than one launch, and so do columns that are too few to fill the device; launches hand parts
//! over in memory from the pool.
#![allow(unsafe_code)] // frees memory that the launches before have used

mod columns;
mod combining;
mod exchange;
mod extreme;
mod kept;
mod kernel;
mod linked;
mod normalize;
mod plan;
mod rows;
mod running;
mod short;
mod site;
mod sizes;
mod space;
mod twice;
mod write;

use std::{num::NonZeroUsize, sync::Arc};

use devarray::{
    Error, Result,
    backend::{Buffer, FreeOp, MapOp, ReduceForm, ReduceOp},
    function::{Combine, ElementType},
};

pub(super) use kernel::Kernel;
pub(super) use sizes::dynamic_bytes;
pub(super) use write::write;

use super::{
    computing::Computing,
    modules::Loaded,
    problem::{Kind, axis},
};
use crate::{driver::INVALID_VALUE, memory::CudaBuffer};
use combining::{Combining, is_of_position};
use kernel::{Running, Tile};
use plan::{Output, Pass};
use space::{Space, segments};

/// Most rows times segments of one launch.
const UNITS: u64 = 1 << 30;

/// Bytes that parts in memory are aligned to.
const ALIGNMENT: u64 = 256;

/// Enqueues a reduction or a scan. Does not synchronize.
pub(super) fn reduce(at: Computing<'_>, op: &ReduceOp<'_, CudaBuffer>) -> Result<()> {
    if launch_again(at, op)? {
        return Ok(());
    }
    let running = op.form() != ReduceForm::Total;
    let of_position = is_of_position(op.combine());
    let of_nothing =
        op.form() == ReduceForm::Exclusive && !matches!(op.combine(), Combine::Sum | Combine::Product);
    let space = Space::new(op).filter(|_| !(running && of_position || of_nothing));
    let mut space = space.ok_or_else(|| at.context.error("reduce", INVALID_VALUE))?;
    let combining = Combining::new(op.combine(), op.program().result_type(), true);
    if !(running || of_position || combining.has_order()) {
        space = space.in_any_order();
    }
    Reduction { at, op, combining }.halved(&space)
}

/// Launches a reduction with the kernel of an equal earlier one; returns whether there was one.
fn launch_again(at: Computing<'_>, op: &ReduceOp<'_, CudaBuffer>) -> Result<bool> {
    let driver = at.context.bound("reduce")?;
    let (raw, mut launches) = at.begin();
    let Some(ready) = launches.reduction(op) else { return Ok(false) };
    let launched = at.functions.launch(driver, raw, &ready.loaded, (ready.grid, 0), &ready.parameter);
    launched.map(|()| true).map_err(|failure| at.context.error("reduce", failure))
}

/// Enqueues two reductions, and a function of what they gave, in one launch, if one can compute
/// all; returns whether it can. Does not synchronize.
pub(super) fn fuse(
    at: Computing<'_>,
    reductions: &[ReduceOp<'_, CudaBuffer>],
    last: Option<&MapOp<'_, CudaBuffer>>,
) -> Result<bool> {
    let [first, second] = reductions else { return Ok(false) };
    match twice::pass(dynamic_bytes(&at.context.info().properties), first, second, last) {
        Some(pass) => launch(at, &pass).map(|_| true),
        None => Ok(false),
    }
}

fn launch(at: Computing<'_>, pass: &Pass<'_>) -> Result<Arc<Loaded>> {
    let Pass { class, grid, dynamic_bytes, parameter, program } = pass;
    let Computing { functions, context, .. } = at;
    let driver = context.bound("reduce")?;
    let loaded = functions.kernel(context, driver, program, class)?;
    let (raw, _launches) = at.begin();
    functions
        .launch(driver, raw, &loaded, (*grid, *dynamic_bytes), parameter)
        .map_err(|failure| context.error("reduce", failure))?;
    Ok(loaded)
}

/// A reduction that is being enqueued.
struct Reduction<'a> {
    at: Computing<'a>,
    op: &'a ReduceOp<'a, CudaBuffer>,
    combining: Combining,
}

/// Memory for parts, given away piece by piece.
struct Room {
    next: u64,
    end: u64,
}

impl Room {
    fn take(&mut self, len_bytes: u64) -> Option<u64> {
        let start = self.next;
        self.next = start.checked_add(padded(len_bytes)).filter(|end| *end <= self.end)?;
        Some(start)
    }

    /// Memory for so many elements.
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

    /// How a row of a scan is divided, and the number of its tiles.
    fn tiles(&self, space: &Space, of_parts: bool) -> (Tile, u64) {
        let instructions = if of_parts { 1 } else { self.op.program().instructions().len() as u64 };
        let tile = plan::tile(space.row_len(), instructions, self.combining.value_type());
        (tile, space.row_len().div_ceil(tile.len() as u64))
    }

    /// One half of the rows after the other, if there are very many.
    fn halved(&self, space: &Space) -> Result<()> {
        let is_total = self.op.form() == ReduceForm::Total;
        let each = if is_total { segments(space) } else { self.tiles(space, false).1 };
        if let Some(halves) = space.halves().filter(|_| space.rows() > UNITS / each) {
            return halves.iter().try_for_each(|half| self.halved(half));
        }
        let units = space.rows().checked_mul(each).filter(|units| *units <= UNITS);
        let units = units.ok_or_else(|| self.invalid())?;
        let (turned, split) = if is_total { self.shares(space) } else { (None, 1) };
        let is_plain = turned.is_none() && split == 1;
        if is_total && is_plain && self.combining.index.is_none() && plan::joins(space) {
            return self.enqueue(space, false, Output::Joined { address: self.at.stream.scratch()? });
        }
        let enqueue = |room: &mut Room| match &turned {
            _ if !is_total => self.running(space, (false, self.op.form()), room),
            _ if is_plain => self.totals(space, false, room),
            turned => self.shared(space, (turned.as_ref(), split), room),
        };
        if each == 1 && is_plain {
            return enqueue(&mut Room { next: 0, end: 0 });
        }
        // Parts have parts in turn, less than half as many; scans also keep the total
        // before each.
        let levels = (0..u64::BITS / 11).map(|level| padded((units >> level) * 16) + 2 * ALIGNMENT);
        let shares = if split > 1 { padded(units * split * 16) + 2 * ALIGNMENT } else { 0 };
        let len_bytes = usize::try_from(levels.sum::<u64>() + shares).ok().and_then(NonZeroUsize::new);
        let buffer = self.at.stream.alloc(len_bytes.ok_or_else(|| self.invalid())?)?;
        let start = buffer.address();
        let done = enqueue(&mut Room { next: start, end: start + buffer.len_bytes() as u64 });
        // SAFETY: everything that uses the memory is in front of this in the stream.
        let freed = self.at.stream.free(unsafe { FreeOp::new_unchecked(buffer) });
        // An error would say that nothing was enqueued.
        if let Err(error) = freed {
            self.at.context.driver().report(error);
        }
        done
    }

    /// The segments as rows, if inputs are nearest across segments; and how many blocks share a
    /// segment.
    fn shares(&self, space: &Space) -> (Option<Space>, u64) {
        let turned =
            space.turned().filter(|turned| self.combining.index.is_none() && plan::has_columns(turned));
        let split = plan::split(self.op, turned.as_ref().unwrap_or(space));
        (turned, split)
    }

    /// Computes totals of segments that are rows or that `split` blocks share, then goes on as
    /// `totals` does.
    fn shared(&self, space: &Space, (turned, split): (Option<&Space>, u64), room: &mut Room) -> Result<()> {
        let all = turned.unwrap_or(space);
        let mut operands = self.parts(all, false, split, room)?;
        if split > 1 {
            let shares = all.of_parts(&operands, segments(all) * split).cut(split);
            if segments(space) == 1 {
                return self.totals(&shares, true, room);
            }
            operands = self.parts(&shares, true, 1, room)?;
        }
        self.totals(&space.of_parts(&operands, segments(space)), true, room)
    }

    /// Computes totals of segments, then totals of these, until each row has one.
    fn totals(&self, space: &Space, of_parts: bool, room: &mut Room) -> Result<()> {
        let segments = segments(space);
        if segments == 1 {
            return self.enqueue(space, of_parts, Output::Finished);
        }
        let operands = self.parts(space, of_parts, 1, room)?;
        self.totals(&space.of_parts(&operands, segments), true, room)
    }

    /// Computes the parts of segments, or of `split` shares of each, and stores them: operands for
    /// another launch.
    fn parts(&self, space: &Space, of_parts: bool, split: u64, room: &mut Room) -> Result<Vec<(Kind, u64)>> {
        let value_type = self.combining.value_type();
        let units = space.rows() * segments(space) * split;
        let values = room.take_elements(units, value_type).ok_or_else(|| self.invalid())?;
        let mut operands = vec![(Kind::Input(0, value_type), values)];
        let mut indices = 0;
        if self.combining.index.is_some() {
            indices = room.take_elements(units, ElementType::I64).ok_or_else(|| self.invalid())?;
            operands.push((Kind::Input(1, ElementType::I64), indices));
        }
        self.enqueue(space, of_parts, Output::Parts { values, indices })?;
        Ok(operands)
    }

    /// Computes the totals of tiles, then the total before each tile, and from that the elements.
    fn running(&self, space: &Space, (of_parts, form): (bool, ReduceForm), room: &mut Room) -> Result<()> {
        let value_type = self.combining.value_type();
        let (tile, tiles) = self.tiles(space, of_parts);
        let what = |carried| Running::Elements { form, carried };
        if tiles == 1 {
            return self.enqueue(space, of_parts, Output::Running { tile, what: what(false), address: 0 });
        }
        let rows = space.rows();
        let size = value_type.len_bytes() as u64;
        if size == 4 {
            // One store writes a value and its mark.
            let len_bytes = plan::link_bytes(rows, tiles);
            let address = room.take(len_bytes).ok_or_else(|| self.invalid())?;
            self.clear(address, len_bytes)?;
            let what = Running::Linked { form };
            return self.enqueue(space, of_parts, Output::Running { tile, what, address });
        }
        let totals = room.take_elements(rows * tiles, value_type).ok_or_else(|| self.invalid())?;
        let before = room.take_elements(rows * tiles, value_type).ok_or_else(|| self.invalid())?;
        self.enqueue(space, of_parts, Output::Running { tile, what: Running::Totals, address: totals })?;
        let row = (tiles * size).cast_signed();
        let parts = Space {
            kinds: vec![Kind::Result(value_type), Kind::Input(0, value_type)],
            bases: vec![before, totals],
            kept: [axis(rows, [row; 2])].into_iter().collect(),
            reduced: [axis(tiles, [size.cast_signed(); 2])].into_iter().collect(),
        };
        self.running(&parts, (true, ReduceForm::Exclusive), room)?;
        self.enqueue(space, of_parts, Output::Running { tile, what: what(true), address: before })
    }

    fn clear(&self, address: u64, len_bytes: u64) -> Result<()> {
        let words = usize::try_from(len_bytes / 4).map_err(|_| self.invalid())?;
        self.at.stream.enqueue("reduce", |driver, stream| {
            // SAFETY: the memory was allocated for this, and everything else that uses it comes
            // behind.
            unsafe { driver.memset_d32_async(address, 0, words, stream) }
        })
    }

    /// Makes a launch, and remembers it if it gives all totals from the elements.
    fn enqueue(&self, space: &Space, of_parts: bool, output: Output) -> Result<()> {
        let pass = Pass::new(self.op, space, of_parts, output).ok_or_else(|| self.invalid())?;
        let loaded = launch(self.at, &pass)?;
        let are_totals = !of_parts && matches!(output, Output::Finished | Output::Joined { .. });
        if are_totals && space.rows() == self.op.rows().len() as u64 {
            let (_, mut launches) = self.at.begin();
            launches.keep_reduction(self.op, (space.kinds.clone(), loaded, pass.grid, pass.parameter));
        }
        Ok(())
    }
}
