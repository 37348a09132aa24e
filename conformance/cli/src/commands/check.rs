//! `devarray check`: runs the conformance suite on a backend.

use std::{cell::RefCell, panic, rc::Rc, time::SystemTime};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum, builder::RangedU64ValueParser};
use devarray::{Device, Error, backend::DeviceInfo};
use devarray_any::AnyDevice;
use devarray_conformance::{Harness, Law};
use devarray_cuda::CudaDevice;
use devarray_host::HostDevice;
use devarray_mock::{MockDevice, Schedule};
use indicatif::ProgressBar;

use crate::{
    Status,
    check::{Candidate, Checked, Found, Report, Run, Tally, check as check_law, write},
    limits,
    output::Output,
};

/// A backend that can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
#[non_exhaustive]
pub enum Checkable {
    /// The simulator, under three schedules; two devices of it where a law is about two.
    #[default]
    Mock,
    /// The CPU, with one thread and with several; two devices where a law is about two.
    Host,
    /// The first CUDA device; with the second, if there is one, where a law is about two.
    Cuda,
}

/// The memory of the simulated device in bytes. It is small, so that laws that fill it take no
/// longer than others.
const MOCK_BYTES: usize = 64 << 20;

/// The most devices that a law needs, unless told otherwise.
const MOST_RANKS: usize = 3;

/// The memory of the host device in bytes; its blocks are rounded up to pages.
const HOST_BYTES: usize = 256 << 20;

/// The arguments of `devarray check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  devarray check
  devarray check --backend cuda --report md=report.md,junit=report.xml
  devarray check --filter copies:: --cases 500 --seed 7
  devarray check --backend cuda --ranks 4

Exit status: 0 if no law is broken, 1 if one is, 2 if none could be run.")]
#[non_exhaustive]
pub struct Arguments {
    /// What is checked
    #[arg(long, value_enum, default_value_t)]
    pub backend: Checkable,
    /// Check only laws whose group::name contains NAME
    #[arg(long, value_name = "NAME")]
    pub filter: Option<String>,
    /// Generated cases a law
    #[arg(long, value_name = "N", default_value_t = 48, value_parser = RangedU64ValueParser::<usize>::new().range(1..=limits::TRIES))]
    pub cases: usize,
    /// Seed of the generated cases
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Check the laws of ranks alone, with N ranks; on CUDA they share devices if there are fewer
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(2..=limits::RANKS as u64))]
    pub ranks: Option<usize>,
    /// Write reports, such as md=FILE,json=FILE,junit=FILE
    #[arg(long, value_name = "FORMAT=FILE", value_delimiter = ',')]
    pub report: Vec<Report>,
}

