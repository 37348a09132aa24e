//! Caches lowered reductions and scans of functions.
//!
//! It saves time on the host: a sum of a small array takes 0.97 µs instead of 1.52 (on CUDA, with a
//! driver that does nothing).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use super::{
    Outcome, ReduceOperation, Reduction, Scan, ScanOperation,
    lower::{Lowered, lower_reduction, lower_scan},
};
use crate::{ElementType, Function, FunctionError};

/// The most functions that are kept, and the most forms of each: every divisor makes another form.
const MAX_FUNCTIONS: usize = 1024;
const MAX_FORMS: usize = 64;

/// The key of a lowered form of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Reduction {
        operation: ReduceOperation,
        element_type: Option<ElementType>,
        ddof: u64,
        initial: Option<(ElementType, u64)>,
        outcome: Option<Outcome>,
    },
    Scan {
        operation: ScanOperation,
        exclusive: bool,
    },
}

type Kept = HashMap<Function, Vec<(Form, Arc<Lowered>)>>;

impl Function {
    /// The lowered form of a reduction of the function. It is lowered once, and kept for the next
    /// call with any equal function.
    #[doc(hidden)]
    pub fn lowered_reduction(&self, reduction: &Reduction) -> Result<Arc<Lowered>, FunctionError> {
        // The other fields only concern axes, which do not change the lowered form.
        let &Reduction { operation, element_type, ddof, initial, outcome, axes: _, keep_axes: _ } = reduction;
        let form = Form::Reduction { operation, element_type, ddof, initial, outcome };
        self.lowered(form, || lower_reduction(self, None, reduction))
    }

    /// Like [`lowered_reduction`](Self::lowered_reduction), for a scan.
    #[doc(hidden)]
    pub fn lowered_scan(&self, scan: Scan) -> Result<Arc<Lowered>, FunctionError> {
        let Scan { operation, exclusive, .. } = scan;
        self.lowered(Form::Scan { operation, exclusive }, || lower_scan(self, scan))
    }

    fn lowered(
        &self,
        form: Form,
        lower: impl FnOnce() -> Result<Lowered, FunctionError>,
    ) -> Result<Arc<Lowered>, FunctionError> {
        static KEPT: OnceLock<Mutex<Kept>> = OnceLock::new();
        let kept = KEPT.get_or_init(Mutex::default);
        let known = || kept.lock().unwrap_or_else(PoisonError::into_inner);
        let find = |kept: &Kept| {
            let forms = kept.get(self)?;
            forms.iter().find(|(known, _)| *known == form).map(|(_, lowered)| Arc::clone(lowered))
        };
        if let Some(lowered) = find(&known()) {
            return Ok(lowered);
        }
        // Lowered without the lock. Another thread may do the same, and gets an equal form.
        let lowered = Arc::new(lower()?);
        let mut kept = known();
        if kept.len() >= MAX_FUNCTIONS {
            kept.clear();
        }
        let forms = kept.entry(self.clone()).or_default();
        if forms.len() >= MAX_FORMS {
            forms.clear();
        }
        forms.push((form, Arc::clone(&lowered)));
        Ok(lowered)
    }
}
