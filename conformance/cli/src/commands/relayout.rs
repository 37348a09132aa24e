//! `devarray relayout`: an array file through a device.

mod stage;

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use devarray::{
    Context, Device, ErasedArray, ErasedView, Layout, LayoutError, NdLayout, Order, Reshaped, StreamHandle,
};

use self::stage::Stage;
use crate::{
    Status,
    backend::{Backend, Job},
    npy::{self, Header, NpyError},
    output::{AtomicFile, Output, Progress},
    steps::{self, Step, StepError},
};

/// The arguments of `devarray relayout`.
#[derive(Debug, Args)]
#[command(after_help = "\
Steps, separated by `/`:
  permute(2,0,1)   index(::2,-1,...,None)   flip(0)   squeeze()   broadcast(4,3)
  reshape(2,-1)    reshape(2,-1,F)          ravel(K)  copy(F)
  split(3,take=0)  array_split(3,axis=1,take=0)       split_at(2,5,axis=1,take=2)

Examples:
  devarray relayout volume.npy -o slices.npy --steps \"permute(2,0,1)/index(::2)\"
  devarray relayout volume.npy -o volume.npy --order F
  devarray relayout image.npy -o mirrored.npy --steps \"flip(1)\" --backend mock")]
#[non_exhaustive]
pub struct Arguments {
    /// The array file to read
    #[arg(value_name = "IN.npy")]
    pub input: PathBuf,
    /// The array file to write
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
    let steps =
        steps::parse_steps(&arguments.steps).with_context(|| arguments.input.display().to_string())?;
    arguments.backend.run(Relayout { arguments, steps, output })
}

struct Relayout<'a, 'o> {
    arguments: &'a Arguments,
    steps: Vec<Step>,
    output: &'a mut Output<'o>,
}

impl Job for Relayout<'_, '_> {
    type Output = Status;

    fn run<D: Device>(self, device: D) -> Result<Status> {
        relayout(device, self.arguments, &self.steps, self.output)
    }
}

/// Runs the command on a device.
///
/// # Errors
///
/// As [`run`].
pub fn relayout<D: Device>(
    device: D,
    arguments: &Arguments,
    steps: &[Step],
    output: &mut Output<'_>,
) -> Result<Status> {
    output.line(format_args!("{}: {}", device.info().backend, device.info().name))?;
    let context = Context::new(device)?;
    let stream = context.stream()?;
    let input_name = arguments.input.display();
    let order = match arguments.order {
        FileOrder::C => Order::C,
        FileOrder::F => Order::F,
    };

    let stage = Stage::begin("read");
    let (header, elements) = read(&arguments.input).with_context(|| input_name.to_string())?;
    stage.end(elements.len(), output)?;

    let stage = Stage::begin("upload");
    let host = header.layout()?;
    let base = ErasedArray::from_host(&stream, &elements, &host, header.item_bytes, header.order)
        .with_context(|| input_name.to_string())?;
    stream.synchronize()?;
    stage.end(elements.len(), output)?;
    drop(elements);

    let stage = Stage::begin("steps");
    let result = steps::apply(&stream, &base, steps, |view, _| {
        let dense = dense(&stream, view, order)?;
        stream.synchronize()?;
        stage.end(usize::try_from(context.statistics().copied_bytes)?, output)?;
        let stage = Stage::begin("download");
        let elements = download(&stream, &dense.view(), order)?;
        stage.end(elements.len(), output)?;
        anyhow::Ok((view.shape().to_vec(), elements))
    });
    let (shape, elements) = match result {
        Ok(result) => result.with_context(|| input_name.to_string())?,
        Err(StepError { index, cause, .. }) => {
            let text = arguments.steps.split('/').nth(index).unwrap_or_default().trim();
            return Err(*cause).with_context(|| format!("{input_name}: step {} `{text}`", index + 1));
        }
    };

    let stage = Stage::begin("write");
    let header = Header { order: file_order(&shape, order)?, shape, ..header };
    write(&arguments.output, &header, &elements).with_context(|| arguments.output.display().to_string())?;
    stage.end(elements.len(), output)?;
    Ok(Status::Success)
}

fn read(path: &Path) -> Result<(Header, Vec<u8>), NpyError> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    let file_bytes = metadata.is_file().then_some(metadata.len());
    let progress = Progress::new("read", file_bytes.unwrap_or(0));
    npy::read(&mut file, file_bytes, |done_bytes| progress.at(done_bytes))
}

fn write(path: &Path, header: &Header, elements: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    let progress = Progress::new("write", elements.len() as u64);
    npy::write(&mut file, header, elements, |done_bytes| progress.at(done_bytes))?;
    file.commit()
}

/// The elements dense in `order`: as they are, or copied on the device.
fn dense<'a, D: Device>(
    stream: &StreamHandle<D>,
    view: &ErasedView<'a, D>,
    order: Order,
) -> devarray::Result<Reshaped<ErasedView<'a, D>, ErasedArray<D>>> {
    let is_dense = match order {
        Order::F => view.is_f_contiguous(),
        _ => view.is_c_contiguous(),
    };
    Ok(if is_dense {
        Reshaped::View(view.clone())
    } else {
        Reshaped::Copied(view.to_contiguous(stream, order)?)
    })
}

fn download<D: Device>(stream: &StreamHandle<D>, view: &ErasedView<'_, D>, order: Order) -> Result<Vec<u8>> {
    let host = Layout::contiguous(view.shape(), order)?;
    // Cannot overflow: the device holds as many.
    let len_bytes = host.len() * view.item_bytes();
    let mut elements = Vec::new();
    elements.try_reserve_exact(len_bytes).map_err(|_| NpyError::NoMemory { len_bytes })?;
    elements.resize(len_bytes, 0);
    view.copy_to_host(stream, &mut elements, &host)?;
    Ok(elements)
}

/// The order a file names: C if both are right, as NumPy has it.
fn file_order(shape: &[usize], order: Order) -> Result<Order, LayoutError> {
    let is_c = Layout::contiguous(shape, order)?.is_c_contiguous();
    Ok(if is_c { Order::C } else { order })
}
