//! Caches the programs of functions that were expanded before.
//!
//! It saves time on the host: parsing a function and calling it takes 2.95 µs instead of 4.34 (on
//! CUDA, with a driver that does nothing).

use std::{
    collections::HashMap,
    sync::{Mutex, OnceLock, PoisonError},
};

use super::{Function, primitive::Program};

/// The most functions whose programs are kept.
const MAX_FUNCTIONS: usize = 4096;
/// The most instructions of all kept programs together, about 100 MiB.
const MAX_INSTRUCTIONS: usize = 1 << 22;

#[derive(Default)]
struct Programs {
    known: HashMap<Function, Program>,
    instructions: usize,
}

impl Programs {
    /// Keeps a program. If there are too many programs, or they are too long together, drops the
    /// others.
    fn keep(&mut self, function: Function, program: Program) {
        self.instructions += program.instructions().len();
        if self.known.len() >= MAX_FUNCTIONS || self.instructions > MAX_INSTRUCTIONS {
            self.known.clear();
            self.instructions = program.instructions().len();
        }
        self.known.insert(function, program);
    }
}

impl Function {
    /// The function in primitives. It is expanded once, and kept for the next call of any equal
    /// function.
    #[doc(hidden)]
    #[inline]
    pub fn program(&self) -> &Program {
        self.program_by(0, Self::expand)
    }

    /// Like [`program`](Self::program), for elements that are combined instead of stored.
    #[doc(hidden)]
    #[inline]
    pub fn combined_program(&self) -> &Program {
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
            // Expanded without the lock. Another thread may do the same, and gets an equal program.
            let program = expand(self);
            programs().keep(self.clone(), program.clone());
            program
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ElementType;

    /// A function of `added + 3` instructions. Functions with different numbers differ.
    fn function(number: u64, added: usize) -> (Function, Program) {
        let sum = format!("x0 + {number}{}", " + x0".repeat(added));
        let function = Function::parse(&sum, &[ElementType::U64], &[]).expect("it parses");
        let program = function.expand();
        assert_eq!(program.instructions().len(), added + 3, "the input, the number and the sums");
        (function, program)
    }

    #[test]
    fn programs_are_kept_up_to_a_number_of_instructions() {
        let mut programs = Programs::default();
        let keep = |programs: &mut Programs, number, added| {
            let (function, program) = function(number, added);
            programs.keep(function, program);
            (programs.known.len(), programs.instructions)
        };
        assert_eq!(keep(&mut programs, 1, 0), (1, 3));
        assert_eq!(keep(&mut programs, 2, 7), (2, 13));
        // Simulates that many others are kept.
        programs.instructions = MAX_INSTRUCTIONS - 5;
        assert_eq!(keep(&mut programs, 3, 2), (3, MAX_INSTRUCTIONS), "as many as may be kept");
        assert_eq!(keep(&mut programs, 4, 1), (1, 4), "one more: only the last is kept");
        assert!(programs.known.contains_key(&function(4, 1).0));
    }

    #[test]
    fn programs_are_kept_up_to_a_number_of_functions() {
        let mut programs = Programs::default();
        for number in 1..=MAX_FUNCTIONS {
            let (function, program) = function(number as u64, 0);
            programs.keep(function, program);
        }
        assert_eq!((programs.known.len(), programs.instructions), (MAX_FUNCTIONS, 3 * MAX_FUNCTIONS));
        let (last, program) = function(0x1_0000, 5);
        programs.keep(last, program);
        assert_eq!((programs.known.len(), programs.instructions), (1, 8));
    }

    #[test]
    fn the_elements_of_a_type_are_one_function() {
        for element_type in ElementType::ALL {
            let elements = Function::of_elements(element_type);
            assert_eq!(*elements, Function::parse("x0", &[element_type], &[]).expect("it parses"));
            assert!(std::ptr::eq(elements, Function::of_elements(element_type)));
        }
    }

    /// The two forms of a function are kept apart, and an equal function gets the same program.
    #[test]
    fn a_program_is_expanded_once() {
        let parse = || Function::parse("x0 / 3.0625", &[ElementType::F32], &[]).expect("it parses");
        let (one, two) = (parse(), parse());
        assert_eq!((one.program(), one.combined_program()), (&one.expand(), &one.expand_combined()));
        assert_ne!(one.program(), one.combined_program());
        let mut expanded = 0;
        let program = two.program_by(0, |function| {
            expanded += 1;
            function.expand()
        });
        assert_eq!((program, expanded), (one.program(), 0));
    }
}
