//! Tests the `devarray` command: runs it like a user, and compares it with oracles that share no code with it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in helpers too")]

mod bad_files;
mod bad_input;
mod bad_programs;
mod bench;
mod bench_call;
mod bench_compute;
mod call;
mod check;
mod golden;
mod golden_calls;
mod golden_compute;
mod host;
mod in_process;
#[cfg(unix)]
mod launch;
#[cfg(target_os = "linux")]
mod limits;
mod map;
mod map_refused;
mod model;
mod npy_file;
mod one_judge;
mod relayout;
mod replay;
mod run;
