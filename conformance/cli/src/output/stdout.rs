//! Standard output, whose reader may go away.

use std::{
    fmt,
    io::{self, Write},
    path::Path,
};

use anyhow::Context as _;
use thiserror::Error;

/// The reader of standard output is gone, so there is nobody to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("standard output was closed")]
#[non_exhaustive]
pub struct Closed;

/// Prints lines for the user of a command.
pub struct Output<'a> {
    writer: &'a mut dyn Write,
    is_quiet: bool,
}

impl<'a> Output<'a> {
    /// Prints lines to `writer`.
    pub fn new(writer: &'a mut dyn Write) -> Self {
        Self { writer, is_quiet: false }
    }

    /// Prints one line.
    ///
    /// # Errors
    ///
    /// [`Closed`] if nobody reads any more, and other errors of the write.
    pub fn line(&mut self, line: impl fmt::Display) -> anyhow::Result<()> {
        check(writeln!(self.writer, "{line}"))
    }

    /// Makes the output quiet: from now on it prints only results.
    pub fn be_quiet(&mut self) {
        self.is_quiet = true;
    }

    /// Whether only results are printed.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    /// Prints one line about progress, unless only results are wanted.
    ///
    /// # Errors
    ///
    /// The errors of [`Output::line`].
    pub fn news(&mut self, line: impl fmt::Display) -> anyhow::Result<()> {
        if self.is_quiet { Ok(()) } else { self.line(line) }
    }

    /// Writes bytes of a result as they are.
    ///
    /// # Errors
    ///
    /// The errors of [`Output::line`].
    pub fn bytes(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        check(self.writer.write_all(bytes))
    }

    /// Prints everything that is still buffered.
    ///
    /// # Errors
    ///
    /// The errors of [`Output::line`].
    pub fn flush(&mut self) -> anyhow::Result<()> {
        check(self.writer.flush())
    }
}

impl fmt::Debug for Output<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").finish_non_exhaustive()
    }
}

/// Whether the path of a file to write is `-`, which means standard output.
pub(crate) fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

fn check(result: io::Result<()>) -> anyhow::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Closed.into()),
        result => result.context("standard output"),
    }
}
