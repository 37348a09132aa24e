//! `devarray golden`: runs cases with results computed elsewhere on a backend.

use std::{
    fmt,
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use devarray::{Context, Device, StreamHandle, backend::Compute};
use devarray_any::AnyDevice;
use devarray_mock::MockDevice;
use serde::{Deserialize, Serialize, de::IgnoredAny};

use crate::{
    Status,
    backend::Backend,
    golden::{
        self, Case, Found, Outcome,
        calls::{self, CallCase, CallFound, CallOutcome},
        compute::{self, ComputeCase, ComputeFound, ComputeOutcome, ErrorKind},
    },
    limits,
    lines::Lines,
    object::Object,
    output::{AtomicFile, Output, is_standard_output},
};

/// The arguments of `devarray golden`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  devarray golden conformance/golden/layout.jsonl
  devarray golden --backend host conformance/golden/compute.jsonl conformance/golden/calls.jsonl
  devarray golden --backend cuda --out results.jsonl conformance/golden/*.jsonl

Exit status: 0 if no case failed, 1 if one did, 2 if a file cannot be read.")]
#[non_exhaustive]
pub struct Arguments {
    /// Where the cases run
    #[arg(long, value_enum, default_value_t)]
    pub backend: Backend,
    /// Write what each case gave to FILE, one JSON object a line; `-` is standard output, and what
    /// is said goes to standard error
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Files of cases, one JSON object a line
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Runs the command.
///
/// # Errors
///
/// A file cannot be read or written, a line is no case, or the device fails.
pub fn run(arguments: &Arguments, output: &mut Output<'_>) -> Result<Status> {
    check(arguments.backend.open_within(limits::CASE_BYTES)?, arguments, output)
}

/// Runs the command on a device.
///
/// # Errors
///
/// The errors of [`run`].
pub fn check<D: Compute>(device: D, arguments: &Arguments, output: &mut Output<'_>) -> Result<Status> {
    let stream = Context::new(device)?.stream()?;
    let mut results = arguments.out.as_deref().map(Results::create).transpose()?;
    let is_standard_output = arguments.out.as_deref().is_some_and(is_standard_output);
    // If the results are on standard output, messages are not.
    let say = |output: &mut Output<'_>, line: fmt::Arguments<'_>| {
        if !is_standard_output {
            return output.line(line);
        }
        // The reader of the results does not need this line, so errors are ignored.
        let _ = writeln!(io::stderr(), "{line}");
        Ok(())
    };
    let simulator = Simulator::beside(&stream)?;
    let (mut passed, mut failed) = (0_usize, 0_usize);
    for path in &arguments.files {
        let mut cases = Cases(Lines::open(path, "case")?);
        while let Some(case) = cases.next_case()? {
            let (differences, id) = match &case {
                AnyCase::Layout(case) => {
                    let outcome = golden::run_case(&stream, case).with_context(|| cases.0.place())?;
                    if let Some(results) = &mut results {
                        results.push(&ResultLine::of_layout(&case.id, &outcome), output)?;
                    }
                    (golden::differences(&case.expect, &outcome), &case.id)
                }
                AnyCase::Compute(case) => {
                    let outcome = compute::run_case(&stream, case).with_context(|| cases.0.place())?;
                    if let Some(results) = &mut results {
                        results.push(&ComputeLine::new(&case.id, &outcome), output)?;
                    }
                    let mut differences = compute::differences(&case.expect, &outcome);
                    differences
                        .extend(simulator.differences(case, &outcome).with_context(|| cases.0.place())?);
                    (differences, &case.id)
                }
                AnyCase::Call(case) => {
                    let outcome = calls::run_case(&stream, case).with_context(|| cases.0.place())?;
                    if let Some(results) = &mut results {
                        results.push(&CallLine::new(&case.id, &outcome), output)?;
                    }
                    let mut differences = calls::differences(&case.expect, &outcome);
                    let of_backends = simulator.differences_of_calls(case, &outcome);
                    differences.extend(of_backends.with_context(|| cases.0.place())?);
                    (differences, &case.id)
                }
            };
            if differences.is_empty() {
                passed += 1;
            } else {
                failed += 1;
                say(output, format_args!("{}: {}", on_one_line(id), differences.join("; ")))?;
            }
        }
    }
    if let Some(results) = results {
        results.commit()?;
    }
    say(output, format_args!("{passed} passed, {failed} failed"))?;
    Ok(if failed == 0 { Status::Success } else { Status::Failed })
}

/// A name with its control characters escaped: it comes from a file, and takes one line.
fn on_one_line(name: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    name.chars().map(shown).collect()
}

/// The simulator next to another device, which must give the same bits.
struct Simulator(Option<StreamHandle<AnyDevice>>);

impl Simulator {
    fn beside<D: Compute>(stream: &StreamHandle<D>) -> Result<Self> {
        if stream.context().device().info().backend == MockDevice::new().info().backend {
            return Ok(Self(None));
        }
        let device = MockDevice::builder().memory_limit_bytes(limits::CASE_BYTES).build();
        Ok(Self(Some(Context::new(AnyDevice::from(device))?.stream()?)))
    }

    fn differences(&self, case: &ComputeCase, outcome: &ComputeOutcome) -> Result<Vec<String>> {
        let Some(stream) = &self.0 else { return Ok(Vec::new()) };
        Ok(compute::differences_of_backends(outcome, &compute::run_case(stream, case)?))
    }

    fn differences_of_calls(&self, case: &CallCase, outcome: &CallOutcome) -> Result<Vec<String>> {
        let Some(stream) = &self.0 else { return Ok(Vec::new()) };
        Ok(calls::differences_of_backends(outcome, &calls::run_case(stream, case)?))
    }
}

/// A case of any kind.
enum AnyCase {
    Layout(Case),
    Compute(Box<ComputeCase>),
    Call(Box<CallCase>),
}

/// The fields that distinguish the kinds.
#[derive(Deserialize)]
struct Kind {
    expr: Option<IgnoredAny>,
    call: Option<IgnoredAny>,
}

impl AnyCase {
    fn parse(line: &[u8]) -> serde_json::Result<Self> {
        match serde_json::from_slice(line) {
            Ok(Object(Kind { call: Some(_), .. })) => serde_json::from_slice(line).map(Self::Call),
            Ok(Object(Kind { expr: Some(_), .. })) => serde_json::from_slice(line).map(Self::Compute),
            _ => serde_json::from_slice(line).map(Self::Layout),
        }
    }
}

/// The cases of one file.
struct Cases(Lines);

impl Cases {
    /// The case on the next line that is not blank.
    fn next_case(&mut self) -> Result<Option<AnyCase>> {
        let Some(parsed) = self.0.next_line()?.map(AnyCase::parse) else { return Ok(None) };
        let case = parsed.map_err(|error| self.fault(&error))?;
        if let AnyCase::Layout(case) = &case {
            limits::check_steps(&case.steps).with_context(|| self.0.place())?;
        }
        Ok(Some(case))
    }

    /// The mistake in the line. The parser counts lines from 1 in every text, which would mislead,
    /// so its place is removed.
    fn fault(&self, error: &serde_json::Error) -> anyhow::Error {
        let message = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        match message.strip_suffix(&place) {
            Some(cause) if error.column() > 0 => {
                anyhow!("{}:{}: {cause}", self.0.place(), error.column())
            }
            cause => anyhow!("{}: {}", self.0.place(), cause.unwrap_or(&message)),
        }
    }
}

/// The file that `--out` names.
struct Results<'a> {
    path: &'a Path,
    /// `None` for standard output.
    file: Option<AtomicFile>,
}

/// One line of the results.
#[derive(Serialize)]
struct ResultLine<'a> {
    id: &'a str,
    #[serde(flatten)]
    found: Option<&'a Found>,
    #[serde(flatten)]
    error: Option<ErrorLine<'a>>,
}

/// The line of a case that has no result.
#[derive(Serialize)]
struct ErrorLine<'a> {
    error: bool,
    message: &'a str,
}

/// The line of results for a function.
#[derive(Serialize)]
struct ComputeLine<'a> {
    id: &'a str,
    #[serde(flatten)]
    found: Option<&'a ComputeFound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

/// The line of results for a call.
#[derive(Serialize)]
struct CallLine<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    outputs: Option<&'a CallFound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl<'a> CallLine<'a> {
    fn new(id: &'a str, outcome: &'a CallOutcome) -> Self {
        let failed = outcome.as_ref().err();
        let message = failed.map(|failed| &failed.message[..]);
        Self { id, outputs: outcome.as_ref().ok(), error: failed.and_then(|failed| failed.kind), message }
    }
}

impl<'a> ResultLine<'a> {
    fn of_layout(id: &'a str, outcome: &'a Outcome) -> Self {
        let error = outcome.as_ref().err().map(|message| ErrorLine { error: true, message });
        Self { id, found: outcome.as_ref().ok(), error }
    }
}

impl<'a> ComputeLine<'a> {
    fn new(id: &'a str, outcome: &'a ComputeOutcome) -> Self {
        let failed = outcome.as_ref().err();
        let (error, message) =
            (failed.and_then(|failed| failed.kind), failed.map(|failed| &failed.message[..]));
        Self { id, found: outcome.as_ref().ok(), error, message }
    }
}

impl<'a> Results<'a> {
    fn create(path: &'a Path) -> Result<Self> {
        let create = || AtomicFile::create(path).with_context(|| path.display().to_string());
        let file = if is_standard_output(path) { None } else { Some(create()?) };
        Ok(Self { path, file })
    }

    fn push(&mut self, line: &impl Serialize, output: &mut Output<'_>) -> Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        match &mut self.file {
            Some(file) => file.write_all(&text).with_context(|| self.path.display().to_string()),
            None => output.bytes(&text),
        }
    }

    fn commit(self) -> Result<()> {
        self.file.map_or(Ok(()), |file| file.commit().with_context(|| self.path.display().to_string()))
    }
}
