//! Tests the findings, figures and results of the simulator in one binary, so that they link once.

mod classes;
mod debug;
mod determinism;
mod drawing;
mod explore;
mod functions;
mod kernel_attacks;
mod kernels;
mod no_findings;
mod one_judge;
mod probes;
mod tight_memory;
mod timeline;
