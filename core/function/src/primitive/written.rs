//! Data that a program is kept with, and not compared by: its primitives say all that it computes.

use std::{
    any::Any,
    fmt,
    sync::{Arc, OnceLock},
};

use super::Program;

/// The source that a program was expanded from. Code that knows the type computes that as it is
/// written.
pub(crate) trait Written: Any + Send + Sync {
    /// Where `place` says to which axis each is moved; none if an axis has no place.
    fn with_positions(&self, place: &dyn Fn(u8) -> Option<u8>) -> Option<Arc<dyn Written>>;
}

/// The form that a program was written in, and its prepared form.
#[derive(Default)]
pub(crate) struct Kept {
    /// `None` for programs that were built primitive by primitive.
    pub(crate) written: Option<Arc<dyn Written>>,
    pub(crate) prepared: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl PartialEq for Kept {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Kept {}

/// Whether each part is there.
impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kept(written: {}, prepared: {})", self.written.is_some(), self.prepared.get().is_some())
    }
}

impl Program {
    /// Returns the same program with the source of its expansion, if the program is new.
    pub(crate) fn with_written(mut self, written: Option<Arc<dyn Written>>) -> Self {
        if let Some(parts) = Arc::get_mut(&mut self.0) {
            parts.kept.written = written;
        }
        self
    }

    /// The data that it is kept with.
    pub(crate) fn kept(&self) -> &Kept {
        &self.0.kept
    }
}
