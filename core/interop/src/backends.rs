//! The doors of the backends of this repository.

#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "mock")]
mod mock;
