//! Files of programs.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow, ensure};
use devarray_mock::program::Program;

/// The programs of one file.
#[derive(Debug)]
pub struct Lines {
    path: PathBuf,
    reader: BufReader<File>,
    line: Vec<u8>,
    number: usize,
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
        let file = File::open(path).with_context(|| path.display().to_string())?;
        Ok(Self {
            path: path.to_owned(),
            reader: BufReader::new(file),
            line: Vec::new(),
            number: 0,
            any: false,
        })
    }

    /// The program on the next line that is not blank.
    ///
    /// # Errors
    ///
    /// The file cannot be read or has no program at all, or the line is none; with file, line and field.
    pub fn next_program(&mut self) -> Result<Option<Program>> {
        loop {
            self.line.clear();
            self.number += 1;
            let read = self.reader.read_until(b'\n', &mut self.line).with_context(|| self.place())?;
            if read == 0 {
                ensure!(self.any, "{}: there is no program in it", self.path.display());
                return Ok(None);
            }
            if !self.line.trim_ascii().is_empty() {
                self.any = true;
                let program = Program::parse(&self.line);
                return program.map(Some).map_err(|error| anyhow!("{}: {error}", self.place()));
            }
        }
    }

    /// The file and line read last.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}:{}", self.path.display(), self.number)
    }
}
