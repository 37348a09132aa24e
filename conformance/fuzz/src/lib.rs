#![doc = include_str!("../README.md")]

pub mod arrow;
pub mod dlpack;
pub mod expression;
pub mod golden_lines;
pub mod ipc;
pub mod mutate;
pub mod npy;
pub mod plan;
pub mod program;
pub mod step_texts;

// The command line's own modules, without its backends and their dependencies.
include!(concat!(env!("OUT_DIR"), "/command_line.rs"));

/// A target, which takes any bytes.
pub type Target = fn(&[u8]);

/// All targets, each with the name of its corpus.
pub const TARGETS: [(&str, Target); 9] = [
    ("arrow", arrow::run),
    ("dlpack", dlpack::run),
    ("expression", expression::run),
    ("golden", golden_lines::run),
    ("ipc", ipc::run),
    ("npy", npy::run),
    ("plan", plan::run),
    ("program", program::run),
    ("steps", step_texts::run),
];
