//! DLPack, for exchange with NumPy, CuPy, PyTorch and JAX: a structure that describes memory, and a
//! deleter that gives it back.
//!
//! There are two kinds: the [versioned](abi::ManagedTensorVersioned) one of DLPack 1.x, and the
//! [legacy](abi::ManagedTensor) one that much code still wants. The legacy one cannot mark memory
//! as read-only, so read-only memory is not exported in it. Memory whose elements repeat, for example
//! after a broadcast, is read-only.
//!
//! - **Out** ([`Tensor::to_dlpack`], safe): the offset is folded into `data`, so `byte_offset` is
//!   0; strides are always there; an array of no elements has a null `data`. Work here comes before
//!   the [`Consumer`]'s. When the deleter runs, on any thread, the memory is freed after all work
//!   given to the consumer's stream by then.
//! - **In** ([`Tensor::from_dlpack`], `unsafe`): every field is checked, `byte_offset` is added,
//!   strides may be missing, and memory that is read-only, or in which elements repeat, makes a
//!   [`Tensor`] that is not written.

pub mod abi;
mod exchange;
mod export;
mod import;
mod owned;

pub use exchange::{ExchangeApi, ExchangeApiHeader, SetError};
pub use owned::{Described, Managed, Owned};

#[cfg(doc)]
use crate::{Consumer, Tensor};
