//! Sends and receives of one rank, carried out together.

use std::{any::type_name, fmt, panic::Location};

use super::{Communicator, Exchange};
use crate::{
    Result, StreamHandle,
    array::{AsArrayView, AsArrayViewMut, Element, ErasedView, ErasedViewMut},
    backend::Collects,
    error::{call_location, made_again},
};

/// Sends and receives of one rank that are carried out together, from [`Communicator::transfers`].
///
/// They are named in any order, and nothing happens before [`run`](Self::run). Dropping it without that carries
/// nothing out.
pub struct Transfers<'t, D: Collects> {
    of: &'t mut Communicator<D>,
    named: Vec<Transfer<'t, D>>,
}

/// One of them.
struct Transfer<'t, D: Collects> {
    stream: &'t StreamHandle<D>,
    peer: usize,
    element_type: &'static str,
    elements: Side<'t, D>,
    site: &'static Location<'static>,
}

/// The elements of a transfer.
enum Side<'t, D: Collects> {
    Sent(ErasedView<'t, D>),
    Received(ErasedViewMut<'t, D>),
}

impl<D: Collects> Communicator<D> {
    /// Begins a list of sends and receives, which need no order that fits the other ranks' lists: two ranks may
    /// both name their send first, where [`send`](Self::send) would wait for ever. Ranks that give their
    /// neighbours their edges and get theirs:
    ///
    /// ```
    /// use std::thread;
    /// use devarray::{Array, Context, Result, collective::{Communicator, CommunicatorId}};
    /// use devarray_host::HostDevice;
    ///
    /// fn neighbours(rank: usize, ranks: usize, id: &CommunicatorId) -> Result<[i32; 2]> {
    ///     let context = Context::new(HostDevice::builder().threads(1).build())?;
    ///     let stream = context.stream()?;
    ///     let mut communicator = Communicator::join(&context, id, rank, ranks)?;
    ///     let own = Array::full(&stream, &[1], i32::try_from(rank).unwrap())?;
    ///     let (mut from_left, mut from_right) = (Array::zeros(&stream, &[1])?, Array::zeros(&stream, &[1])?);
    ///     let (left, right) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
    ///
    ///     let mut transfers = communicator.transfers();
    ///     transfers.send(&stream, right, &own)?;
    ///     transfers.send(&stream, left, &own)?;
    ///     transfers.receive_into(&stream, left, &mut from_left)?;
    ///     transfers.receive_into(&stream, right, &mut from_right)?;
    ///     transfers.run()?;
    ///     Ok([from_left.item(&stream)?, from_right.item(&stream)?])
    /// }
    ///
    /// let id = CommunicatorId::new();
    /// let found = thread::scope(|scope| {
    ///     let ranks = [0, 1, 2].map(|rank| scope.spawn({ let id = &id; move || neighbours(rank, 3, id) }));
    ///     ranks.map(|rank| rank.join().unwrap())
    /// });
    /// assert_eq!(found.map(Result::unwrap), [[2, 1], [0, 2], [1, 0]]);
    /// ```
    #[must_use]
    pub fn transfers(&mut self) -> Transfers<'_, D> {
        Transfers { of: self, named: Vec::new() }
    }
}

impl<'t, D: Collects> Transfers<'t, D> {
    /// Names elements for another rank, which names that it receives them. Several for one rank arrive in
    /// the order in which they are named. Does not synchronize.
    ///
    /// On streams that differ, transfers may overlap: two devices may send to each other at once.
    ///
    /// # Errors
    ///
    /// [`Error::Collective`](crate::Error::Collective): there is no other rank `to`.
    #[track_caller]
    pub fn send<T: Element>(
        &mut self,
        stream: &'t StreamHandle<D>,
        to: usize,
        source: &'t impl AsArrayView<T, D>,
    ) -> Result<()> {
        self.of.check_peer("send", to, true)?;
        let elements = Side::Sent((*source.as_array_view()).clone().into_erased());
        self.name::<T>(stream, to, elements);
        Ok(())
    }

    /// Names elements that another rank sends. Does not synchronize.
    ///
    /// # Errors
    ///
    /// [`Error::Collective`](crate::Error::Collective): there is no other rank `from`.
    #[track_caller]
    pub fn receive_into<T: Element>(
        &mut self,
        stream: &'t StreamHandle<D>,
        from: usize,
        result: &'t mut impl AsArrayViewMut<T, D>,
    ) -> Result<()> {
        self.of.check_peer("receive", from, true)?;
        let elements = Side::Received(result.as_array_view_mut().into_erased());
        self.name::<T>(stream, from, elements);
        Ok(())
    }

    #[track_caller]
    fn name<T>(&mut self, stream: &'t StreamHandle<D>, peer: usize, elements: Side<'t, D>) {
        let (element_type, site) = (type_name::<T>(), call_location());
        self.named.push(Transfer { stream, peer, element_type, elements, site });
    }

    /// Carries them out. Blocks until each other rank that is named runs a list that names this one; does not wait for
    /// streams.
    ///
    /// # Errors
    ///
    /// The errors of [`send`](Communicator::send) and [`receive_into`](Communicator::receive_into). Transfers with
    /// ranks of lower numbers may have been carried out.
    pub fn run(self) -> Result<()> {
        let Self { of, mut named } = self;
        let rank = of.rank;
        // All transfers of all ranks have one order, and each rank carries its own out in it, so no two ranks
        // wait for each other.
        named.sort_by_key(|Transfer { peer, elements, .. }| {
            let from = if matches!(elements, Side::Sent(_)) { rank } else { *peer };
            (rank.min(*peer), rank.max(*peer), from)
        });
        named.into_iter().try_for_each(|transfer| made_again(transfer.site, || transfer.run(of)))
    }
}

impl<D: Collects> Transfer<'_, D> {
    fn run(&self, of: &mut Communicator<D>) -> Result<()> {
        let (peer, rank) = (self.peer, of.rank);
        let (operation, exchange, source, result) = match &self.elements {
            Side::Sent(view) => {
                ("send", Exchange::Transfer { from: rank, to: peer }, Some(view.elements()), None)
            }
            Side::Received(view) => {
                ("receive", Exchange::Transfer { from: peer, to: rank }, None, Some(view.elements()))
            }
        };
        let count = source.iter().chain(&result).map(|of| of.layout.len()).sum();
        of.move_elements(
            self.stream,
            (operation, exchange, Some(peer)),
            (self.element_type, count),
            source,
            result,
        )
    }
}

impl<D: Collects> fmt::Debug for Transfers<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transfers({} of {:?})", self.named.len(), self.of)
    }
}
