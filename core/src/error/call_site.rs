//! The line of the program that an error is about.

use std::{cell::Cell, fmt, panic::Location};

/// The line of the program's call that an error is about. It is unknown where the call goes through
/// code that hides its caller: a function pointer, or a closure.
///
/// All values are equal, because the place is no part of the mistake.
#[derive(Clone, Copy, Default)]
pub struct CallSite(Option<&'static Location<'static>>);

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
    pub const UNKNOWN: Self = Self(None);

    /// The line of the call; in a function that is `#[track_caller]`, the line of its caller. A line
    /// of this library, or of the standard library, is not the program's.
    #[must_use]
    #[track_caller]
    pub fn here() -> Self {
        let (location, (file, name)) = (call_location(), HERE);
        let sources = file.split_at(file.len() - name.len()).0;
        let is_of_a_library = [sources, STANDARD].iter().any(|prefix| location.file().starts_with(prefix));
        Self((!is_of_a_library).then_some(location))
    }

    /// The line, or `None` if it is unknown.
    #[must_use]
    pub const fn location(self) -> Option<&'static Location<'static>> {
        self.0
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
        self.0.map_or(Ok(()), |location| write!(f, ", at {location}"))
    }
}

impl fmt::Debug for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(location) => write!(f, "CallSite({location})"),
            None => f.write_str("CallSite(unknown)"),
        }
    }
}
