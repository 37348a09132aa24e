//! Programs of functions that were expanded before.

use std::{
    collections::HashMap,
    sync::{Mutex, OnceLock, PoisonError},
};

use super::{Function, primitive::Program};

/// Functions whose program is kept.
const MAX_FUNCTIONS: usize = 4096;

impl Function {
    /// The function in primitives. Expanded once; kept for the next call of any equal function.
    pub(crate) fn program(&self) -> Program {
        static PROGRAMS: OnceLock<Mutex<HashMap<Function, Program>>> = OnceLock::new();
        let programs = PROGRAMS.get_or_init(Mutex::default);
        let known = || programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = known().get(self) {
            return program.clone();
        }
        // Expanded without the lock: another thread may do the same, and gets an equal program.
        let program = self.expand();
        let mut programs = known();
        if programs.len() >= MAX_FUNCTIONS {
            programs.clear();
        }
        programs.insert(self.clone(), program.clone());
        program
    }
}
