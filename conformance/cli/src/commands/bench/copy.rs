//! `devarray bench copy`: copies on the device.

use anyhow::{Context as _, Result, ensure};
use clap::{Args, ValueEnum};
use devarray::{Context, ErasedArray, StreamHandle, copy::Plan};

use super::{Measurable, Measurement, heading};
use crate::{
    Status,
    bench::{BUILTIN, Case, Line, Oracle, Pattern, Table, Target, beside_memcpy, cold_sets},
    output::{Output, one_line},
    steps,
};

/// The arguments of `devarray bench copy`.
#[derive(Debug, Args)]
#[command(after_help = "\
A CASE is NAME:DTYPE:SHAPE:STEPS: a C-contiguous array of that type and shape, and what is done to it before the
result is copied into a fresh C-contiguous array.
  DTYPE   bool u8 i8 u16 i16 f16 bf16 u32 i32 f32 u64 i64 f64 c64 c128
  SHAPE   16384x8192
  STEPS   permute(1,0)  index(::2,...,None)  flip(0)  broadcast(4,3)  reshape(2,-1)  squeeze(), separated by `/`

Examples:
  devarray bench copy --backend cuda
  devarray bench copy --backend cuda --explain t2d:f32:16384x8192:permute(1,0)
  devarray bench copy --backend mock --json half:f16:512x512:index(:,:256)

Exit status: 0 if every result was right, 1 if one was not, 2 if a case cannot be read or measured.")]
#[non_exhaustive]
pub struct Arguments {
    /// Where the copies run
    #[arg(long, value_enum, default_value_t)]
    pub backend: Measurable,
    /// Print one JSON object a case
    #[arg(long)]
    pub json: bool,
    /// What the copies are compared with
    #[arg(long, value_enum, default_value_t)]
    pub reference: ReferenceCopy,
    /// Say how each copy is carried out, and why
    #[arg(long)]
    pub explain: bool,
    /// What to copy; a built-in list if none is given
    #[arg(value_name = "CASE")]
    pub cases: Vec<String>,
}

/// A reference for copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
#[non_exhaustive]
pub enum ReferenceCopy {
    /// A contiguous copy of as many bytes
    #[default]
    Memcpy,
}

/// Runs the command.
///
/// # Errors
///
/// A case cannot be read or has no result, or the device fails.
pub fn run(arguments: &Arguments, output: &mut Output<'_>) -> Result<Status> {
    let texts: Vec<&str> = match arguments.cases.is_empty() {
        true => BUILTIN.to_vec(),
        false => arguments.cases.iter().map(String::as_str).collect(),
    };
    // All cases are read before any is run.
    let cases = texts.into_iter().map(prepared).collect::<Result<Vec<_>>>()?;
    arguments.backend.run(Copies { arguments, cases, output })
}

/// A case and its expected result.
struct Prepared {
    case: Case,
    oracle: Oracle,
    result_bytes: usize,
}

fn prepared(text: &str) -> Result<Prepared> {
    let case: Case = text.parse()?;
    let name = || format!("case {text:?}");
    let size = |shape: &[usize]| {
        let len = shape.iter().try_fold(case.item_bytes, |len, &n| len.checked_mul(n));
        let len = len.filter(|&len| isize::try_from(len).is_ok());
        len.with_context(|| format!("{}: the size overflows", name()))
    };
    let base_bytes = size(&case.shape)?;
    let oracle = Oracle::new(&case.shape, &case.steps).with_context(name)?;
    let result_bytes = size(&oracle.shape())?;
    ensure!(base_bytes > 0 && result_bytes > 0, "{}: there is nothing to copy", name());
    Ok(Prepared { case, oracle, result_bytes })
}

struct Copies<'a, 'o> {
    arguments: &'a Arguments,
    cases: Vec<Prepared>,
    output: &'a mut Output<'o>,
}

impl Measurement for Copies<'_, '_> {
    type Output = Status;

