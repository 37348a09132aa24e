//! `devarray bench`: measures how fast a backend is.

pub mod call;
pub mod collective;
pub mod compute;
pub mod copy;
pub mod joins;
pub mod overhead;
pub mod transfer;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand, ValueEnum};
use devarray::Device;
use devarray_cuda::CudaDevice;
use devarray_host::HostDevice;
use devarray_mock::MockDevice;

use crate::{Status, bench::Target, output::Output};

/// The arguments of `devarray bench`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  devarray bench copy --backend cuda
  devarray bench call --backend cuda
  devarray bench collective --backend cuda --ranks 4
  devarray bench compute --backend cuda --json
  devarray bench joins --backend cuda
  devarray bench transfer --backend cuda --json
  devarray bench overhead --backend host
  devarray bench copy --backend mock")]
#[non_exhaustive]
pub struct Arguments {
    /// What is measured
    #[command(subcommand)]
    pub subject: Subject,
}

/// A subject of measurement.
#[derive(Debug, Subcommand)]
#[non_exhaustive]
pub enum Subject {
    /// Order, search, sums by index and products beside a contiguous copy of as many bytes
    ///
    /// Each result is compared with the CPU's before it is timed.
    Call(call::Arguments),
    /// Exchanges between ranks, by the slowest of them
    ///
    /// Each result is checked before it is timed.
    Collective(collective::Arguments),
    /// Functions, reductions and scans beside a contiguous copy of as many bytes
    ///
    /// Each result is compared with the simulator's before it is timed.
    Compute(compute::Arguments),
    /// Copies on the device beside a contiguous copy of as many bytes
    ///
    /// Each result is compared with an index-by-index oracle before it is timed.
    Copy(copy::Arguments),
    /// Joins and paddings beside a contiguous copy of as many bytes
    ///
    /// Each result is compared with an index-by-index oracle before it is timed.
    Joins(joins::Arguments),
    /// Copies between host and device beside the driver's own
    Transfer(transfer::Arguments),
    /// Nanoseconds a call, beside the driver's own
    Overhead(overhead::Arguments),
}

/// A backend that can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
#[non_exhaustive]
pub enum Measurable {
    /// The first CUDA device.
    #[default]
    Cuda,
    /// The CPU, with `DEVARRAY_THREADS` threads, or as many as the machine has.
    Host,
    /// The simulator in host memory.
    Mock,
}

/// A measurement that works for any device.
trait Measurement {
    type Output;

    fn measure<D: Target>(self, device: D) -> Result<Self::Output>;
}

impl Measurable {
    fn run<M: Measurement>(self, measurement: M) -> Result<M::Output> {
        match self {
            Self::Cuda => measurement.measure(CudaDevice::open(0).context("no CUDA device can be used")?),
            Self::Host => measurement.measure(HostDevice::new()),
            Self::Mock => measurement.measure(MockDevice::new()),
        }
    }
}

/// The device, and its driver if it has one, for the heading of a table.
fn heading(device: &impl Device) -> String {
    let info = device.info();
    let driver = if info.driver.is_empty() { String::new() } else { format!(", driver {}", info.driver) };
    format!("{}: {}{driver}", info.backend, info.name)
}

/// Runs the command.
///
/// # Errors
///
/// A case cannot be read, a result is wrong, or the device fails.
pub fn run(arguments: &Arguments, output: &mut Output<'_>) -> Result<Status> {
    match &arguments.subject {
        Subject::Call(arguments) => call::run(arguments, output),
        Subject::Collective(arguments) => collective::run(arguments, output),
        Subject::Compute(arguments) => compute::run(arguments, output),
        Subject::Copy(arguments) => copy::run(arguments, output),
        Subject::Joins(arguments) => joins::run(arguments, output),
        Subject::Transfer(arguments) => transfer::run(arguments, output),
        Subject::Overhead(arguments) => overhead::run(arguments, output),
    }
}
