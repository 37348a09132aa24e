//! The destination of a result, and messages about it.

use std::{
    fmt,
    io::{self, Write},
    path::Path,
};

use anyhow::{Context as _, Result};
use devarray::npy::Header;

use crate::output::{AtomicFile, Output, is_standard_output};

/// An array file that is being written, or standard output.
pub(in crate::commands) struct Destination {
    /// `None` for standard output, and once the file is complete.
    file: Option<AtomicFile>,
    is_standard_output: bool,
    name: String,
}

impl Destination {
    /// Begins to write the file at `path`, or to standard output if that is `-`. It is opened once: the reader of a
    /// pipe takes a second opening for another file.
    pub(in crate::commands) fn create(path: &Path) -> Result<Self> {
        let is_standard_output = is_standard_output(path);
        let name = path.display().to_string();
        let create = || AtomicFile::create(path).with_context(|| name.clone());
        let file = if is_standard_output { None } else { Some(create()?) };
        Ok(Self { file, is_standard_output, name })
    }
}

/// Writes results to their destinations, one after another, and messages beside them.
pub(in crate::commands) struct Sink<'a, 'o> {
    output: &'a mut Output<'o>,
    destination: Destination,
}

impl<'a, 'o> Sink<'a, 'o> {
    pub(in crate::commands) fn new(destination: Destination, output: &'a mut Output<'o>) -> Self {
        Self { output, destination }
    }

    /// Goes on with the next destination.
    pub(in crate::commands) fn switch_to(&mut self, destination: Destination) {
        self.destination = destination;
    }

    pub(in crate::commands) fn is_quiet(&self) -> bool {
        self.output.is_quiet()
    }

    /// Prints one line about progress: on standard error if the result is on standard output.
    pub(in crate::commands) fn news(&mut self, line: impl fmt::Display) -> Result<()> {
        if !self.destination.is_standard_output {
            return self.output.news(line);
        }
        if !self.output.is_quiet() {
            // The reader of the result does not need this line, so errors are ignored.
            let _ = writeln!(io::stderr(), "{line}");
        }
        Ok(())
    }

    pub(in crate::commands) fn header(&mut self, header: &Header) -> Result<()> {
        let mut bytes = Vec::new();
        header.write(&mut bytes).with_context(|| self.destination.name.clone())?;
        self.bytes(&bytes)
    }

    /// Writes elements.
    pub(in crate::commands) fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let Destination { file, name, .. } = &mut self.destination;
        match file {
            Some(file) => file.write_all(bytes).with_context(|| name.clone()),
            None => self.output.bytes(bytes),
        }
    }

    /// Puts the finished file in its place.
    pub(in crate::commands) fn commit(&mut self) -> Result<()> {
        match self.destination.file.take() {
            Some(file) => file.commit().with_context(|| self.destination.name.clone()),
            None => self.output.flush(),
        }
    }
}
