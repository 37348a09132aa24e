//! Data that is kept with a program. It does not count when programs are compared, because the
//! primitives define everything that a program computes.

use std::{
    any::Any,
    fmt,
    sync::{Arc, OnceLock},
};

use super::Program;

/// The source that a program was expanded from. Code that knows the type can compute it directly
/// instead of by primitives.
pub(crate) trait Written: Any + Send + Sync {
    /// Moves its axes to where `place` puts them; `None` if an axis has no place.
    fn with_positions(&self, place: &dyn Fn(u8) -> Option<u8>) -> Option<Arc<dyn Written>>;
}

/// The source that a program was expanded from, and its prepared form.
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

/// Prints which parts are there.
impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kept(written: {}, prepared: {})", self.written.is_some(), self.prepared.get().is_some())
    }
}

impl Program {
    /// Keeps with the program what it was expanded from, if the program is new.
    pub(crate) fn with_written(mut self, written: Option<Arc<dyn Written>>) -> Self {
        if let Some(parts) = Arc::get_mut(&mut self.0) {
            parts.kept.written = written;
        }
        self
    }

    /// The data that is kept with it.
    pub(crate) fn kept(&self) -> &Kept {
        &self.0.kept
    }
}
