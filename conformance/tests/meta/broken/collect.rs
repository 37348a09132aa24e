//! A broken device exchanges in another order, in part, or at another time.
#![allow(unsafe_code)] // hands operations on, wrongly on purpose, to a simulator that checks every access

use std::{ptr, sync::Arc};

use devarray::{
    Result,
    backend::{Capability, CollectOp, Collects, CutOff, Exchange, Joining, RankTurns},
};

use super::{Broken, BrokenStream, Bug, Placed};

// SAFETY: none can be claimed; only used over a simulator, whose device memory is checked at every
// access.
unsafe impl<D: Collects> Collects for Broken<D> {
    type Communicator = D::Communicator;

    fn join(&self, joining: &Joining<'_>) -> Result<D::Communicator> {
        self.lie("join", Capability::Collectives)?;
        self.inner.join(joining)
    }

    fn collect(
        &self,
        stream: &BrokenStream<D>,
        communicator: &D::Communicator,
        op: &CollectOp<'_, Placed<D::Buffer>>,
    ) -> Result<()> {
        let loses = self.bug == Bug::ExchangesLoseCountedRows && op.counts().is_some();
        if loses || self.bug == Bug::ExchangesDoNothing {
            return Ok(());
        }
        let from = |at: usize| if self.bug == Bug::ExchangesIgnoreOffsets { 0 } else { at };
        let source = op.source().map(|(buffer, at)| (&buffer.inner, from(at)));
        let whole = op
            .source()
            .filter(|_| self.bug == Bug::ExchangesMisplaceTheOwn && op.exchange() == Exchange::ReduceScatter);
        // In place, the part of the rank is put where the parts begin.
        let to = |buffer: *const _, at| match whole {
            Some((source, first)) if ptr::eq(buffer, source) => first,
            _ => at,
        };
        let result = op.result().map(|(buffer, at)| (&buffer.inner, to(buffer, at)));
        // SAFETY: the same operation, or one that touches no more of the same buffers.
        let inner = unsafe { op.on_unchecked(source, result) };
        let (count, mut backwards) = (op.count(), op.participants().to_vec());
        backwards.reverse();
        let inner = match self.bug {
            // SAFETY: all ranks are on devices with this bug.
            Bug::ExchangesLoseTheLast if count > 1 => unsafe { inner.with_count_unchecked(count - 1) },
            // SAFETY: as above.
            Bug::ExchangesCombineBackwards => unsafe { inner.with_participants_unchecked(&backwards) },
            _ => inner,
        };
        let lane = stream.unless(self.bug == Bug::ExchangesOutOfOrder);
        self.inner.collect(lane, communicator, &inner)
    }

    fn abort(&self, communicator: &D::Communicator) {
        self.inner.abort(communicator);
    }

    fn cut_off(&self, communicator: &D::Communicator) -> Option<Arc<dyn CutOff>> {
        self.inner.cut_off(communicator)
    }

    fn turns(&self) -> Option<Arc<dyn RankTurns>> {
        self.inner.turns()
    }
}
