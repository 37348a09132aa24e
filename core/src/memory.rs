//! The memory that a program holds in a context, for whoever looks for a leak or sets a limit: a ledger
//! of every live allocation, statistics, limits and hooks.
//!
//! Every allocation is entered in a ledger with its kind, its bytes, the tag that was in force, and
//! the line of the program that asked for it. The ledger is kept in every build, and costs a few
//! nanoseconds an allocation.
//!
//! | question | answer |
//! |---|---|
//! | which allocations are alive, and which lines made them? | [`Context::live_allocations`](crate::Context::live_allocations) |
//! | how many bytes of each kind, now and at most? | [`Context::memory_statistics`](crate::Context::memory_statistics) |
//! | how many bytes at most in this part of the program? | [`Context::peak_scope`](crate::Context::peak_scope) |
//! | which part of the program holds them? | [`tagged`] |
//! | can it be limited? | [`Context::set_memory_limit`](crate::Context::set_memory_limit) |
//! | who is told of each allocation, before one fails, and of leaks at the end? | [`MemoryHook`] |
//! | can memory be given back later, or now? | [`Context::set_release_limits`](crate::Context::set_release_limits), [`Context::defer_cleanup`](crate::Context::defer_cleanup), [`Context::release_pending`](crate::Context::release_pending) |
//! | what does the pool of the device hold back? | [`Context::pool_statistics`](crate::Context::pool_statistics) |
//!
//! An allocation for which there is no room, or which a limit refuses, is tried twice. In between,
//! the context waits for the device and gives back everything that waits for release, the backend
//! trims its pool, and the program's hook may drop memory ([`MemoryHook::out_of_memory`]). If the
//! second try fails, the error says how much memory there is and who holds it. Nothing else
//! changes.
//!
//! Memory is live until it is given back to the backend, so memory lost by a failed free stays in
//! the ledger. The ledger does not list the library's staging memory or arrays of no elements.
//!
//! ```
//! use devarray::{Array, Context, memory::{MemoryKind, tagged}};
//!
//! let context = Context::new(devarray_mock::MockDevice::new())?;
//! let stream = context.stream()?;
//! let weights = tagged("weights", || Array::<f32, _>::zeros(&stream, &[1000]))?;
//!
//! let live = context.live_allocations();
//! assert_eq!((live[0].kind, live[0].len_bytes, live[0].tag), (MemoryKind::Device, 4000, Some("weights")));
//! assert!(live[0].location.file().ends_with(".rs")); // the line of `Array::zeros` above
//!
//! drop(weights);
//! assert!(context.live_allocations().is_empty());
//! assert_eq!(context.memory_statistics().of(MemoryKind::Device).peak_bytes, 4000);
//! # Ok::<(), devarray::Error>(())
//! ```

mod context;
mod deferral;
mod hook;
mod kind;
mod ledger;
mod limit;
mod peak;
mod pool;
mod record;
mod release;
mod shortage;
mod statistics;
mod tag;

pub(crate) use hook::{Watch, stopping_panics};
pub(crate) use ledger::{Ledger, LedgerEntry};
pub(crate) use limit::limited;
pub(crate) use release::{DeviceMemory, Pending, Release, Releases};

pub use context::PeakScope;
pub use hook::MemoryHook;
pub use kind::MemoryKind;
pub use limit::MemoryLimit;
pub use record::{AllocationRecord, AllocationState, LiveByTag};
pub use release::{PendingReleases, ReleaseLimits};
pub use statistics::{KindStatistics, MemoryStatistics};
pub use tag::tagged;