    fn measure<D: Target>(self, device: D) -> Result<Status> {
        let heading = heading(&device);
        let stream = Context::new(device)?.stream()?;
        let mut table = Table::begin(self.arguments.json, &heading, self.output)?;
        let mut wrong = 0;
        for prepared in &self.cases {
            let mut sets = Sets::new(&stream, prepared).with_context(|| prepared.case.to_string())?;
            if let Err(error) = sets.check(prepared)? {
                table.wrong(&prepared.case.text, &one_line(&error), self.output)?;
                wrong += 1;
                continue;
            }
            let mut line = sets.time(prepared).with_context(|| prepared.case.to_string())?;
            line.explain = self.arguments.explain.then(|| sets.explain(prepared)).transpose()?;
            table.line(&line, self.output)?;
        }
        table.end(self.output)?;
        Ok(if wrong == 0 { Status::Success } else { Status::Failed })
    }
}

/// The arrays and results of one case, in more sets than any cache holds.
struct Sets<'s, D: Target> {
    stream: &'s StreamHandle<D>,
    sets: Vec<(ErasedArray<D>, ErasedArray<D>)>,
}

impl<'s, D: Target> Sets<'s, D> {
    fn new(stream: &'s StreamHandle<D>, prepared: &Prepared) -> Result<Self> {
        let Prepared { case, oracle, result_bytes, .. } = prepared;
        let array = |shape: &[usize]| ErasedArray::uninit(stream, shape, case.item_bytes);
        let mut base = array(&case.shape)?;
        Pattern::new(case.dtype, case.item_bytes).write(stream, &mut base)?;
        let count = cold_sets(*result_bytes);
        let mut sets = vec![(base, array(&oracle.shape())?)];
        for _ in 1..count {
            let again = sets[0].0.view().to_contiguous(stream, devarray::Order::C)?;
            sets.push((again, array(&oracle.shape())?));
        }
        Ok(Self { stream, sets })
    }

    /// Enqueues the steps, and the copy of their result, for one of the sets.
    fn copy(&mut self, case: &Case, set: usize) -> Result<()> {
        let count = self.sets.len();
        let (base, result) = &mut self.sets[set % count];
        let mut result = result.view_mut();
        Ok(steps::apply(self.stream, base, &case.steps, |view, _| result.copy_from(self.stream, view))??)
    }

    /// Copies, and compares every element. The inner error means a wrong result.
    fn check(&mut self, Prepared { case, oracle, .. }: &Prepared) -> Result<Result<()>> {
        let pattern = Pattern::new(case.dtype, case.item_bytes);
        pattern.poison(self.stream, &mut self.sets[0].1)?;
        self.copy(case, 0).with_context(|| case.to_string())?;
        self.stream.synchronize()?;
        Ok(pattern.check(self.stream, &mut self.sets[0].1, oracle))
    }

    fn time(&mut self, prepared: &Prepared) -> Result<Line> {
        let Prepared { case, result_bytes, .. } = prepared;
        let (stream, sets) = (self.stream, self.sets.len());
        let [copy, memcpy] = beside_memcpy(stream, *result_bytes, sets, &mut |set| self.copy(case, set))?;
        let line = Line::new(case.text.clone(), case.dtype, &case.shape, *result_bytes);
        Ok(line.timed(result_bytes.saturating_mul(2), copy, memcpy))
    }

    fn explain(&self, Prepared { case, .. }: &Prepared) -> Result<Vec<String>> {
        let (base, result) = &self.sets[0];
        let limits = &self.stream.context().device().info().capabilities.clone();
        steps::apply(self.stream, base, &case.steps, |view, copied| {
            let plan = Plan::new(result.layout(), view.layout(), case.item_bytes, limits)?;
            let mut lines = D::explain(self.stream, &plan, result.address(), base.address());
            if copied {
                lines.insert(0, "a step had to copy; this is the last copy, both are timed:".to_owned());
            }
            anyhow::Ok(lines)
        })?
    }
}
