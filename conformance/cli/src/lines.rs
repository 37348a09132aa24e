//! Files that are read line by line.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};

use crate::limits;

/// The lines of a file that are not blank.
#[derive(Debug)]
pub struct Lines {
    path: PathBuf,
    /// The kind of content of a line, for messages.
    what: &'static str,
    /// Whether there was a line yet.
    any: bool,
    reader: BufReader<File>,
    line: Vec<u8>,
    number: usize,
}

impl Lines {
    /// The lines of a file, from its start; `what` names the content of a line.
    ///
    /// # Errors
    ///
    /// The file cannot be opened.
    pub fn open(path: &Path, what: &'static str) -> Result<Self> {
        let file = File::open(path).with_context(|| path.display().to_string())?;
        let (path, reader) = (path.to_owned(), BufReader::new(file));
        Ok(Self { path, what, any: false, reader, line: Vec::new(), number: 0 })
    }

    /// The next line that is not blank; none at the end.
    ///
    /// # Errors
    ///
    /// The file cannot be read or holds nothing at all, or the line is longer than
    /// [`limits::LINE_BYTES`].
    pub fn next_line(&mut self) -> Result<Option<&[u8]>> {
        loop {
            self.line.clear();
            self.number += 1;
            let mut most = (&mut self.reader).take(limits::LINE_BYTES as u64 + 1);
            let read = most.read_until(b'\n', &mut self.line).with_context(|| self.place())?;
            if read == 0 {
                ensure!(self.any, "{}: there is no {} in it", self.path.display(), self.what);
                return Ok(None);
            }
            let (place, limit) = (|| self.place(), limits::LINE_BYTES);
            ensure!(read <= limit, "{}: the line is longer than the {limit} bytes allowed", place());
            if !self.line.trim_ascii().is_empty() {
                self.any = true;
                return Ok(Some(&self.line));
            }
        }
    }

    /// The file and the line that was read last.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}:{}", self.path.display(), self.number)
    }
}
