//! Mistakes in recorded work.

/// Why a call is not recorded, or a recording not launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// A call that waits, moves data from or to the host, enqueues work of other code, or whose size only
    /// the device knows.
    #[error("this cannot be recorded")]
    NotRecorded,
    /// An array that is neither an argument of the recording, nor made in it, nor shared.
    #[error("an array is neither an argument of the recording, nor made in it, nor a `SharedArray`")]
    NoArgument,
    /// A communicator that is no argument of the recording.
    #[error("the communicator is no argument of the recording")]
    OtherRanks,
    /// An array or a communicator of a recording, outside it.
    #[error("an array or a communicator of a recording is used outside it")]
    Outside,
    /// An array that was made in a recording and is alive behind it.
    #[error("an array that the recording made is alive behind it")]
    Escaped,
    /// The stream of a recording, behind it.
    #[error("the recording of this stream is over")]
    Over,
    /// An argument of a launch, by its number, that is not like the one that was recorded: in shape or
    /// strides.
    #[error("argument {0} has another shape or other strides than the recorded one")]
    Argument(usize),
    /// A communicator of a launch, by the number of the argument, that is of another rank or of another number of
    /// ranks than the recorded one.
    #[error(
        "the communicator of argument {0} is of another rank, or of more or fewer ranks, than the recorded one"
    )]
    Ranks(usize),
    /// An argument of a launch whose elements lie at an address that recorded calls cannot use, because they
    /// take several elements as one.
    #[error("an argument is not aligned for the recorded calls")]
    Misaligned,
    /// Two arguments of a launch that share memory, and one of them is written.
    #[error("arguments {0} and {1} share memory")]
    Shared(usize, usize),
}
