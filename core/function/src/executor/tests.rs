//! The bits of the interpreter, which shares nothing with the executor but the language.

mod elementary;
mod maps;
mod random;
mod reductions;
