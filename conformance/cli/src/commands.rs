//! The command line, with one file for each command.

mod array_files;
pub mod bench;
pub mod call;
pub mod check;
pub mod devices;
pub mod golden;
pub mod launch;
pub mod map;
pub mod relayout;
pub mod replay;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::{Status, output::Output};

/// Arrays in device memory: look at devices, rearrange array files, compute on them, check a
/// backend.
#[derive(Debug, Parser)]
#[command(name = "devarray", version, max_term_width = 100)]
#[command(
    after_help = "Exit status: 0 success, 1 a check failed, 2 the input or the environment is at fault.\n\
                  Lines of input may have 16 MiB, arrays in files 64 axes; the README lists all limits."
)]
pub struct Cli {
    /// Print results and errors only: no stages, no tables, no progress
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands of the command line.
#[derive(Debug, Subcommand)]
#[non_exhaustive]
pub enum Command {
    /// Measure copies, transfers and calls on a backend
    ///
    /// Each beside what the driver alone takes for as many bytes, in the same run.
    Bench(bench::Arguments),
    /// Sort, search, count, add by index or multiply .npy files, on a device
    ///
    /// Reads the files, moves the arrays to the device, makes the call there, and writes its results.
    /// One total order, always stable; sums have one value, whatever the device. A file is replaced
    /// when its result is complete, and not before; it may be one of the inputs.
    Call(call::Arguments),
    /// Run the conformance suite on a backend
    ///
    /// Checks every law and prints a table by group; each law that is broken with what broke and
    /// the command that shows it again.
    Check(check::Arguments),
    /// List every backend and device
    ///
    /// Each with its name, generation, driver, and memory free and in total. A backend without a
    /// device says why in one line; that is no error.
    Devices(devices::Arguments),
    /// Run golden cases of layouts, functions and calls on a backend
    ///
    /// Runs every case through the public API, the data living in device memory: layout cases, cases
    /// of functions, reductions and scans, and calls of order and sums by index. Prints one line for each case that
    /// differs, and a last line `N passed, M failed`.
    Golden(golden::Arguments),
    /// Start a program several times on this machine, as ranks of one job
    ///
    /// Each process finds its rank in the variables of torchrun: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
    /// MASTER_ADDR and MASTER_PORT; and in DEVARRAY_SECRET a secret that is made for the job. All write to this
    /// terminal. If one fails, the others are asked to end, and killed if they are still there after 5 seconds.
    /// The exit status is the first failed one's, or 128 and the number of the signal that ended it.
    Launch(launch::Arguments),
    /// Compute a function of .npy files on a device
    ///
    /// Reads the files, moves the arrays to the device, computes the function there, reduces the
    /// result if asked to, and writes it. Inputs are `x0`, `x1` and so on, broadcast together
    /// as NumPy does. Types never mix silently. OUT is replaced when the result is complete,
    /// and not before; it may be one of the inputs.
    Map(map::Arguments),
    /// Rearrange a .npy file on a device
    ///
    /// Reads the file, moves the array to the device, carries out the steps there, brings the
    /// result back and writes it, as NumPy would. Elements are moved as they are: every NumPy
    /// element type of a fixed size passes, in either byte order. IN and OUT may be one file;
    /// OUT is replaced when the result is complete, and not before.
    Relayout(relayout::Arguments),
    /// Judge stream programs
    ///
    /// Plays each program on the simulator under many schedules and prints a line of JSON with its
    /// verdict: right, with the bytes it leaves, or the first mistake. Where a file says what
    /// it expects, a last line `N passed, M failed`.
    Replay(replay::Arguments),
}

impl Cli {
    /// Does what was asked for.
    ///
    /// # Errors
    ///
    /// The input or the environment is at fault. The error, as [one line](crate::output::one_line), names
    /// both.
    pub fn run(&self, output: &mut Output<'_>) -> Result<Status> {
        if self.quiet {
            output.be_quiet();
        }
        match &self.command {
            Command::Bench(arguments) => bench::run(arguments, output),
            Command::Call(arguments) => call::run(arguments, output),
            Command::Check(arguments) => check::run(arguments, output),
            Command::Devices(arguments) => devices::run(arguments, output),
            Command::Golden(arguments) => golden::run(arguments, output),
            Command::Launch(arguments) => launch::run(arguments),
            Command::Map(arguments) => map::run(arguments, output),
            Command::Relayout(arguments) => relayout::run(arguments, output),
            Command::Replay(arguments) => replay::run(arguments, output),
        }
    }
}
