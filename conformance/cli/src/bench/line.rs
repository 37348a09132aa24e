//! What is printed for a case.

use anyhow::Result;
use serde::Serialize;

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
    /// Bytes of the result.
    pub result_bytes: usize,
    /// Median of the time of one copy.
    pub median_s: f64,
    /// Bytes moved a second, in units of 10⁹.
    pub gbps: f64,
    /// The same of the reference copy of as many bytes.
    pub memcpy_gbps: f64,
    /// `gbps / memcpy_gbps`.
    pub ratio: f64,
    /// How the copy is carried out, if that was asked for.
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

    /// With the time of the copy and of its reference, each of which moved `moved_bytes`.
    #[must_use]
    pub fn timed(self, moved_bytes: usize, median_s: f64, reference_s: f64) -> Self {
        // Exact to 2^53 bytes, and a rate is rounded anyway.
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

/// Lines as they are printed: JSON, or a table for people.
#[derive(Debug)]
pub struct Table {
    json: bool,
    ratios: Vec<f64>,
}

impl Table {
    /// A table; begins with its heading unless it is JSON.
    ///
    /// # Errors
    ///
    /// Standard output fails.
    pub fn begin(json: bool, heading: &str, output: &mut Output<'_>) -> Result<Self> {
        if !json {
            output.line(heading)?;
            output.line(format_args!(
                "{:<56}{:>14}{:>12}{:>10}{:>10}{:>8}",
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
    pub fn line(&mut self, line: &Line, output: &mut Output<'_>) -> Result<()> {
        self.ratios.push(line.ratio);
        if self.json {
            output.line(serde_json::to_string(line)?)?;
        } else {
            let Line { case, result_bytes, median_s, gbps, memcpy_gbps, ratio, .. } = line;
            output.line(format_args!(
                "{case:<56}{result_bytes:>14}{:>12.1}{gbps:>10.1}{memcpy_gbps:>10.1}{ratio:>8.3}",
                median_s * 1e6
            ))?;
            for text in line.explain.iter().flatten() {
                output.line(format_args!("    {text}"))?;
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

    /// Ends the table with the geometric mean of the ratios, for people.
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
