//! The line of the program that an error is about.

use std::{cell::Cell, fmt, panic::Location};

/// The line of the program's call that an error is about. It is unknown where the call goes through
/// code that hides its caller: a function pointer, or a closure.
///
/// All values are equal, because the place is no part of the mistake.
#[derive(Clone, Copy, Default)]
pub struct CallSite(Line);

#[derive(Clone, Copy, Default)]
enum Line {
    #[default]
    Unknown,
    Here(&'static Location<'static>),
    /// In another process.
    Elsewhere(&'static Place),
}

/// A line of the program in another process.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) file: &'static str,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

thread_local! {
    /// The recorded call that is being made again, while a recording is launched.
    static MADE_AGAIN: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

/// The line of the program's call, for backends. In a function that is `#[track_caller]` it is the line
/// of the caller; while recorded work is launched, it is the line of the recorded call.
#[must_use]
#[track_caller]
pub fn call_location() -> &'static Location<'static> {
    // `unwrap_or_else` would hide the caller.
    match MADE_AGAIN.get() {
        Some(site) => site,
        None => Location::caller(),
    }
}

/// Runs `call` as the recorded call of a line.
pub(crate) fn made_again<R>(site: &'static Location<'static>, call: impl FnOnce() -> R) -> R {
    /// Dropping this ends it, also if the call panics.
    struct Before(Option<&'static Location<'static>>);

    impl Drop for Before {
        fn drop(&mut self) {
            MADE_AGAIN.set(self.0);
        }
    }

    let _before = Before(MADE_AGAIN.replace(Some(site)));
    call()
}

/// This file, in the folder of the library's sources.
const HERE: (&str, &str) = (file!(), "error/call_site.rs");

/// The folder that the sources of the standard library are said to be in.
const STANDARD: &str = "/rustc/";

impl CallSite {
    /// An unknown line.
    pub const UNKNOWN: Self = Self(Line::Unknown);

    /// The line of the call; in a function that is `#[track_caller]`, the line of its caller. A line
    /// of this library, or of the standard library, is not the program's.
    #[must_use]
    #[track_caller]
    pub fn here() -> Self {
        let (location, (file, name)) = (call_location(), HERE);
        let sources = file.split_at(file.len() - name.len()).0;
        let is_of_a_library = [sources, STANDARD].iter().any(|prefix| location.file().starts_with(prefix));
        Self(if is_of_a_library { Line::Unknown } else { Line::Here(location) })
    }

    /// A line of a call of another process.
    pub(crate) fn elsewhere(place: &'static Place) -> Self {
        Self(Line::Elsewhere(place))
    }

    /// The file, line and column, wherever the call was made.
    pub(crate) fn place(self) -> Option<(&'static str, u32, u32)> {
        match self.0 {
            Line::Unknown => None,
            Line::Here(at) => Some((at.file(), at.line(), at.column())),
            Line::Elsewhere(at) => Some((at.file, at.line, at.column)),
        }
    }

    /// The line, or `None` if it is unknown or in another process.
    #[must_use]
    pub const fn location(self) -> Option<&'static Location<'static>> {
        match self.0 {
            Line::Here(location) => Some(location),
            Line::Unknown | Line::Elsewhere(_) => None,
        }
    }
}

impl PartialEq for CallSite {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for CallSite {}

/// Prints the end of a message: `, at src/main.rs:12:5`, or nothing.
impl fmt::Display for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place().map_or(Ok(()), |(file, line, column)| write!(f, ", at {file}:{line}:{column}"))
    }
}

impl fmt::Debug for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place() {
            Some((file, line, column)) => write!(f, "CallSite({file}:{line}:{column})"),
            None => f.write_str("CallSite(unknown)"),
        }
    }
}
