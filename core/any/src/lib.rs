#![doc = include_str!("../README.md")]

#[macro_use]
mod parts;

mod buffer;
mod choose;
mod device;
mod error;
mod event;
mod host_memory;
mod project;
mod stream;

#[cfg(not(any(feature = "cuda", feature = "host", feature = "mock")))]
compile_error!("devarray-any needs a backend: one of its features `cuda`, `host` and `mock`");

pub use buffer::AnyBuffer;
pub use device::{AnyAdopted, AnyCommunicator, AnyDevice, AnyExportable, AnyOpened, AnyRegistration};
pub use error::ChooseError;
pub use event::AnyEvent;
pub use host_memory::{AnyHostBuffer, AnyManagedBuffer};
pub use parts::BUILT_IN;
pub use stream::AnyStream;

/// The example of the repository's front page is a test here.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct FrontPage;
