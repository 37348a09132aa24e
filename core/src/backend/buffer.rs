//! Memory a backend owns: of the device, and page-locked memory of the host.
#![allow(unsafe_code)] // declares unsafe traits; performs no unsafe operation

use std::fmt::Debug;

/// A fixed number of bytes in device memory.
///
/// # For callers
///
/// Only core holds one: programs reach it through an array, which tracks its uses.
///
/// # For backend authors
///
/// Dropping a buffer must do nothing to the device: freeing is an operation in stream order
/// ([`Stream::free`](super::Stream::free)). A buffer that is dropped without it is leaked, on
/// purpose.
///
/// # Safety
///
/// `len_bytes` and `address` never change, and the bytes stay allocated until the free that
/// consumes the buffer has run. Live buffers of one device do not overlap. The address is a
/// multiple of 256.
pub unsafe trait Buffer: Debug + Send + Sync + 'static {
    /// Size in bytes, as requested from `alloc`; never 0.
    fn len_bytes(&self) -> usize;

    /// The device address of the first byte, for handing to code outside this library. Not a host
    /// pointer.
    fn address(&self) -> u64;
}

/// A fixed number of bytes of host memory that the device can read and write by itself ("pinned").
///
/// Dropping one frees it; core drops it only when no operation uses it any more.
///
/// # Safety
///
/// The range `as_ptr()..as_ptr() + len_bytes()` is initialized, aligned to 64 bytes, owned by this
/// value through a raw pointer (moving the value must not invalidate it), and stays where it is
/// until drop. Nothing else in the program touches it.
pub unsafe trait HostBuffer: Debug + Send + Sync + 'static {
    /// Size in bytes; never 0.
    fn len_bytes(&self) -> usize;

    /// The first byte. Reading or writing through it is the caller's `unsafe`, and needs that no
    /// operation in flight uses the same bytes.
    fn as_ptr(&self) -> *mut u8;
}
