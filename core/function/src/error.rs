//! Mistakes in a function, and where they are in its text.

use std::{fmt, ops::Range};

/// The kind of a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FunctionErrorKind {
    /// The text does not parse, or uses an unknown name.
    Text,
    /// The types do not fit together.
    Type,
    /// The shapes do not fit together, or an axis is out of range.
    Shape,
    /// The function is larger than the limits allow.
    Size,
    /// An element of the result has nothing to reduce, and has no value then.
    Empty,
}

impl FunctionErrorKind {
    /// The name of the kind in golden cases: `type`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Type => "type",
            Self::Shape => "shape",
            Self::Size => "size",
            Self::Empty => "empty",
        }
    }
}

/// A function was refused. If it has a text, the message shows the text with a mark under the
/// mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionError {
    kind: FunctionErrorKind,
    message: String,
    place: Option<Place>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    text: Box<str>,
    range: Range<usize>,
}

impl FunctionError {
    /// A mistake without a place in a text.
    #[must_use]
    pub fn new(kind: FunctionErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), place: None }
    }

    /// Puts the mistake at a place of a text, in bytes. A range that exceeds the text is cut.
    #[must_use]
    pub fn at(self, text: &str, range: Range<usize>) -> Self {
        let boundary = |at: usize| (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
        let (start, end) = (boundary(range.start).unwrap_or(0), boundary(range.end).unwrap_or(0));
        Self { place: Some(Place { text: text.into(), range: start..end.max(start) }), ..self }
    }

    /// The kind of the mistake.
    #[must_use]
    pub fn kind(&self) -> FunctionErrorKind {
        self.kind
    }

    /// The mistake, in one line, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The place of the mistake, in bytes of the text.
    #[must_use]
    pub fn place(&self) -> Option<Range<usize>> {
        self.place.as_ref().map(|place| place.range.clone())
    }
}

/// The number of characters of a text that are shown before the place, and from its start on.
const SHOWN_CHARS: usize = 60;

impl fmt::Display for FunctionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let Some(Place { text, range }) = &self.place else { return Ok(()) };
        let (start, len) = (text[..range.start].chars().count(), text[range.clone()].chars().count());
        let skipped = start.saturating_sub(SHOWN_CHARS);
        let (before, after) = (start - skipped, (text.chars().count() - start).min(SHOWN_CHARS));
        // Tabs and line breaks are replaced, because they would move the mark away from its place.
        let shown = text.chars().skip(skipped).take(before + after);
        let shown: String = shown.map(|c| if c.is_control() { ' ' } else { c }).collect();
        let left = if skipped > 0 { "…" } else { "" };
        let right = if text.chars().count() > start + after { "…" } else { "" };
        let space = " ".repeat(left.chars().count() + before);
        let mark = "^".repeat(len.clamp(1, SHOWN_CHARS));
        write!(f, "\n  {left}{shown}{right}\n  {space}{mark}")
    }
}

impl std::error::Error for FunctionError {}
