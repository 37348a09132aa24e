//! The line that is printed for a case.

use anyhow::Result;
use serde::Serialize;

use super::CallMeasured;
use crate::output::Output;

/// One measured copy.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "the fields are a format that other programs read")]
pub struct Line {
    /// The case as it was written.
    pub case: String,
    /// Element type by name.
    pub dtype: String,
    /// Shape of the array before the steps.
    pub shape: Vec<usize>,
    /// The number of bytes of the result.
    pub result_bytes: usize,
    /// The median time of one copy.
    pub median_s: f64,
    /// The bytes moved in a second, in units of 10⁹.
    pub gbps: f64,
    /// The rate of the reference copy of the same size.
    pub memcpy_gbps: f64,
    /// `gbps / memcpy_gbps`.
    pub ratio: f64,
    /// The explanation of the copy, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<Vec<String>>,
}

impl Line {
    /// The line of a copy that was not timed yet.
    #[must_use]
    pub fn new(case: String, dtype: &str, shape: &[usize], result_bytes: usize) -> Self {
        let (dtype, shape) = (dtype.to_owned(), shape.to_vec());
        Self {
            case,
            dtype,
            shape,
            result_bytes,
            median_s: 0.0,
            gbps: 0.0,
            memcpy_gbps: 0.0,
            ratio: 0.0,
            explain: None,
        }
    }

    /// Adds the times of the copy and of its reference; each moved `moved_bytes`.
    #[must_use]
    pub fn timed(self, moved_bytes: usize, median_s: f64, reference_s: f64) -> Self {
        // Exact up to 2^53 bytes, and a rate is rounded anyway.
        let gigabytes = moved_bytes as f64 / 1e9;
        Self {
            median_s,
            gbps: gigabytes / median_s,
            memcpy_gbps: gigabytes / reference_s,
            ratio: reference_s / median_s,
            ..self
        }
    }
}

/// One measured function.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "the fields are a format that other programs read")]
pub struct ComputeLine {
    /// The name of the case.
    pub case: String,
    /// The least traffic: each byte that is read once, and each byte that is written.
    pub bytes: usize,
    /// The median time of one call.
    pub median_s: f64,
    /// `bytes` in a second, in units of 10⁹.
    pub gbps: f64,
    /// The rate of a contiguous copy that moves the same number of bytes, in the same unit.
    pub memcpy_gbps: f64,
    /// `gbps / memcpy_gbps`.
    pub ratio: f64,
    /// The milliseconds of the first call, with nothing compiled before, on the host's clock.
    pub first_ms: f64,
}

/// One measured call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "the fields are a format that other programs read")]
pub struct CallLine {
    /// The case as it was written.
    pub case: String,
    /// The least traffic.
    pub bytes: usize,
    /// The median time of one call.
    pub median_s: f64,
    /// `bytes` in a second, in units of 10⁹.
    pub gbps: f64,
    /// The rate of a contiguous copy that moves the same number of bytes, in the same unit.
    pub memcpy_gbps: f64,
    /// `gbps / memcpy_gbps`.
    pub ratio: f64,
    /// The multiplications and additions of a product in a second, in units of 10¹².
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tflops: Option<f64>,
}

impl CallLine {
    /// The line of a case, from the time of a call and of a copy of half its bytes.
    #[must_use]
    pub fn new(case: &CallMeasured, [median_s, copy_s]: [f64; 2]) -> Self {
        // Exact up to 2^53 bytes, and a rate is rounded anyway.
        let (gbps, memcpy_gbps) =
            (case.len_bytes as f64 / 1e9 / median_s, (case.len_bytes / 2).max(1) as f64 * 2.0 / 1e9 / copy_s);
        let tflops = case.operations.map(|operations| operations / 1e12 / median_s);
        let (case, bytes) = (case.text.clone(), case.len_bytes);
        Self { case, bytes, median_s, gbps, memcpy_gbps, ratio: gbps / memcpy_gbps, tflops }
    }
}

/// A row of a table.
pub trait Row: Serialize {
    /// `gbps / memcpy_gbps`.
    fn ratio(&self) -> f64;

    /// The row as text for people, and the lines below it.
    fn text(&self) -> Vec<String>;
}

