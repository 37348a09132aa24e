//! Devices whose memory is the host's.
#![allow(unsafe_code)] // declares an unsafe trait; performs no unsafe operation

use std::ptr::NonNull;

use super::Device;

/// A device whose memory the host reads and writes in place:
/// [`ArrayView::host`](crate::ArrayView::host) and its kin.
///
/// # Safety
///
/// From the address that [`host_address`](Self::host_address) answers on, the host may read and write
/// the bytes of the buffer, which all have values, until the buffer is freed. Nobody writes them but
/// operations of this device and the host; what an operation wrote is there when an event that covers
/// it is over.
#[diagnostic::on_unimplemented(
    message = "the host does not reach the memory of the device `{Self}`",
    label = "not a `HostReachable`",
    note = "a backend whose memory is the host's implements `backend::HostReachable`; others copy, by `to_vec`"
)]
pub unsafe trait HostReachable: Device {
    /// The host's address of a buffer; none if others may write it. Does not synchronize.
    fn host_address(&self, buffer: &Self::Buffer) -> Option<NonNull<u8>>;
}
