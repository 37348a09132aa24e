//! Programs of functions that were expanded before.

use std::{
    collections::HashMap,
    sync::{Mutex, OnceLock, PoisonError},
};

use super::{Function, primitive::Program};

/// Functions whose program is kept.
const MAX_FUNCTIONS: usize = 4096;
/// Instructions of all programs that are kept: about 100 MiB.
const MAX_INSTRUCTIONS: usize = 1 << 22;

#[derive(Default)]
struct Programs {
    known: HashMap<Function, Program>,
    instructions: usize,
}

impl Function {
    /// The function in primitives. Expanded once; kept for the next call of any equal function.
    pub(crate) fn program(&self) -> &Program {
        static PROGRAMS: OnceLock<Mutex<Programs>> = OnceLock::new();
        self.kept_program().get_or_init(|| {
            let programs = PROGRAMS.get_or_init(Mutex::default);
            let programs = || programs.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(program) = programs().known.get(self) {
                return program.clone();
            }
            // Expanded without the lock: another thread may do the same, and gets an equal program.
            let program = self.expand();
            let mut programs = programs();
            programs.instructions += program.instructions().len();
            if programs.known.len() >= MAX_FUNCTIONS || programs.instructions > MAX_INSTRUCTIONS {
                programs.known.clear();
                programs.instructions = program.instructions().len();
            }
            programs.known.insert(self.clone(), program.clone());
            program
        })
    }
}
