//! `devarray replay`: judges stream programs on the simulator, or runs them on hardware.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use devarray::timeline::{Profiled, Timeline, TraceWriter};
use devarray_cuda::CudaDevice;
use devarray_mock::{
    Profile,
    program::{Expect, Program, Verdict},
};

use crate::{
    Status, limits,
    output::{AtomicFile, Output, is_standard_output},
    replay::{self, Judged, Lines, Tries},
};

/// The arguments of `devarray replay`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  devarray replay conformance/golden/programs.jsonl
  devarray replay --schedules 100 --seed 7 --explain failing.jsonl
  devarray replay --trace trace.json failing.jsonl
  devarray replay --backend cuda conformance/golden/programs.jsonl

Exit status: 0 if no program differs from what its file expects, 1 if one does, 2 if a file cannot be read.")]
#[non_exhaustive]
pub struct Arguments {
    /// Where the programs run
    #[arg(long, value_enum, default_value_t)]
    pub backend: Where,
    /// Random schedules tried for each program, besides the three fixed ones
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u64).range(..=limits::TRIES))]
    pub schedules: u64,
    /// Seed of the first random schedule
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// What the simulated machine does beyond what is promised: strict (nothing), cuda12-discrete,
    /// coherent-host, legacy, ptds
    #[arg(long, value_name = "NAME", default_value_t)]
    pub profile: Profile,
    /// Explain each mistake: the operations, the bytes, the missing edge, the nearest miss, and a
    /// schedule that shows it
    #[arg(long)]
    pub explain: bool,
    /// Tell what is right and yet needless: waits for what was waited for already
    #[arg(long)]
    pub lints: bool,
    /// Write what ran when, on the host and on each stream, to a file that Perfetto
    /// (ui.perfetto.dev) shows
    ///
    /// Each program is a process of it. On the simulator a program with a mistake runs under the
    /// first schedule that shows it, its operations marked; one without as on an idle device.
    /// On CUDA times are real.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
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
    let mut trace = arguments.trace.as_deref().map(Trace::create).transpose()?;
    let device = match arguments.backend {
        Where::Mock => None,
        Where::Cuda => {
            let device = CudaDevice::open(0).context("no CUDA device can be used")?;
            Some(if trace.is_some() {
                Hardware::Profiled(Profiled::new(device)?)
            } else {
                Hardware::Plain(device)
            })
        }
    };
    let mut count = Count::default();
    for path in &arguments.files {
        let mut lines = Lines::open(path)?;
        while let Some(program) = lines.next_program()? {
            let timeline = match &device {
                None => on_mock(&program, arguments, output, &mut count),
                Some(device) => on_cuda(&program, device, output, &mut count),
            };
            if let (Some(trace), Some(timeline)) = (&mut trace, timeline.with_context(|| lines.place())?) {
                trace.add(&timeline)?;
            }
        }
    }
    if let Some(trace) = trace {
        trace.finish()?;
    }
    count.tell(output)
}

/// The device that programs run on.
enum Hardware {
    Plain(CudaDevice),
    Profiled(Profiled<CudaDevice>),
}

/// The file of a trace being written.
struct Trace {
    path: PathBuf,
    writer: TraceWriter<AtomicFile>,
}

impl Trace {
    fn create(path: &Path) -> Result<Self> {
        ensure!(!is_standard_output(path), "--trace: standard output has the verdicts: name a file");
        let writer = AtomicFile::create(path).and_then(TraceWriter::new);
        Ok(Self { path: path.to_owned(), writer: writer.with_context(|| path.display().to_string())? })
    }

    fn add(&mut self, timeline: &Timeline) -> Result<()> {
        self.writer.add(timeline).with_context(|| self.path.display().to_string())
    }

    fn finish(self) -> Result<()> {
        let written = self.writer.finish().and_then(AtomicFile::commit);
        written.with_context(|| self.path.display().to_string())
    }
}

/// The number of programs with the result that their file expects.
#[derive(Debug, Default)]
struct Count {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// The number of programs whose result is wrong, whatever the file says.
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

/// Also makes the timeline of the program, if a trace is wanted.
fn on_mock(
    program: &Program,
    arguments: &Arguments,
    output: &mut Output<'_>,
    count: &mut Count,
) -> Result<Option<Timeline>> {
    let Arguments { profile, seed, schedules, .. } = *arguments;
    let tries = Tries { profile, seed, random: schedules, ..Tries::default() };
    let Judged { played, differing } = replay::judge(program, tries)?;
    let verdict = Verdict::new(program, &played);
    output.line(format_args!("{}", serde_json::to_string(&verdict)?))?;
    if let Some(schedule) = &differing {
        output.line(format_args!(
            "{}: {schedule} gives another outcome than the first schedule",
            program.id()
        ))?;
    }
    if let (true, Err(finding)) = (arguments.explain, &played) {
        for line in replay::explain(program, finding, tries)?.lines() {
            output.line(format_args!("  {line}"))?;
        }
    }
    if arguments.lints {
        for line in replay::lints(program, tries)?.lines() {
            output.line(format_args!("  {line}"))?;
        }
    }
    match program.expect() {
        Some(expect) => count.add(verdict.meets(expect) && differing.is_none()),
        None => count.inconsistent += usize::from(differing.is_some()),
    }
    let timeline = || replay::traced_on_mock(program, &played, tries);
    arguments.trace.is_some().then(timeline).transpose()
}

fn on_cuda(
    program: &Program,
    device: &Hardware,
    output: &mut Output<'_>,
    count: &mut Count,
) -> Result<Option<Timeline>> {
    let wrong = matches!(program.expect(), Some(Expect::Error { .. }));
    let played = match device {
        _ if wrong => None,
        Hardware::Plain(device) => replay::on_hardware(program, device)?.map(|hosts| (hosts, None)),
        Hardware::Profiled(device) => {
            replay::traced_on_hardware(program, device)?.map(|(hosts, timeline)| (hosts, Some(timeline)))
        }
    };
    let Some((hosts, timeline)) = played else {
        if wrong || program.expect().is_none() {
            count.skipped += 1;
        } else {
            output.line(format_args!("{}: the simulator finds a mistake: not run", program.id()))?;
            count.add(false);
        }
        return Ok(None);
    };
    let verdict = Verdict::new(program, &Ok(hosts));
    if let Some(expect) = program.expect() {
        let passed = verdict.meets(expect);
        count.add(passed);
        if passed {
            return Ok(timeline);
        }
    }
    output.line(format_args!("{}", serde_json::to_string(&verdict)?))?;
    Ok(timeline)
}
