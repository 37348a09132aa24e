//! `devarray relayout`: rearranges an array file on a device.

use std::{path::PathBuf, time::Instant};

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use devarray::{Context, Device, Order, npy::Header};

use super::array_files::{Destination, Sink, Stage, dense, download, file_order, open, upload};
use crate::{
    Status,
    backend::Backend,
    limits,
    output::Output,
    steps::{self, Step, StepError},
};

/// The arguments of `devarray relayout`.
#[derive(Debug, Args)]
#[command(after_help = "\
Steps, separated by `/`:
  permute(2,0,1)   permute()                flip(0)   flip()      squeeze()
  index(::2,-1,...,None)                    broadcast(4,3)
  reshape(2,-1)    reshape(2,-1,F)          ravel(K)  copy(F)
  split(3,take=0)  array_split(3,axis=1,take=0)       split_at(2,-5,axis=1,take=2)

Examples:
  devarray relayout volume.npy -o slices.npy --steps \"permute(2,0,1)/index(::2)\"
  devarray relayout volume.npy -o volume.npy --order F
  devarray relayout image.npy -o mirrored.npy --steps \"flip(1)\" --backend mock
  devarray relayout image.npy -o - --steps \"flip(1)\" --quiet | sha256sum")]
#[non_exhaustive]
pub struct Arguments {
    /// The array file to read
    #[arg(value_name = "IN.npy")]
    pub input: PathBuf,
    /// The array file to write; `-` is standard output, and what is said goes to standard error
    #[arg(short, long = "out", value_name = "OUT.npy")]
    pub output: PathBuf,
    /// What to do to the array
    #[arg(long, default_value = "", hide_default_value = true, value_name = "STEPS")]
    pub steps: String,
    /// Memory order of the result; one that is contiguous either way is written as C, as NumPy does
    #[arg(long, value_enum, default_value_t)]
    pub order: FileOrder,
    /// Where the steps run
    #[arg(long, value_enum, default_value_t)]
    pub backend: Backend,
}

/// An order a file can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
#[value(rename_all = "UPPER")]
#[non_exhaustive]
pub enum FileOrder {
    /// Row-major
    #[default]
    C,
    /// Column-major
    F,
}

/// Runs the command.
///
/// # Errors
///
/// A file cannot be read or written, a step cannot be read or has no result, or the device fails.
pub fn run(arguments: &Arguments, output: &mut Output<'_>) -> Result<Status> {
    let steps = steps::parse_steps(&arguments.steps);
    let steps = steps.with_context(|| format!("{}: --steps", arguments.input.display()))?;
    relayout(arguments.backend.open()?, arguments, &steps, output)
}

/// Runs the command on a device.
///
/// # Errors
///
/// The errors of [`run`].
pub fn relayout<D: Device>(
    device: D,
    arguments: &Arguments,
    steps: &[Step],
    output: &mut Output<'_>,
) -> Result<Status> {
    let input_name = || arguments.input.display().to_string();
    let order = match arguments.order {
        FileOrder::C => Order::C,
        FileOrder::F => Order::F,
    };
    // Everything that can be wrong is checked before the first element is read.
    let input = open(&arguments.input).with_context(input_name)?;
    let descr = input.header().descr.clone();
    let at_fault = |StepError { index, cause, .. }: StepError| {
        let text = arguments.steps.split('/').nth(index).unwrap_or_default().trim();
        anyhow::Error::new(*cause).context(format!("{}: step {} `{text}`", input_name(), index + 1))
    };
    let (base, item_bytes) = (input.header().layout()?, input.header().item_bytes);
    let result = steps::check(&base, item_bytes, steps).map_err(at_fault)?;
    limits::check_axes(result.rank()).with_context(|| format!("{}: the result", input_name()))?;
    let mut sink = Sink::new(Destination::create(&arguments.output)?, output);
    sink.news(format_args!("{}: {}", device.info().backend, device.info().name))?;
    let context = Context::new(device)?;
    let stream = context.stream()?;

    let (mut reading, mut uploading) = (Stage::new("read"), Stage::new("upload"));
    let base = upload(input, &arguments.input, &stream, (&mut reading, &mut uploading), sink.is_quiet());
    let base = base.with_context(input_name)?;
    uploading.time(0, || stream.synchronize())?;
    sink.news(reading)?;
    sink.news(uploading)?;

    let (begun, mut stage) = (Instant::now(), Stage::new("steps"));
    let written = steps::apply(&stream, &base, steps, |view, _| {
        let dense = dense(&stream, view, order)?;
        stream.synchronize()?;
        stage.lasted(begun.elapsed(), usize::try_from(context.statistics().copied_bytes)?);
        sink.news(&stage)?;
        let header = Header::new(&descr, file_order(view.shape(), order)?, view.shape())?;
        download(&stream, &dense.view(), &header, order, &mut sink)
    });
    let (download, write) = written.map_err(at_fault)?.with_context(input_name)?;
    sink.news(download)?;
    sink.news(write)?;
    Ok(Status::Success)
}
