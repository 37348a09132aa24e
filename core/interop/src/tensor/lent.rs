//! Tensors that were given to other code.

use std::sync::Arc;

use devarray::{StreamHandle, backend::ForeignStream};

use super::{Consumer, Tensor, memory::Memory};
use crate::{Door, Result};

/// A tensor that was given to other code. When it is given back, later work here comes after the
/// other code's work.
pub(crate) struct Lent<D: Door> {
    memory: Arc<Memory<D>>,
    fence: Option<(StreamHandle<D>, Fence)>,
}

/// The work after which returned memory may be used.
#[derive(Clone, Copy)]
enum Fence {
    /// The work that other code gave this stream.
    Stream(ForeignStream),
    /// All work that the device was given.
    Device,
}

impl<D: Door> Lent<D> {
    /// Hands a tensor over.
    #[track_caller]
    pub(crate) fn new(tensor: &Tensor<D>, stream: &StreamHandle<D>, consumer: Consumer) -> Result<Self> {
        tensor.hand_over(stream, consumer)?;
        let is_default = |other| matches!(other, ForeignStream::LEGACY | ForeignStream::PER_THREAD);
        let fence = match consumer {
            Consumer::StreamForNow(other) if !is_default(other) => Fence::Device,
            Consumer::Stream(other) | Consumer::StreamForNow(other) => Fence::Stream(other.of_any_thread()),
            // The consumer did not name its stream; most code uses the default stream.
            Consumer::Host | Consumer::Unordered => Fence::Stream(ForeignStream::LEGACY),
        };
        let has_streams = !tensor.layout().is_empty() && !stream.device().is_host();
        Ok(Self { memory: Arc::clone(&tensor.memory), fence: has_streams.then(|| (stream.clone(), fence)) })
    }

    /// Hands a tensor on whose consumer works in the order of the lender's stream, so no order is
    /// made.
    pub(crate) fn onward(tensor: &Tensor<D>) -> Self {
        Self { memory: Arc::clone(&tensor.memory), fence: None }
    }
}

impl<D: Door> Drop for Lent<D> {
    /// Leaks memory if no order can be made: freeing it could take it away from a reader.
    fn drop(&mut self) {
        let Some((stream, fence)) = self.fence.take() else { return };
        let ordered = match fence {
            Fence::Stream(from) => {
                stream.wait_for_foreign(from).and_then(|()| stream.take_over(&self.memory))
            }
            Fence::Device => stream.device().finish(),
        };
        if ordered.is_err() {
            std::mem::forget(Arc::clone(&self.memory));
        }
    }
}
