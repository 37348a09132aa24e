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
        self.program_by(0, Self::expand)
    }

    /// The same, of elements that are combined and not stored.
    pub(crate) fn combined_program(&self) -> &Program {
        self.program_by(1, Self::expand_combined)
    }

    fn program_by(&self, which: usize, expand: impl FnOnce(&Self) -> Program) -> &Program {
        static PROGRAMS: [OnceLock<Mutex<Programs>>; 2] = [const { OnceLock::new() }; 2];
        self.kept_programs()[which].get_or_init(|| {
            let programs = PROGRAMS[which].get_or_init(Mutex::default);
            let programs = || programs.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(program) = programs().known.get(self) {
                return program.clone();
            }
            // Expanded without the lock: another thread may do the same, and gets an equal program.
            let program = expand(self);
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
