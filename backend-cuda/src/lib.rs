#![doc = include_str!("../README.md")]

#[cfg(test)]
extern crate self as devarray_cuda; // by which name the emulation of the kernels knows it

mod captured;
mod communicator;
mod context;
pub mod cublaslt;
mod device;
pub mod driver;
mod event;
mod fast_product;
mod fetch;
mod function;
#[doc(hidden)] // what the tests run the kernels' emulation with
#[allow(
    missing_docs,
    unnameable_types,
    unreachable_pub,
    clippy::exhaustive_structs,
    clippy::must_use_candidate
)]
pub mod gather;
mod handle;
mod images;
mod kernels;
pub mod library;
mod memory;
pub mod nccl;
mod order;
mod packed;
mod peer;
mod pool;
mod probe;
mod product;
mod properties;
mod stream;
#[doc(hidden)] // what the tests run the kernels' emulation with
#[allow(
    missing_docs,
    unnameable_types,
    unreachable_pub,
    clippy::exhaustive_enums,
    clippy::large_enum_variant,
    clippy::must_use_candidate
)]
pub mod strided;

pub use device::{
    CudaAdopted, CudaCommunicator, CudaDevice, CudaExportable, CudaManagedBuffer, CudaModule, CudaOpened,
    CudaRegistration, CudaStream,
};
pub use event::CudaEvent;
pub use function::FunctionStatistics;
pub use memory::{CudaBuffer, CudaHostBuffer};
pub use probe::devices;
pub use strided::{MemorySpeed, explain_copy};
