//! Memory of one device, reached by another.
#![allow(unsafe_code)] // declares an unsafe trait; performs no unsafe operation

use super::{CopyOp, Device};
use crate::Result;

/// Reaching the memory of another device of the backend in place: the capability
/// [`PeerAccess`](super::Capability::PeerAccess). It depends on the two devices: see
/// [`can_access_peer`](Self::can_access_peer).
///
/// # For callers
///
/// [`Context::enable_peer_access`](crate::Context::enable_peer_access) and
/// [`ArrayViewMut::copy_from_peer`](crate::ArrayViewMut::copy_from_peer) are the calls of programs.
///
/// # Safety
///
/// Like [`Device`]. [`copy_from_peer`](Self::copy_from_peer) is an operation of its stream as any
/// other (S1 to S8), and [`wait_for_peer`](Self::wait_for_peer) puts it after what an event of the
/// other device captured (S4).
#[diagnostic::on_unimplemented(
    message = "the device `{Self}` cannot reach the memory of other devices",
    label = "not a `PeerAccess`",
    note = "a backend that can implements `backend::PeerAccess`; code that needs it takes `D: PeerAccess`"
)]
pub unsafe trait PeerAccess: Device {
    /// Whether operations of this device could reach the memory of `peer`. For its own memory,
    /// always true.
    ///
    /// # Errors
    ///
    /// Any device error.
    fn can_access_peer(&self, peer: &Self) -> Result<bool>;

    /// Lets operations of this device reach all present and future memory of `peer`. Doing it again
    /// changes nothing.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::Error::Unsupported): it [cannot](Self::can_access_peer).
    /// - Any device error.
    fn enable_peer_access(&self, peer: &Self) -> Result<()>;

    /// Whether operations of this device reach the memory of `peer` now. For its own memory, always
    /// true.
    fn reaches_peer(&self, peer: &Self) -> bool;

    /// Like [`Stream::copy`](super::Stream::copy), on a stream of this device, from a buffer of one
    /// that it [reaches](Self::reaches_peer).
    ///
    /// # Errors
    ///
    /// Nothing was enqueued, and the destination is unchanged.
    fn copy_from_peer(&self, stream: &Self::Stream, op: &CopyOp<'_, Self::Buffer>) -> Result<()>;

    /// Like [`Stream::wait`](super::Stream::wait), on a stream of this device, for an event of any
    /// device of the backend.
    ///
    /// # Errors
    ///
    /// No edge was made; the stream is unchanged.
    fn wait_for_peer(&self, stream: &Self::Stream, event: &Self::Event) -> Result<()>;
}
