//! `devarray replay`: stream programs, judged on the simulator or run on hardware.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use devarray_cuda::CudaDevice;
use devarray_mock::program::{Expect, Program, Verdict};

use crate::{
    Status,
    output::Output,
    replay::{self, Judged, Lines},
};

/// The arguments of `devarray replay`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  devarray replay conformance/golden/programs.jsonl
  devarray replay --schedules 100 --seed 7 --explain failing.jsonl
  devarray replay --backend cuda conformance/golden/programs.jsonl

Exit status: 0 if no program differs from what its file expects, 1 if one does, 2 if a file cannot be read.")]
#[non_exhaustive]
pub struct Arguments {
    /// Where the programs run
    #[arg(long, value_enum, default_value_t)]
    pub backend: Where,
    /// Random schedules tried for each program, besides the three fixed ones
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub schedules: u64,
    /// Seed of the first random schedule
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Explain each mistake: the operations, the bytes, the missing edge, the nearest miss, and a schedule that shows it
    #[arg(long)]
    pub explain: bool,
    /// Files of programs, one JSON object a line
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Where programs run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
#[non_exhaustive]
pub enum Where {
    /// The simulator, which judges them.
    #[default]
    Mock,
    /// The first CUDA device: only programs without a mistake.
    Cuda,
}

/// Runs the command.
///
/// # Errors
///
/// A file cannot be read, a line is no program, or the device fails.
pub fn run(arguments: &Arguments, output: &mut Output<'_>) -> Result<Status> {
    let device = match arguments.backend {
        Where::Mock => None,
        Where::Cuda => Some(CudaDevice::open(0).context("no CUDA device can be used")?),
    };
    let mut count = Count::default();
    for path in &arguments.files {
        let mut lines = Lines::open(path)?;
        while let Some(program) = lines.next_program()? {
            match &device {
                None => on_mock(&program, arguments, output, &mut count).with_context(|| lines.place())?,
                Some(device) => {
                    on_cuda(&program, device, output, &mut count).with_context(|| lines.place())?
                }
            }
        }
    }
    count.tell(output)
}

/// How many programs did as their file expects.
#[derive(Debug, Default)]
struct Count {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// Programs whose outcome is wrong whatever the file says.
    inconsistent: usize,
}

impl Count {
    fn add(&mut self, passed: bool) {
        self.passed += usize::from(passed);
        self.failed += usize::from(!passed);
    }

    fn tell(&self, output: &mut Output<'_>) -> Result<Status> {
        let Self { passed, failed, skipped, inconsistent } = self;
        if passed + failed + skipped > 0 {
            let skipped = if *skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
            output.line(format_args!("{passed} passed, {failed} failed{skipped}"))?;
        }
        Ok(if failed + inconsistent == 0 { Status::Success } else { Status::Failed })
    }
}

fn on_mock(
    program: &Program,
    arguments: &Arguments,
    output: &mut Output<'_>,
    count: &mut Count,
) -> Result<()> {
    let Judged { played, differing } = replay::judge(program, arguments.seed, arguments.schedules)?;
    let verdict = Verdict::new(program, &played);
    output.line(format_args!("{}", serde_json::to_string(&verdict)?))?;
    if let Some(schedule) = &differing {
        output.line(format_args!(
            "{}: {schedule} gives another outcome than the first schedule",
            program.id()
        ))?;
    }
    if let (true, Err(finding)) = (arguments.explain, &played) {
        for line in replay::explain(program, finding, arguments.seed, arguments.schedules)?.lines() {
            output.line(format_args!("  {line}"))?;
        }
    }
    match program.expect() {
        Some(expect) => count.add(verdict.meets(expect) && differing.is_none()),
        None => count.inconsistent += usize::from(differing.is_some()),
    }
    Ok(())
}

fn on_cuda(program: &Program, device: &CudaDevice, output: &mut Output<'_>, count: &mut Count) -> Result<()> {
    let wrong = matches!(program.expect(), Some(Expect::Error { .. }));
    let played = if wrong { None } else { replay::on_hardware(program, device)? };
    let Some(hosts) = played else {
        count.skipped += 1;
        return Ok(());
    };
    let verdict = Verdict::new(program, &Ok(hosts));
    if let Some(expect) = program.expect() {
        let passed = verdict.meets(expect);
        count.add(passed);
        if passed {
            return Ok(());
        }
    }
    output.line(format_args!("{}", serde_json::to_string(&verdict)?))
}
