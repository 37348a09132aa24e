//! The command line: one file a command.

pub mod devices;
pub mod golden;
pub mod relayout;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::{Status, output::Output};

/// Arrays in device memory: look at devices, rearrange array files, check a backend.
#[derive(Debug, Parser)]
#[command(name = "devarray", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Exit status: 0 success, 1 a check failed, 2 the input or the environment is at fault."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the command line can do.
#[derive(Debug, Subcommand)]
#[non_exhaustive]
pub enum Command {
    /// List every backend and device
    Devices(devices::Arguments),
    /// Run golden layout cases on a backend
    Golden(golden::Arguments),
    /// Rearrange a .npy file on a device
    Relayout(relayout::Arguments),
}

impl Cli {
    /// Does what was asked for.
    ///
    /// # Errors
    ///
    /// The input or the environment is at fault; displayed with `{:#}`, the error is one line that names both.
    pub fn run(&self, output: &mut Output<'_>) -> Result<Status> {
        match &self.command {
            Command::Devices(arguments) => devices::run(arguments, output),
            Command::Golden(arguments) => golden::run(arguments, output),
            Command::Relayout(arguments) => relayout::run(arguments, output),
        }
    }
}
