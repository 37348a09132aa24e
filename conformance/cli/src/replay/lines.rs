//! Files of programs.

use std::path::Path;

use anyhow::{Result, anyhow, ensure};
use devarray_mock::program::Program;

/// The programs of one file.
#[derive(Debug)]
pub struct Lines {
    lines: crate::lines::Lines,
    /// Whether there was a program yet.
    any: bool,
}

impl Lines {
    /// The programs of a file, from its start.
    ///
    /// # Errors
    ///
    /// It cannot be opened.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self { lines: crate::lines::Lines::open(path)?, any: false })
    }

    /// The program on the next line that is not blank.
    ///
    /// # Errors
    ///
    /// The file cannot be read or has no program at all, or the line is too long or no program; with file, line and field.
    pub fn next_program(&mut self) -> Result<Option<Program>> {
        let Some(program) = self.lines.next_line()?.map(Program::parse) else {
            ensure!(self.any, "{}: there is no program in it", self.lines.path().display());
            return Ok(None);
        };
        self.any = true;
        program.map(Some).map_err(|error| anyhow!("{}: {error}", self.place()))
    }

    /// The file and line read last.
    #[must_use]
    pub fn place(&self) -> String {
        self.lines.place()
    }
}
