//! Arrays as a program sees them. One binary: linking one for each file takes minutes.

mod api_as_written;
mod array_api_creation;
mod array_api_host;
mod array_api_within;
mod array_sources;
mod array_transforms;
mod arrays;
mod compare;
mod debug;
mod display;
mod error_lines;
mod every_error;
mod interop_ndarray;
mod joins;
mod literals_as_written;
mod meshgrids;
mod npy;
mod records;
mod serialize;
mod soundness;
