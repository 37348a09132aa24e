//! DLPack: a structure that describes memory, and a deleter that gives it back.
//!
//! Both kinds are had: the [versioned](abi::ManagedTensorVersioned) one of DLPack 1.x, and the
//! [legacy](abi::ManagedTensor) one that much code still wants, which cannot say that memory is
//! read-only, so that read-only memory does not go out in it.
//!
//! - **Out** ([`Tensor::to_dlpack`], safe): the offset is folded into `data`, so `byte_offset` is
//!   0; strides are always there; an array of no elements has a null `data`. Work here comes before
//!   the [`Consumer`]'s. When the deleter runs, from any thread, the memory is freed after what the
//!   consumer's stream was given by then.
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
