//! Exchanges between ranks that are recorded: each cuts the calls of a recording, and is made anew at a launch.

use std::{
    any::Any,
    fmt::{self, Debug},
    panic::Location,
    sync::Arc,
};

use super::{Kept, Placement, recorder::Part};
use crate::{
    Error, Result, backend::Device, collective::Exchanged, context::ContextCore, stream::StreamCore,
};

/// A communicator, where nobody knows that its device exchanges.
pub(crate) trait Exchanging<D: Device>: Any + Debug + Send {
    fn core(&self) -> &Arc<ContextCore<D>>;

    /// Its rank, and the number of ranks.
    fn place(&self) -> (usize, usize);

    /// Whether it stands for an argument of a recording.
    fn is_stand(&self) -> bool;

    /// A communicator that stands for this one in a recording.
    fn stand(&self, part: Part) -> Box<dyn Exchanging<D>>;

    /// Makes a recorded exchange. Blocks until the other ranks make it, as its call would.
    fn make(
        &mut self,
        stream: &StreamCore<D>,
        what: &Exchanged<Kept>,
        memory: Placement<'_, D>,
    ) -> Result<()>;

    /// Ends the communicator if nobody compares its calls: the other ranks count on those that this error left out.
    fn failed(&self, error: Error) -> Error;
}

/// An exchange, and the line of the program that called it.
pub(super) struct RecordedExchange {
    pub(super) site: &'static Location<'static>,
    /// The number of calls that are recorded before it.
    pub(super) calls_before: usize,
    /// The number of the communicator among the arguments.
    pub(super) argument: usize,
    pub(super) what: Exchanged<Kept>,
}

impl Debug for RecordedExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordedExchange({})", self.site)
    }
}
