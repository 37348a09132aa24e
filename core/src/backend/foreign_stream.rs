//! Streams of other code, by the names that interfaces between libraries have for them.
#![allow(unsafe_code)] // takes a name as its caller vouches for it

use std::fmt;

/// A stream of other code, by its name in interfaces between libraries: the number that
/// `__cuda_array_interface__` (`stream`), DLPack (`__dlpack__(stream=…)`) and `__cuda_stream__`
/// carry.
///
/// | name | stream |
/// |---|---|
/// | 0 | none, since it is ambiguous: the legacy default stream in code that was built without an option for it, the default stream of the calling thread in other code. Both interfaces forbid it |
/// | 1 | [`LEGACY`](Self::LEGACY) |
/// | 2 | [`PER_THREAD`](Self::PER_THREAD) |
/// | other | the address of a stream, [named](Self::named) by its holder |
///
/// ```
/// use devarray::backend::ForeignStream;
///
/// // SAFETY: these are default streams, which always are.
/// let streams = [0, 1, 2].map(|name| unsafe { ForeignStream::named(name) });
/// assert_eq!(streams, [None, Some(ForeignStream::LEGACY), Some(ForeignStream::PER_THREAD)]);
/// assert_eq!(ForeignStream::LEGACY.name(), 1);
/// ```
/// A name that its caller [vouches](Self::named) for is trusted. The name of a device's own stream
/// carries that device, its [owner](Self::owner), and every other device refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ForeignStream {
    name: u64,
    owner: Option<StreamOwner>,
}

/// The device that a stream belongs to, as its backend tells it from all others of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamOwner {
    backend: &'static str,
    number: u64,
}

impl StreamOwner {
    /// The device of a backend, of this number.
    #[must_use]
    pub const fn new(backend: &'static str, number: u64) -> Self {
        Self { backend, number }
    }
}

impl ForeignStream {
    /// The legacy default stream of the device. Its work runs after all earlier work of blocking
    /// streams, and before all their later work. Streams of this library are non-blocking, so they
    /// are not affected.
    pub const LEGACY: Self = Self { name: 1, owner: None };

    /// The default stream of the thread that makes the call, whichever it is then. It is a blocking
    /// stream, so it is ordered with the legacy default stream, and with nothing else.
    pub const PER_THREAD: Self = Self { name: 2, owner: None };

    /// The stream to wait for if another thread may make the call: the legacy default stream in
    /// place of a thread's own, because later work on it comes after the work of every thread's
    /// default stream. Every other stream is the same on all threads.
    #[must_use]
    pub fn of_any_thread(self) -> Self {
        if self == Self::PER_THREAD { Self::LEGACY } else { self }
    }

    /// The stream of a name; `None` for 0, whose meaning differs from code to code.
    ///
    /// # Safety
    ///
    /// A name beyond 2 names a stream of the device it is used with, which is there for as
    /// long as it is used.
    #[must_use]
    pub const unsafe fn named(name: u64) -> Option<Self> {
        if name == 0 { None } else { Some(Self { name, owner: None }) }
    }

    /// The stream of `owner` with this name, for that device only; `None` for 0.
    ///
    /// Nobody vouches for it, so it is safe to make: a device that takes such names looks up
    /// whether it has the stream.
    #[must_use]
    pub const fn owned(name: u64, owner: StreamOwner) -> Option<Self> {
        if name == 0 { None } else { Some(Self { name, owner: Some(owner) }) }
    }

    /// The device that alone takes this name; none if it is a default stream, or somebody vouched
    /// for it.
    #[must_use]
    pub const fn owner(self) -> Option<StreamOwner> {
        self.owner
    }

    /// Its name: never 0.
    #[must_use]
    pub const fn name(self) -> u64 {
        self.name
    }
}

impl fmt::Display for ForeignStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::LEGACY => f.write_str("the legacy default stream"),
            Self::PER_THREAD => f.write_str("the default stream of a thread"),
            Self { name, owner: None } => write!(f, "stream {name:#x} of other code"),
            Self { name, owner: Some(owner) } => {
                write!(f, "stream {name:#x} of {} {}", owner.backend, owner.number)
            }
        }
    }
}