impl Row for Line {
    fn ratio(&self) -> f64 {
        self.ratio
    }

    fn text(&self) -> Vec<String> {
        let Self { case, result_bytes, median_s, gbps, memcpy_gbps, ratio, .. } = self;
        let row = columns(case, *result_bytes, *median_s, [*gbps, *memcpy_gbps, *ratio]);
        let below = self.explain.iter().flatten().map(|text| format!("    {text}"));
        std::iter::once(row).chain(below).collect()
    }
}

impl Row for ComputeLine {
    fn ratio(&self) -> f64 {
        self.ratio
    }

    fn text(&self) -> Vec<String> {
        let Self { case, bytes, median_s, gbps, memcpy_gbps, ratio, first_ms } = self;
        let row = columns(case, *bytes, *median_s, [*gbps, *memcpy_gbps, *ratio]);
        vec![format!("{row}{first_ms:>10.1}")]
    }
}

impl Row for CallLine {
    fn ratio(&self) -> f64 {
        self.ratio
    }

    fn text(&self) -> Vec<String> {
        let Self { case, bytes, median_s, gbps, memcpy_gbps, ratio, tflops } = self;
        let row = columns(case, *bytes, *median_s, [*gbps, *memcpy_gbps, *ratio]);
        vec![tflops.map_or_else(|| row.clone(), |tflops| format!("{row}{tflops:>10.2}"))]
    }
}

fn columns(case: &str, bytes: usize, median_s: f64, [gbps, memcpy_gbps, ratio]: [f64; 3]) -> String {
    format!("{case:<56}{bytes:>14}{:>12.1}{gbps:>10.1}{memcpy_gbps:>10.1}{ratio:>8.3}", median_s * 1e6)
}

/// The form in which lines are printed: JSON, or a table for people.
#[derive(Debug)]
pub struct Table {
    json: bool,
    ratios: Vec<f64>,
}

impl Table {
    /// Begins a table, with its heading unless it is JSON.
    ///
    /// # Errors
    ///
    /// Standard output fails.
    pub fn begin(json: bool, heading: &str, output: &mut Output<'_>) -> Result<Self> {
        Self::begin_with(json, heading, "", output)
    }

    /// Like [`begin`](Self::begin), with a further column of this title at the end of the rows.
    ///
    /// # Errors
    ///
    /// Standard output fails.
    pub fn begin_with(json: bool, heading: &str, last: &str, output: &mut Output<'_>) -> Result<Self> {
        if !json {
            output.line(heading)?;
            let last = if last.is_empty() { String::new() } else { format!("{last:>10}") };
            output.line(format_args!(
                "{:<56}{:>14}{:>12}{:>10}{:>10}{:>8}{last}",
                "case", "bytes", "median µs", "GB/s", "memcpy", "ratio"
            ))?;
        }
        Ok(Self { json, ratios: Vec::new() })
    }

    /// Prints a line.
    ///
    /// # Errors
    ///
    /// Standard output fails.
    pub fn line(&mut self, line: &impl Row, output: &mut Output<'_>) -> Result<()> {
        self.ratios.push(line.ratio());
        if self.json {
            output.line(serde_json::to_string(line)?)?;
        } else {
            for text in line.text() {
                output.line(text)?;
            }
        }
        // A long list is watched while it runs.
        output.flush()
    }

    /// Prints that the result of a case is wrong.
    ///
    /// # Errors
    ///
    /// Standard output fails.
    pub fn wrong(&self, case: &str, cause: &str, output: &mut Output<'_>) -> Result<()> {
        if self.json {
            return output.line(serde_json::json!({ "case": case, "error": cause }));
        }
        output.line(format_args!("{case}: wrong: {cause}"))
    }

    /// Ends the table with the geometric mean of the ratios, unless it is JSON.
    ///
    /// # Errors
    ///
    /// Standard output fails.
    pub fn end(self, output: &mut Output<'_>) -> Result<()> {
        if self.json || self.ratios.is_empty() {
            return Ok(());
        }
        let count = self.ratios.len();
        let mean = (self.ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / count as f64).exp();
        output.line(format_args!("geometric mean of {count} ratios: {mean:.3}"))
    }
}
