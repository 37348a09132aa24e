//! Files of programs.

use std::path::Path;

use anyhow::{Result, anyhow};
use devarray_mock::program::Program;

/// The programs of one file.
#[derive(Debug)]
pub struct Lines(crate::lines::Lines);

impl Lines {
    /// The programs of a file, from its start.
    ///
    /// # Errors
    ///
    /// The file cannot be opened.
    pub fn open(path: &Path) -> Result<Self> {
        crate::lines::Lines::open(path, "program").map(Self)
    }

    /// The program on the next line that is not blank.
    ///
    /// # Errors
    ///
    /// The file cannot be read or has no program at all, or the line is too long or no program. The
    /// error has the file, the line and the field.
    pub fn next_program(&mut self) -> Result<Option<Program>> {
        let Some(program) = self.0.next_line()?.map(Program::parse) else { return Ok(None) };
        program.map(Some).map_err(|error| anyhow!("{}: {error}", self.place()))
    }

    /// The file and the line that was read last.
    #[must_use]
    pub fn place(&self) -> String {
        self.0.place()
    }
}
