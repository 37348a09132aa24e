//! Exchanges of elements between devices. Each device is one rank.
#![allow(unsafe_code)] // declares an unsafe trait; performs no unsafe operation

use std::{
    fmt::{self, Debug},
    ops::Range,
    sync::Arc,
};

use super::{Device, Joining};
use crate::{
    Result,
    collective::{CollectiveError, Combining, Exchange, RankCall, RowCounts},
};

/// Exchanges with other devices: the capability [`Collectives`](super::Capability::Collectives).
///
/// # For callers
///
/// [`Communicator`](crate::collective::Communicator) has the calls of programs.
///
/// # For backend authors
///
/// Core has compared the calls of all ranks before it hands one over, or the program has vouched for them
/// ([`into_unchecked`](crate::collective::Communicator::into_unchecked)): each participant of an operation
/// is given it with the same [number](CollectOp::number), exchange, type and count, unless that rank
/// fails before. Core holds no lock meanwhile. [`collect`](Self::collect) may block until the other
/// participants make the call, but no longer than [the limit](Joining::time_limit); ranks that are
/// threads of one process meet in a [`Rendezvous`](super::Rendezvous).
///
/// # Safety
///
/// Like [`Device`]. An exchange is an operation of the stream that it was given to, as any other (S1 to
/// S8): it writes the result, and reads the source, of its own rank in the order of that stream. Memory
/// of another rank is touched only by an exchange that both take part in, after what that rank enqueued
/// before it and before what that rank enqueues later.
#[diagnostic::on_unimplemented(
    message = "the device `{Self}` cannot exchange elements with other ranks",
    label = "not a `Collects`",
    note = "a backend that can implements `backend::Collects`; code that needs it takes `D: Collects`"
)]
pub unsafe trait Collects: Device {
    /// The part of one rank in a communicator.
    type Communicator: Debug + Send + Sync + 'static;

    /// Joins. All ranks have called it or are about to.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::Error::Unsupported): the device cannot.
    /// - Any device error. The rank has not joined.
    fn join(&self, joining: &Joining<'_>) -> Result<Self::Communicator>;

    /// Enqueues an exchange. Does not wait for its end.
    ///
    /// # Errors
    ///
    /// Nothing was enqueued, and no other rank touches the memory of this one.
    fn collect(
        &self,
        stream: &Self::Stream,
        communicator: &Self::Communicator,
        op: &CollectOp<'_, Self::Buffer>,
    ) -> Result<()>;

    /// Gives a communicator up: calls of it that wait for other ranks fail, and so do later ones. Does
    /// not block. Doing it again changes nothing.
    fn abort(&self, communicator: &Self::Communicator);

    /// Tells later whether exchanges that were enqueued have been cut off: the communicator was given up before they
    /// were over, so that their results hold anything. None if exchanges are always carried out.
    fn cut_off(&self, communicator: &Self::Communicator) -> Option<Arc<dyn CutOff>>;

    /// The way to pass the turn on, where the backend decides which rank's thread runs; none if threads run freely.
    fn turns(&self) -> Option<Arc<dyn RankTurns>>;
}

/// The exchanges of one rank's part in a communicator that were cut off.
///
/// Core asks when a wait of the program covers an exchange, and the wait fails then. It may be asked when the
/// communicator is gone.
pub trait CutOff: Debug + Send + Sync {
    /// Whether the exchange of this [number](CollectOp::number) was cut off. If one was, so were the later ones of the
    /// communicator. Does not block.
    fn cut_off(&self, number: u64) -> bool;
}

/// Passes a turn between the threads of ranks, for a backend that decides which of them runs.
///
/// It belongs to one rank. While a thread of a rank waits for others, it gives its turn away.
pub trait RankTurns: Debug + Send + Sync {
    /// Lets others run until something changed that this rank may wait for, or for no reason. False if
    /// all ranks wait, so that nothing will ever change.
    fn pause(&self, call: &RankCall) -> bool;

    /// Something changed that others may wait for.
    fn changed(&self);

    /// Calls that do not fit were found, once for each mistake.
    fn found(&self, error: &CollectiveError);

    /// This rank begins to wait in a meeting: a join, a barrier or a split, which returns when all ranks of the communicator
    /// have made it.
    fn comes_to(&self, meeting: Meeting);

    /// The wait is over. If all ranks came (`all_came`), this rank goes on after everything that each of them has waited for
    /// before it came.
    fn goes_from(&self, meeting: Meeting, all_came: bool);
}

/// One [`join`], [`barrier`] or [`split`] of all ranks of a communicator. All of them have the same value.
///
/// [`join`]: crate::collective::Communicator::join
/// [`barrier`]: crate::collective::Communicator::barrier
/// [`split`]: crate::collective::Communicator::split
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Meeting {
    /// Distinguishes communicators that exist at the same time.
    pub(crate) communicator: usize,
    /// Its number in the communicator: joining is 0.
    pub(crate) number: u64,
}

/// The part of one rank in an exchange.
#[repr(C)]
pub struct CollectOp<'a, B> {
    pub(crate) number: u64,
    pub(crate) call: &'a RankCall,
    pub(crate) exchange: Exchange,
    pub(crate) participants: &'a [usize],
    pub(crate) rank: usize,
    pub(crate) count: usize,
    pub(crate) counts: Option<&'a RowCounts>,
    pub(crate) item_bytes: usize,
    pub(crate) combining: Option<&'a Combining>,
    pub(crate) source: Option<&'a B>,
    pub(crate) source_offset_bytes: usize,
    pub(crate) result: Option<&'a B>,
    pub(crate) result_offset_bytes: usize,
}

