//! Compares with the bits of the interpreter, which shares only the language with the executor.

mod elementary;
mod maps;
mod random;
mod reductions;
