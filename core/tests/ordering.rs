//! Order of work: hazards, kernels, threads. One binary: linking one for each file takes minutes.

mod hazards;
mod host_functions;
mod index_errors;
mod kernel_arguments;
mod kernels;
mod sequential_equivalence;
mod threads;
mod timeline;