impl<'a, B> CollectOp<'a, B> {
    /// Returns this part of the exchange on other buffers, each with the place of its first byte.
    ///
    /// # Safety
    ///
    /// The buffers are as [`source`](Self::source) and [`result`](Self::result) say.
    #[must_use]
    pub unsafe fn on_unchecked<'b, C>(
        &'b self,
        source: Option<(&'b C, usize)>,
        result: Option<(&'b C, usize)>,
    ) -> CollectOp<'b, C> {
        let Self { number, call, exchange, participants, rank, count, counts, item_bytes, combining, .. } =
            *self;
        let (source, source_offset_bytes) = source.unzip();
        let (result, result_offset_bytes) = result.unzip();
        let source_offset_bytes = source_offset_bytes.unwrap_or(0);
        let result_offset_bytes = result_offset_bytes.unwrap_or(0);
        CollectOp {
            number,
            call,
            exchange,
            participants,
            rank,
            count,
            counts,
            item_bytes,
            combining,
            source,
            source_offset_bytes,
            result,
            result_offset_bytes,
        }
    }

    /// Returns this with parts of fewer elements.
    ///
    /// # Safety
    ///
    /// All participants change their part so, and parts are not empty.
    #[must_use]
    pub unsafe fn with_count_unchecked(self, count: usize) -> Self {
        Self { count, ..self }
    }

    /// Returns this with its participants in another order.
    ///
    /// # Safety
    ///
    /// All participants change their part so.
    #[must_use]
    pub unsafe fn with_participants_unchecked(self, participants: &'a [usize]) -> Self {
        Self { participants, ..self }
    }

    /// The number of the exchange in its communicator: the same for all participants, and no other
    /// exchange under way has it.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The program's call, as errors name it.
    #[must_use]
    pub fn call(&self) -> &'a RankCall {
        self.call
    }

    /// The ways of the elements.
    #[must_use]
    pub fn exchange(&self) -> Exchange {
        self.exchange
    }

    /// The ranks that take part, in rising order.
    #[must_use]
    pub fn participants(&self) -> &'a [usize] {
        self.participants
    }

    /// This rank.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Elements of one part, never 0. Sources and results have [one part or one a
    /// rank](Exchange::pieces). Elements of one row where [rows are counted](Self::counts).
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The rows of the parts for each rank and from each, for [`Exchange::AllToAllCounted`] alone. Both are
    /// known, and fit the counts of the other ranks.
    #[must_use]
    pub fn counts(&self) -> Option<&'a RowCounts> {
        self.counts
    }

    /// The bytes of a part of the source, counted from where the parts begin.
    #[must_use]
    pub fn source_part(&self, part: usize) -> Range<usize> {
        self.bytes_of(self.counts.map_or(part..part + 1, |counts| counts.sent_to(part)))
    }

    /// The bytes of a part of the result, counted from where the parts begin.
    #[must_use]
    pub fn result_part(&self, part: usize) -> Range<usize> {
        self.bytes_of(self.counts.map_or(part..part + 1, |counts| counts.received_from(part)))
    }

    fn bytes_of(&self, parts: Range<usize>) -> Range<usize> {
        parts.start * self.part_bytes()..parts.end * self.part_bytes()
    }

    /// Bytes of one part, or of one row where [rows are counted](Self::counts).
    #[must_use]
    pub fn part_bytes(&self) -> usize {
        self.count * self.item_bytes
    }

    /// Bytes of an element.
    #[must_use]
    pub fn item_bytes(&self) -> usize {
        self.item_bytes
    }

    /// The combination of elements; none if they are only moved.
    #[must_use]
    pub fn combining(&self) -> Option<&'a Combining> {
        self.combining
    }

    /// The buffer that is read, and the byte in it at which the parts begin. Parts are contiguous, one
    /// behind the other. `None` if the rank only receives,
    /// or sends no rows.
    #[must_use]
    pub fn source(&self) -> Option<(&'a B, usize)> {
        Some((self.source?, self.source_offset_bytes))
    }

    /// The buffer that is written, and the byte in it at which the parts begin. `None` if the rank only
    /// sends, or gets no rows. The written bytes are the source itself, or share no byte with it; or the source is part
    /// [`rank`](Self::rank) of what [`Exchange::AllGather`] writes; or what [`Exchange::ReduceScatter`] writes is that
    /// part of the source.
    #[must_use]
    pub fn result(&self) -> Option<(&'a B, usize)> {
        Some((self.result?, self.result_offset_bytes))
    }

    /// Bytes that are written.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        let parts = self.exchange.result_parts(self.participants.len());
        if self.result.is_some() { self.result_part(parts - 1).end } else { 0 }
    }

    /// Bytes that are read.
    #[must_use]
    pub fn source_bytes(&self) -> usize {
        let parts = self.exchange.source_parts(self.participants.len());
        if self.source.is_some() { self.source_part(parts - 1).end } else { 0 }
    }
}

impl<B> Debug for CollectOp<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, call, exchange, rank, .. } = self;
        write!(f, "CollectOp({number}: {exchange:?}, rank {rank}, {call:?})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_backend_is_given_is_shown_in_one_line() {
        let call = RankCall::new("all_reduce", 7);
        let op = CollectOp::<u8> {
            number: 9,
            call: &call,
            exchange: Exchange::AllReduce,
            participants: &[0, 1],
            rank: 1,
            count: 8,
            counts: None,
            item_bytes: 4,
            combining: None,
            source: None,
            source_offset_bytes: 0,
            result: None,
            result_offset_bytes: 0,
        };
        let text = format!("{op:?}");
        assert_eq!(text, "CollectOp(9: AllReduce, rank 1, RankCall(all_reduce of 0, call 7))");
    }
}