/// Runs the command.
///
/// # Errors
///
/// There is no device, no law matches the filter, no law was run, or a report cannot be written.
pub fn run(arguments: &Arguments, output: &mut Output<'_>) -> Result<Status> {
    let most_ranks = arguments.ranks.unwrap_or(MOST_RANKS);
    let (info, candidates) = match arguments.backend {
        Checkable::Mock => {
            let schedules = [
                ("lazy", Schedule::Lazy),
                ("reverse lazy", Schedule::ReverseLazy),
                ("random", Schedule::Random),
            ];
            let seed = arguments.seed;
            let candidates = schedules.map(|(name, schedule)| {
                let device = move |ordinal| {
                    let builder =
                        MockDevice::builder().ordinal(ordinal).schedule(schedule.clone()).seed(seed);
                    builder.memory_limit_bytes(MOCK_BYTES).build()
                };
                // Ranks exchange elements within one machine, which begins with the device of rank
                // 0.
                let (first, machine) = (device.clone(), RefCell::new(None));
                let rank = move |rank: usize| match (rank, &mut *machine.borrow_mut()) {
                    (1.., Some(begun)) => Ok::<_, Error>(MockDevice::sibling(begun).into()),
                    (_, begun) => Ok(begun.insert(first(0)).clone().into()),
                };
                let last = Rc::new(RefCell::new(MockDevice::new()));
                let opened = Rc::clone(&last);
                let Candidate { name, harness } = arguments.candidate(name, move |ordinal| {
                    let device = device(ordinal);
                    if ordinal == 0 {
                        opened.replace(device.clone());
                    }
                    device.into()
                });
                let other_process = move || Ok::<_, Error>(last.borrow().other_process().into());
                let harness = harness.with_ranks(most_ranks, rank).with_other_process(other_process);
                Candidate::new(name, harness)
            });
            (MockDevice::new().info().clone(), Vec::from(candidates))
        }
        Checkable::Host => {
            let several = HostDevice::new().threads().max(3);
            let candidates = [("one thread", 1), ("several threads", several)].map(|(name, threads)| {
                let device =
                    move |_| HostDevice::builder().capacity_bytes(HOST_BYTES).threads(threads).build().into();
                arguments.candidate(name, device)
            });
            (HostDevice::new().info().clone(), Vec::from(candidates))
        }
        Checkable::Cuda => {
            let count = devarray_cuda::devices()?.len();
            // Kept open all the time: making the context again for each law takes longer than all
            // laws.
            let devices = (0..count.clamp(1, most_ranks)).map(CudaDevice::open);
            let devices = devices.collect::<devarray::Result<Vec<_>>>()?;
            if count > 1 && arguments.ranks.is_none() {
                output.line(format_args!("laws of two devices take devices 0 and 1"))?;
            }
            let info = devices[0].info().clone();
            let last = devices.len() - 1;
            let open = move |ordinal: usize| devices[ordinal.min(last)].clone().into();
            let Candidate { name, harness } = arguments.candidate("", open.clone());
            // Ranks share devices where there are more ranks.
            let harness = harness.with_ranks(most_ranks, move |rank| Ok::<_, Error>(open(rank % (last + 1))));
            (info, vec![Candidate::new(name, harness)])
        }
    };
    check(arguments, &info, devarray_suites::laws(), &candidates, output)
}

impl Arguments {
    /// Devices that `open` opens by their number: 0, and 1 for laws about two devices.
    fn candidate(
        &self,
        name: &str,
        open: impl Fn(usize) -> AnyDevice + Clone + 'static,
    ) -> Candidate<AnyDevice> {
        let second = open.clone();
        let harness =
            Harness::new(move || Ok::<_, Error>(open(0))).with_second(move || Ok::<_, Error>(second(1)));
        let harness = harness.with_cases(self.cases).with_seed(self.seed);
        let harness = match self.ranks {
            Some(ranks) => harness.with_rank_counts(&[ranks]),
            None => harness,
        };
        Candidate::new(name, harness)
    }

    fn reproduce(&self, name: &str) -> String {
        let backend = match self.backend {
            Checkable::Mock => "mock",
            Checkable::Host => "host",
            Checkable::Cuda => "cuda",
        };
        let Self { cases, seed, .. } = self;
        let ranks = self.ranks.map(|ranks| format!(" --ranks {ranks}")).unwrap_or_default();
        format!("devarray check --backend {backend} --filter {name} --cases {cases} --seed {seed}{ranks}")
    }
}

