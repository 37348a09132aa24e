//! The bits of the interpreter, which shares nothing with the executor but the language.
#![allow(unsafe_code)] // lends memory of its own

mod maps;
mod random;
mod reductions;
