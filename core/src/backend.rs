//! The backend traits, for authors of backends: the traits that a backend implements, in bytes. Programs
//! name them in bounds only.
//!
//! A backend sees byte ranges, copy plans and element widths of 1, 2, 4, 8 and 16 bytes; never an
//! element type, a shape or a user's view. Core checks bounds, overflow, aliasing and shapes once,
//! decides when a wait is needed, and hands over *operations* ([`CopyOp`], [`FillOp`],
//! [`UploadOp`], [`DownloadOp`], [`FreeOp`]) whose fields are private: only those checks can fill
//! them, so a backend validates nothing again.
//!
//! The traits are `unsafe` to implement and safe to call: all safe code above relies on the
//! promises of the implementor. In short:
//!
//! 1. **Order.** Operations of one stream take effect in the order they were enqueued.
//! 2. **Confinement.** An operation touches the bytes it names and no others.
//! 3. **Quiescence.** Once a wait answered [`Quiesced::Done`] or [`Quiesced::Ended`], or an event's
//!    query answered `true`, nothing it covers touches memory any more.
//! 4. **Progress.** Work that was enqueued ends, or a wait for it says that it may not have;
//!    repeated queries of an event eventually answer.
//!
//! The ordering clauses S1 to S8 are in [`Stream`].
//!
//! # Capabilities
//!
//! A *capability* is an unsafe trait that only some devices implement. Most of its methods have no default,
//! so the compiler names what a wrapper forgets; [`Captures`], [`Stream::copy_all`],
//! [`AllocHost::note_slow_read`] and [`Device::note_host_access`] have defaults that a wrapper must forward.
//! [`Compute`] names those that functions of arrays need. [`capabilities!`](crate::capabilities) forwards
//! capabilities to a device that another wraps, and answers for those that a device does not have.

mod at_once;
mod buffer;
mod capabilities;
mod capability;
mod captures;
mod collect;
mod compute;
mod declared;
mod device;
mod device_symbols;
mod event;
mod fetch;
mod foreign_memory;
mod foreign_stream;
mod forward;
mod host_memory;
mod host_reachable;
mod ipc;
mod joining;
mod launch;
mod managed_memory;
mod memory_pool;
mod op;
mod peer_access;
mod project;
mod properties;
mod stream;
mod timing;

pub use at_once::RunsAtOnce;
pub use buffer::{Buffer, HostBuffer};
pub use capabilities::{Capabilities, DeviceInfo, MemoryInfo};
pub use capability::{Capability, CapabilitySet};
pub use captures::{Captured, Captures};
pub use collect::{CollectOp, Collects, CutOff, Meeting, RankTurns};
pub use compute::{
    Compute, FusedOp, Fuses, GatherOp, Gathers, MapOp, Maps, Operand, OrderOp, OrderSide, Orders,
    ProductFunction, ProductOp, Products, ReduceForm, ReduceOp, Reduces,
};
pub use declared::{ChecksForeign, DeclaredAccess};
pub use device::Device;
pub use device_symbols::DeviceSymbols;
pub use event::{Event, Quiesced};
pub use fetch::{FetchOp, FetchSource, Fetches, Fetching, TotalOp};
pub use foreign_memory::ForeignMemory;
pub use foreign_stream::{ForeignStream, StreamOwner};
pub use forward::{Forwarded, Wraps};
pub use host_memory::{AllocHost, HostFlags, MapHost, RegisterHost};
pub use host_reachable::HostReachable;
pub use ipc::{Ipc, IpcMemory, IpcToken};
pub use joining::Joining;
pub(crate) use joining::{Network, Together};
pub use launch::{Launch, LaunchArgument, LaunchOp, Parameter};
pub use managed_memory::{Advice, Location, ManagedMemory};
pub use memory_pool::{PoolControl, PoolStatistics};
pub use op::{CopyOp, DownloadOp, FillOp, FreeOp, UploadOp};
pub use peer_access::PeerAccess;
pub use project::{Projects, project, project_all};
pub use properties::{DeviceProperties, DeviceUuid, PciAddress};
pub use stream::{BufferOf, Stream};
pub use timing::Timing;

pub use crate::collective::{Combining, Exchange, Mesh, Met, Participant, Piece, Rendezvous, RowCounts};
pub use crate::error::call_location;
