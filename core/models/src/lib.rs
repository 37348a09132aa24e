#![doc = include_str!("../README.md")]
#![allow(
    dead_code,
    unused_imports,
    unused_variables,
    reason = "sources of core with the rest of it left out"
)]

mod threads;

include!(concat!(env!("OUT_DIR"), "/variants.rs"));

#[cfg(test)]
mod tests;
