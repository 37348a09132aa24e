//! `devarray bench joins`: joins and paddings on the device.

mod cases;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use devarray::{Context, ErasedArray, ErasedView, Order, StreamHandle};

use self::cases::{Case, ITEM_BYTES, Operation};
use super::{Measurable, Measurement, heading};
use crate::{
    Status,
    bench::{Line, Pattern, Table, Target, beside_memcpy, cold_sets},
    limits::MEASURED_BYTES,
    output::{Output, one_line},
};

/// The arguments of `devarray bench joins`.
#[derive(Debug, Args)]
#[command(after_help = "\
Elements are f32. GB/s count the bytes of the result twice, as for a copy, also where fewer are read.

Examples:
  devarray bench joins --backend cuda --json
  devarray bench joins --backend mock --bytes 1048576

Exit status: 0 if every result was right, 1 if one was not, 2 if nothing can be measured.")]
#[non_exhaustive]
pub struct Arguments {
    /// Where the arrays are
    #[arg(long, value_enum, default_value_t)]
    pub backend: Measurable,
    /// Print one JSON object a case
    #[arg(long)]
    pub json: bool,
    /// Bytes of each result, about
    #[arg(long, value_name = "N", default_value_t = 256 << 20)]
    pub bytes: usize,
}

/// The number of bytes in the smallest result for which every shape of the list exists.
const MIN_BYTES: usize = 64 << 10;

/// Runs the command.
///
/// # Errors
///
/// The device fails, or memory runs out.
pub fn run(arguments: &Arguments, output: &mut Output<'_>) -> Result<Status> {
    ensure!(arguments.bytes >= MIN_BYTES, "--bytes: the smallest result has {MIN_BYTES} bytes");
    ensure!(arguments.bytes <= MEASURED_BYTES, "--bytes: {} is too much to measure", arguments.bytes);
    arguments.backend.run(Joins { arguments, output })
}

struct Joins<'a, 'o> {
    arguments: &'a Arguments,
    output: &'a mut Output<'o>,
}

impl Measurement for Joins<'_, '_> {
    type Output = Status;

    fn measure<D: Target>(self, device: D) -> Result<Status> {
        let heading = heading(&device);
        let stream = Context::new(device)?.stream()?;
        let mut table = Table::begin(self.arguments.json, &heading, self.output)?;
        let mut wrong = 0;
        for case in cases::all(self.arguments.bytes / ITEM_BYTES) {
            let mut sets = Sets::new(&stream, &case).context(case.name)?;
            if let Err(error) = sets.check(&case)? {
                table.wrong(case.name, &one_line(&error), self.output)?;
                wrong += 1;
                continue;
            }
            table.line(&sets.time(&case).context(case.name)?, self.output)?;
        }
        table.end(self.output)?;
        Ok(if wrong == 0 { Status::Success } else { Status::Failed })
    }
}

/// The parts and results of one case, in more sets than any cache holds.
struct Sets<'s, D: Target> {
    stream: &'s StreamHandle<D>,
    sets: Vec<(Vec<ErasedArray<D>>, ErasedArray<D>)>,
    other: Vec<u8>,
}

impl<'s, D: Target> Sets<'s, D> {
    fn new(stream: &'s StreamHandle<D>, case: &Case) -> Result<Self> {
        let pattern = Pattern::new("f32", ITEM_BYTES);
        // Elements are numbered through all parts, because these are cut from one array.
        let per_part: usize = case.part.iter().product();
        let mut whole = ErasedArray::uninit(stream, &[case.parts, per_part], ITEM_BYTES)?;
        pattern.write(stream, &mut whole)?;
        let shape: Vec<isize> = case.part.iter().map(|extent| extent.cast_signed()).collect();
        let parts = || -> Result<Vec<_>> {
            let part = |row: ErasedView<'_, D>| {
                Ok(row.reshape(&shape[..], Order::C)?.to_contiguous(stream, Order::C)?)
            };
            whole.view().axis_iter(0)?.map(part).collect()
        };
        let result = || ErasedArray::uninit(stream, &case.result, ITEM_BYTES);
        let sets = (0..cold_sets(case.result_bytes())).map(|_| Ok((parts()?, result()?)));
        Ok(Self { stream, sets: sets.collect::<Result<_>>()?, other: pattern.other() })
    }

    /// Enqueues the operation for one of the sets.
    fn enqueue(&mut self, case: &Case, set: usize) -> Result<()> {
        let count = self.sets.len();
        let (parts, result) = &mut self.sets[set % count];
        let (stream, mut result) = (self.stream, result.view_mut());
        let views: Vec<_> = parts.iter().map(ErasedArray::view).collect();
        match &case.operation {
            Operation::Concatenate { axis } => result.concatenate_from(stream, &views, *axis)?,
            Operation::Stack { axis } => result.stack_from(stream, &views, *axis)?,
            Operation::Pad { widths, mode } => {
                views[0].pad_into(stream, widths, mode.with(&self.other), &mut result)?;
            }
            Operation::Roll { shifts, axes } => views[0].roll_into(stream, shifts, axes, &mut result)?,
            Operation::Tile { repeats } => views[0].tile_into(stream, repeats, &mut result)?,
            Operation::Repeat { count, axis } => views[0].repeat_into(stream, *count, *axis, &mut result)?,
        }
        Ok(())
    }

    /// Makes the operation, and compares every element. The inner error means a wrong result.
    fn check(&mut self, case: &Case) -> Result<Result<()>> {
        let pattern = Pattern::new("f32", ITEM_BYTES);
        pattern.poison(self.stream, &mut self.sets[0].1)?;
        self.enqueue(case, 0).context(case.name)?;
        self.stream.synchronize()?;
        let numbers = |start, end, each: &mut dyn FnMut(isize)| case.numbers(start, end, each);
        Ok(pattern.check_numbers(self.stream, &mut self.sets[0].1, &case.result, numbers))
    }

    fn time(&mut self, case: &Case) -> Result<Line> {
        let (stream, sets, bytes) = (self.stream, self.sets.len(), case.result_bytes());
        let [seconds, memcpy] = beside_memcpy(stream, bytes, sets, &mut |set| self.enqueue(case, set))?;
        let line = Line::new(case.name.to_owned(), "f32", &case.part, bytes);
        Ok(line.timed(bytes.saturating_mul(2), seconds, memcpy))
    }
}
