//! The function that a program was expanded from. It is kept with the program.

use std::sync::Arc;

use crate::{Function, primitive::Written};

/// A function, and whether its floats are stored, or combined with NaNs of any bits.
pub(super) struct WrittenFunction {
    pub(super) function: Function,
    pub(super) is_stored: bool,
}

/// The data that is kept with the program of a function.
pub(crate) fn written(function: &Function, is_stored: bool) -> Arc<dyn Written> {
    // The function is kept without its programs: otherwise function and program would keep each
    // other alive.
    Arc::new(WrittenFunction { function: function.alone(), is_stored })
}

impl Written for WrittenFunction {
    fn with_positions(&self, place: &dyn Fn(u8) -> Option<u8>) -> Option<Arc<dyn Written>> {
        let function = self.function.with_positions(place)?;
        Some(Arc::new(Self { function, is_stored: self.is_stored }))
    }
}
