//! Calls on pinned and borrowed host memory, on streams and on events.

use std::{
    mem,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use devarray::{Device, Error, EventHandle, Transfer, TransferError};

use super::{
    elements::Elements,
    failure::{Failure, ORDER, ZEROED},
    machine::{Done, MOST_EVENTS, MOST_TRANSFERS, Machine, lock},
    op::{End, Part},
};

impl<T: Elements, D: Device> Machine<'_, T, D> {
    pub(super) fn start_upload(&mut self, stream: usize, to: &Part, value: usize) -> Done {
        let (stream, strict) = self.stream(stream);
        let Some((at, place)) = self.place(to) else { return Ok(()) };
        let values = T::values(value, place.len());
        let Some(mut host) = self.done(self.shared.context.pinned::<T>(place.len()), false)? else {
            return Ok(());
        };
        self.compare(&host, &vec![T::zeroed(); place.len()], ZEROED)?;
        host.copy_from_slice(&values);
        let started = match place.view_mut(self.arrays[at].array.view_mut()) {
            Ok(mut view) => view.upload(&stream, host),
            Err(error) => return self.done::<()>(Err(error), false).map(drop),
        };
        if self.started(started, values.clone(), strict)? {
            self.write(at, &place, &values);
        }
        Ok(())
    }

    pub(super) fn start_download(&mut self, stream: usize, from: &Part) -> Done {
        let (stream, strict) = self.stream(stream);
        let Some((at, place)) = self.place(from) else { return Ok(()) };
        let Some(host) = self.done(self.shared.context.pinned::<T>(place.len()), false)? else {
            return Ok(());
        };
        self.compare(&host, &vec![T::zeroed(); place.len()], ZEROED)?;
        let due = self.due(at, &place);
        let started = match place.view(self.arrays[at].array.view()) {
            Ok(view) => view.download(&stream, host),
            Err(error) => return self.done::<()>(Err(error), false).map(drop),
        };
        self.started(started, due, strict).map(drop)
    }

    /// Keeps a transfer, if it started.
    fn started(
        &mut self,
        started: Result<Transfer<T, D>, TransferError<T, D>>,
        due: Vec<T>,
        strict: bool,
    ) -> Result<bool, Failure> {
        let Some(transfer) = self.done(started.map_err(Error::from), strict)? else { return Ok(false) };
        if self.transfers.len() == MOST_TRANSFERS {
            self.end_transfer(0, End::Waited)?;
        }
        self.transfers.push((transfer, due));
        Ok(true)
    }

    pub(super) fn end_transfer(&mut self, transfer: usize, end: End) -> Done {
        let Some(at) = transfer.checked_rem(self.transfers.len()) else { return Ok(()) };
        let (transfer, due) = self.transfers.swap_remove(at);
        match end {
            End::Waited => self.ended(transfer, &due),
            End::Polled => {
                // The limit keeps a device that never finishes from looping for ever.
                for _ in 0..1000 {
                    if self.done(transfer.is_done(), false)? == Some(true) {
                        break;
                    }
                }
                self.ended(transfer, &due)
            }
            End::Dropped => {
                drop(transfer);
                Ok(())
            }
        }
    }

    /// Waits for a transfer, and compares the bytes in its buffer: the uploaded bytes, or the bytes
    /// that were to be read.
    pub(super) fn ended(&self, transfer: Transfer<T, D>, due: &[T]) -> Done {
        let Some(host) = self.done(transfer.wait().map_err(Error::from), false)? else { return Ok(()) };
        self.compare(&host, due, ORDER)
    }

    pub(super) fn scope(&mut self, stream: usize, to: &Part, from: &Part, value: usize) -> Done {
        let (stream, strict) = self.stream(stream);
        let (Some((at, place)), Some((other, source))) = (self.place(to), self.place(from)) else {
            return Ok(());
        };
        let values = T::values(value, place.len());
        let mut back = vec![T::zeroed(); place.len()];
        let mut seen = vec![T::zeroed(); source.len()];
        let arrays = &mut self.arrays;
        let ended = stream.scope(|scope| {
            let up = place
                .view_mut(arrays[at].array.view_mut())
                .and_then(|mut view| scope.upload(&values, &mut view));
            if up.is_ok() {
                place.picture.write(&mut arrays[at].due, &values);
            }
            let down = place.view(arrays[at].array.view()).and_then(|view| scope.download(&view, &mut back));
            let look =
                source.view(arrays[other].array.view()).and_then(|view| scope.download(&view, &mut seen));
            [up, down, look]
        });
        // Kept before anything is checked: a broken device may still be writing.
        self.borrowed.0.extend([values, back, seen]);
        let Some([up, down, look]) = self.done(ended, false)? else { return Ok(()) };
        self.done(up, strict)?;
        let ([.., back, seen], down, look) =
            (&self.borrowed.0[..], self.done(down, strict)?, self.done(look, strict)?)
        else {
            return Ok(());
        };
        for (outcome, found, at, place) in [(down, back, at, &place), (look, seen, other, &source)] {
            if outcome.is_some() {
                self.compare(found, &self.due(at, place), ORDER)?;
            }
        }
        Ok(())
    }

    pub(super) fn replace(&mut self, stream: usize, strict: bool) -> Done {
        let context = &self.shared.context;
        let opened = if strict { context.strict_stream() } else { context.stream() };
        if let Some(opened) = self.done(opened, false)? {
            self.shared.replaced.store(true, Relaxed);
            let mut streams = lock(&self.shared.streams);
            let at = stream % streams.len();
            let before = mem::replace(&mut streams[at], (opened, strict));
            drop(streams);
            drop(before);
        }
        Ok(())
    }

    pub(super) fn record(&mut self, stream: usize) -> Done {
        let (stream, _) = self.stream(stream);
        let Some(event) = self.done(stream.record(), false)? else { return Ok(()) };
        let mut events = lock(&self.shared.events);
        let oldest = (events.len() == MOST_EVENTS).then(|| events.remove(0));
        events.push(Arc::new(event));
        drop(events);
        drop(oldest);
        Ok(())
    }

    fn event(&self, event: usize) -> Option<Arc<EventHandle<D>>> {
        let events = lock(&self.shared.events);
        event.checked_rem(events.len()).map(|at| Arc::clone(&events[at]))
    }

    pub(super) fn wait(&mut self, stream: usize, event: usize) -> Done {
        let Some(event) = self.event(event) else { return Ok(()) };
        let waited = self.stream(stream).0.wait(&event);
        self.done(waited, false).map(drop)
    }

    pub(super) fn await_event(&mut self, event: usize, only_ask: bool) -> Done {
        let Some(event) = self.event(event) else { return Ok(()) };
        let asked = if only_ask { event.query().map(drop) } else { event.synchronize() };
        self.done(asked, false).map(drop)
    }

    pub(super) fn join(&mut self, stream: usize) -> Done {
        let (stream, _) = self.stream(stream);
        let others = lock(&self.shared.streams).clone();
        for (other, _) in others {
            let waited = other.record().and_then(|event| stream.wait(&event));
            self.done(waited, false)?;
        }
        Ok(())
    }
}
