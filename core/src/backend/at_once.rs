//! Operations that run in the call that enqueues them, outside core's locks.
#![allow(unsafe_code)] // declares an unsafe trait; performs no unsafe operation

/// A stream whose operations may run in the thread that enqueues them.
///
/// Core submits an operation under a lock that all threads of a context share. A queue returns at
/// once, so nobody waits for the lock for long. Where an operation *runs* in the call, the lock would
/// make threads wait for each other's work. Such a stream gives *turns*: core takes the turn of an
/// operation under the lock, lets the lock go, and enqueues the operation on the turn, which waits
/// until it may run.
///
/// A turn is a handle on the stream with a place in its order: after everything that was enqueued
/// before it, including earlier turns, and before everything later. Operations enqueued on it
/// run there, in the calling thread. Dropping it ends the turn; if nothing ran, it still waits for what
/// comes before. Nothing but its operations and its drop waits: not taking the turn, nor
/// [`record`](super::Stream::record), [`wait`](super::Stream::wait), [`alloc`](super::Stream::alloc) and
/// [`free`](super::Stream::free) of the stream. So no thread waits with a lock held, and turns wait
/// for earlier ones only, which excludes a circle.
///
/// # For callers
///
/// Only core takes turns. A thread that holds one must not wait for the stream in another way.
///
/// # Safety
///
/// The clauses of [`Stream`](super::Stream), with a turn for an operation that was enqueued when the turn was
/// taken, and that is finished when the turn was dropped: events and waits of the stream cover it (S3,
/// S6). A buffer over memory of the host is that memory.
pub unsafe trait RunsAtOnce<B>: Sized {
    /// Whether [`turn`](Self::turn) answers one, always or never. Does not synchronize.
    fn runs_at_once(&self) -> bool;

    /// Takes the turn of the next operation. None if the stream queues its operations. Does not
    /// synchronize.
    fn turn(&self) -> Option<Self>;

    /// A buffer over memory of the host, for one copy on this stream that runs at once; none if the
    /// stream cannot copy it. Dropping it does nothing.
    ///
    /// # Safety
    ///
    /// The bytes that operations name lie in memory that is allocated until they have run.
    unsafe fn over_host(&self, start: *mut u8, len_bytes: usize) -> Option<B>;
}
