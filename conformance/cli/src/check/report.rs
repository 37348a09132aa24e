//! Writes a run to a file: for people, for programs, or for test dashboards.

use std::{fmt::Write as _, io::Write as _, path::PathBuf, str::FromStr, time::Duration};

use anyhow::{Context as _, Result};
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::Run;
use crate::output::{AtomicFile, is_standard_output};

/// A form of report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Markdown tables.
    Markdown,
    /// One JSON object.
    Json,
    /// JUnit's XML.
    Junit,
}

/// A report to write.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Its form.
    pub format: Format,
    /// The file that it goes to.
    pub path: PathBuf,
}

impl FromStr for Report {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (format, path) = text.split_once('=').ok_or("expected FORMAT=FILE")?;
        let format = match format {
            "md" => Format::Markdown,
            "json" => Format::Json,
            "junit" => Format::Junit,
            other => return Err(format!("unknown format {other:?}; there are md, json and junit")),
        };
        if path.is_empty() {
            return Err("the file name is empty".into());
        }
        if is_standard_output(path.as_ref()) {
            return Err("standard output has the table: name a file".into());
        }
        Ok(Self { format, path: path.into() })
    }
}

/// Writes a report, whole or not at all.
///
/// # Errors
///
/// The file cannot be written; the error names it.
pub fn write(run: &Run, report: &Report) -> Result<()> {
    let text = match report.format {
        Format::Markdown => markdown(run)?,
        Format::Json => serde_json::to_string_pretty(run)? + "\n",
        Format::Junit => junit(run)?,
    };
    let put = || -> std::io::Result<()> {
        let mut file = AtomicFile::create(&report.path)?;
        file.write_all(text.as_bytes())?;
        file.commit()
    };
    put().with_context(|| report.path.display().to_string())
}

fn markdown(run: &Run) -> Result<String> {
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let mut text = format!("# Conformance of {} on {}\n\n", run.backend, cell(&run.device));
    writeln!(text, "{}\n", run.tally())?;
    writeln!(text, "| | |\n|---|---|")?;
    for (name, value) in [
        ("date", run.date.as_str()),
        ("suite", &run.suite),
        ("generation", &run.generation),
        ("driver", &run.driver),
        ("seed", &run.seed.to_string()),
        ("cases a law", &run.cases.to_string()),
    ] {
        writeln!(text, "| {name} | {} |", cell(value))?;
    }
    writeln!(text, "\n| code | law | what it says | outcome | seconds |\n|---|---|---|---|---|")?;
    for law in &run.laws {
        let outcome = match law.violation.as_deref() {
            Some(broken) => format!("**broken**: {}", cell(broken)),
            None => match &law.not_run {
                Some(reason) => format!("not run: {}", cell(reason)),
                None if law.applicable => "holds".into(),
                None => "not applicable: refused by name".into(),
            },
        };
        writeln!(
            text,
            "| {} | {} | {} | {outcome} | {:.3} |",
            law.code,
            law.name,
            cell(&law.summary),
            law.seconds
        )?;
    }
    Ok(text)
}

fn junit(run: &Run) -> Result<String> {
    let mut report = quick_junit::Report::new(format!("devarray check {}", run.backend));
    let mut suites: Vec<TestSuite> = Vec::new();
    for law in &run.laws {
        let mut status = match law.violation {
            Some(_) => TestCaseStatus::non_success(NonSuccessKind::Failure),
            None if law.holds() => TestCaseStatus::success(),
            None => TestCaseStatus::skipped(),
        };
        if let Some(message) = law.violation.as_ref().or(law.not_run.as_ref()) {
            status.set_message(message.clone());
        }
        let mut case = TestCase::new(law.name.clone(), status);
        case.set_time(Duration::from_secs_f64(law.seconds));
        if suites.last().is_none_or(|suite| suite.name.as_str() != law.group) {
            suites.push(TestSuite::new(law.group.clone()));
        }
        if let Some(suite) = suites.last_mut() {
            suite.add_test_case(case);
        }
    }
    report.add_test_suites(suites);
    Ok(report.to_string()?)
}
