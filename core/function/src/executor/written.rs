//! The function that a program was expanded from, which travels with it.

use std::sync::Arc;

use crate::{Function, primitive::Written};

/// A function, and whether its floats are stored, or combined with any NaN.
pub(super) struct WrittenFunction {
    pub(super) function: Function,
    pub(super) is_stored: bool,
}

/// The written form of the program that a function is expanded to.
pub(crate) fn written(function: &Function, is_stored: bool) -> Arc<dyn Written> {
    // Without its programs, which would keep each other.
    Arc::new(WrittenFunction { function: function.alone(), is_stored })
}

impl Written for WrittenFunction {
    fn with_positions(&self, place: &dyn Fn(u8) -> Option<u8>) -> Option<Arc<dyn Written>> {
        let function = self.function.with_positions(place)?;
        Some(Arc::new(Self { function, is_stored: self.is_stored }))
    }
}