/// Checks laws on the candidates of one device.
///
/// # Errors
///
/// The errors of [`run`].
pub fn check<D: Device>(
    arguments: &Arguments,
    info: &DeviceInfo,
    mut laws: Vec<Law<D>>,
    candidates: &[Candidate<D>],
    output: &mut Output<'_>,
) -> Result<Status> {
    let wanted = |name: &str| arguments.filter.as_deref().is_none_or(|filter| name.contains(filter));
    let all_laws = laws.len();
    laws.retain(|law| wanted(&law.full_name()) && (arguments.ranks.is_none() || law.group == "ranks"));
    if let Some(filter) = &arguments.filter {
        if laws.is_empty() {
            let of = if arguments.ranks.is_some() { " of ranks" } else { "" };
            bail!("no law{of} is called {filter:?}");
        }
        output.news(ran(filter, &laws, all_laws))?;
    }
    if let (Some(ranks), None) = (arguments.ranks, &arguments.filter) {
        output.news(format_args!("{} of {all_laws} laws, with {ranks} ranks", laws.len()))?;
    }
    // The bar is drawn only on a terminal.
    let bar = if output.is_quiet() { ProgressBar::hidden() } else { ProgressBar::new(laws.len() as u64) };
    // A check that panics is reported like any other; the trace would only hide the report.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let checked = laws.iter().map(|law| {
        let name = law.full_name();
        bar.set_message(name.clone());
        let Found { violation, not_run, took, .. } = check_law(law, candidates);
        let applicable = candidates.iter().any(|candidate| law.applies(&candidate.harness));
        bar.inc(1);
        let reproduce = violation.as_ref().map(|_| arguments.reproduce(&name));
        let (group, code, summary) = (law.group.into(), law.code.into(), law.summary.into());
        let seconds = took.as_secs_f64();
        Checked { group, name, code, summary, applicable, not_run, violation, reproduce, seconds }
    });
    let laws: Vec<Checked> = checked.collect();
    panic::set_hook(hook);
    bar.finish_and_clear();
    let run = Run {
        suite: env!("CARGO_PKG_VERSION").into(),
        date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        backend: info.backend.into(),
        device: info.name.clone(),
        generation: info.generation.clone(),
        driver: info.driver.clone(),
        seed: arguments.seed,
        cases: arguments.cases,
        laws,
    };
    show(&run, output)?;
    for report in &arguments.report {
        write(&run, report)?;
    }
    let Tally { failed, not_run, .. } = run.tally();
    if not_run == run.laws.len() {
        bail!("no law was run");
    }
    Ok(if failed == 0 { Status::Success } else { Status::Failed })
}

/// A note on the laws that a filter chose, so that nobody takes them for the whole suite.
fn ran<D: Device>(filter: &str, laws: &[Law<D>], of: usize) -> String {
    /// The most names that fit on the line.
    const MOST: usize = 6;

    let names: Vec<String> = laws.iter().take(MOST).map(Law::full_name).collect();
    let more = laws.len().checked_sub(MOST + 1).map(|more| format!(" and {} more", more + 1));
    let (count, names, more) = (laws.len(), names.join(", "), more.unwrap_or_default());
    format!("filter {filter:?} runs {count} of {of} laws: {names}{more}")
}

/// Prints the table by group, and the violations.
fn show(run: &Run, output: &mut Output<'_>) -> Result<()> {
    output.news(format_args!("{}: {}", run.backend, run.device))?;
    output.news(format_args!(
        "{:<14}{:>8}{:>8}{:>6}{:>9}{:>10}",
        "group", "passed", "failed", "n/a", "not run", "seconds"
    ))?;
    for group in run.laws.chunk_by(|a, b| a.group == b.group) {
        let Tally { passed, failed, not_applicable, not_run, .. } = Tally::of(group);
        let (name, seconds) = (&group[0].group, group.iter().map(|law| law.seconds).sum::<f64>());
        output.news(format_args!(
            "{name:<14}{passed:>8}{failed:>8}{not_applicable:>6}{not_run:>9}{seconds:>10.2}"
        ))?;
    }
    for law in &run.laws {
        if let Some(reason) = &law.not_run {
            output.line(format_args!("{} is not run: {reason}", law.name))?;
        }
    }
    for law in run.laws.iter().filter(|law| law.violation.is_some()) {
        let (violation, again) = (law.violation.as_deref(), law.reproduce.as_deref());
        output.line(format_args!("{}: {}", law.name, law.summary))?;
        output.line(format_args!("  {}", violation.unwrap_or_default()))?;
        output.line(format_args!("  {}", again.unwrap_or_default()))?;
    }
    output.line(format_args!("{}", run.tally()))?;
    Ok(())
}
