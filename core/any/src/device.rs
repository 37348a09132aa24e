//! A device of any backend.
#![allow(unsafe_code)] // implements an unsafe trait by forwarding

mod collect;
mod compute;
mod foreign;
mod host_kinds;
mod ipc;
mod peer;
mod pool;
mod reached;
mod timing;

use std::{fmt, num::NonZeroUsize};

use devarray::{
    Result,
    backend::{DeclaredAccess, Device, DeviceInfo, MemoryInfo},
};

pub use collect::AnyCommunicator;
pub use foreign::AnyAdopted;
pub use host_kinds::AnyRegistration;
pub use ipc::{AnyExportable, AnyOpened};

use crate::{AnyBuffer, AnyEvent, AnyHostBuffer, AnyStream, buffer::BufferRef};

macro_rules! devices {
    ({} $({ $feature:tt $variant:ident $field:ident $as:ident $device:ty, $name:literal })*) => {
        /// A device of any of the backends that are built in.
        ///
        /// Core's handles work with it as with the backend's own device, and cost one more branch.
        /// To make calls that only one backend has, get its own device: `as_cuda`, `as_host`,
        /// `as_mock`.
        ///
        /// A handle: cheap to clone.
        ///
        /// ```
        /// use devarray::{Array, Compute, Context, Result};
        /// use devarray_any::AnyDevice;
        /// use devarray_mock::MockDevice;
        ///
        /// fn doubled<D: Compute>(context: &Context<D>) -> Result<Vec<f32>> {
        ///     let stream = context.stream()?;
        ///     let x = Array::from_slice(&stream, &[3], &[1.0_f32, 2.0, 3.0])?;
        ///     x.view().map(&stream, |x| x + x)?.to_vec(&stream)
        /// }
        ///
        /// let device = AnyDevice::from(MockDevice::new());
        /// assert_eq!(doubled(&Context::new(device)?)?, [2.0, 4.0, 6.0]);
        /// # Ok::<(), devarray::Error>(())
        /// ```
        #[derive(Clone)]
        #[non_exhaustive] // the list of variants depends on features
        pub enum AnyDevice {
            $(
                #[doc = concat!("Belongs to ", $name, ".")]
                #[cfg(feature = $feature)]
                $variant($device),
            )*
        }

        impl AnyDevice {
            $(
                #[doc = concat!("The device of ", $name, ", if it is one.")]
                #[cfg(feature = $feature)]
                #[must_use]
                pub fn $as(&self) -> Option<&$device> {
                    #[allow(unreachable_patterns)] // if there is one backend
                    match self {
                        Self::$variant(device) => Some(device),
                        _ => None,
                    }
                }
            )*

            /// Its backend, in one word, as in [`DeviceInfo::backend`].
            #[must_use]
            pub fn backend(&self) -> &'static str {
                match self {
                    $(
                        #[cfg(feature = $feature)]
                        Self::$variant(_) => $feature,
                    )*
                }
            }
        }

        $(
            #[cfg(feature = $feature)]
            impl From<$device> for AnyDevice {
                fn from(device: $device) -> Self {
                    Self::$variant(device)
                }
            }
        )*
    };
}

each_backend!(devices! {});

// SAFETY: forwards to a device whose implementor vouches for it.
unsafe impl Device for AnyDevice {
    type Buffer = AnyBuffer;
    type HostBuffer = AnyHostBuffer;
    type Event = AnyEvent;
    type Stream = AnyStream;

    #[inline]
    fn info(&self) -> &DeviceInfo {
        on_each!((Self, self, device) => device.info())
    }

    #[inline]
    #[track_caller]
    fn memory(&self) -> Result<MemoryInfo> {
        on_each!((Self, self, device) => device.memory())
    }

    #[inline]
    #[track_caller]
    fn open_stream(&self) -> Result<AnyStream> {
        on_each!((Self, self, device) => device.open_stream().map(AnyStream::from))
    }

    #[inline]
    #[track_caller]
    fn alloc_host(&self, len_bytes: NonZeroUsize) -> Result<AnyHostBuffer> {
        on_each!((Self, self, device) => device.alloc_host(len_bytes).map(AnyHostBuffer::from))
    }

    #[inline]
    #[track_caller]
    fn note_host_access(&self, access: &DeclaredAccess<'_, AnyBuffer>) {
        let &DeclaredAccess { buffer, layout, item_bytes, write, .. } = access;
        on_each!((Self, self, device), (BufferRef, buffer.one(), buffer) => {
            device.note_host_access(&DeclaredAccess::new(buffer, layout, item_bytes, write));
        }, else ());
    }
}

/// Prints what the backend's own buffer prints.
impl fmt::Debug for AnyDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        on_each!((Self, self, device) => fmt::Debug::fmt(device, f))
    }
}
