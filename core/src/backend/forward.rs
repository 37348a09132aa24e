//! Capabilities of devices that wrap another, and of devices that lack some.
#![allow(unsafe_code)] // declares an unsafe trait, and writes implementations that forward or do nothing

use super::{Capability, Device};
use crate::Result;

/// A device that hands operations on to another, on memory of the same type.
///
/// # Safety
///
/// Like [`Device`]. [`forward`](Self::forward) makes the call once, on the wrapped device and the
/// stream that `stream` wraps, or returns an error and does not make it.
pub unsafe trait Wraps: Device {
    /// The device it wraps.
    type Inner: Device<Buffer = Self::Buffer>;

    /// The device it wraps.
    fn inner(&self) -> &Self::Inner;

    /// Makes the call that enqueues an operation.
    ///
    /// # Errors
    ///
    /// The errors of the call. If `forward` returns an error of its own, nothing was enqueued.
    fn forward(
        &self,
        stream: &Self::Stream,
        operation: Forwarded,
        call: impl FnOnce(&Self::Inner, &<Self::Inner as Device>::Stream) -> Result<()>,
    ) -> Result<()>;
}

/// The operation that is forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Forwarded {
    /// The capability that it needs of a device.
    pub capability: Capability,
    /// The operation's name.
    pub name: &'static str,
    /// Bytes that it writes.
    pub len_bytes: usize,
}

impl Forwarded {
    /// An operation.
    #[must_use]
    pub const fn new(capability: Capability, name: &'static str, len_bytes: usize) -> Self {
        Self { capability, name, len_bytes }
    }
}

/// Implements capabilities for a device that wraps another device, or that lacks them.
///
/// `forward` passes each operation on to the wrapped device, which must have the capability ([`Wraps`]).
/// `without` returns [`Unsupported`](crate::Error::Unsupported), or does the work in the plain way. The
/// generic parameters stand in brackets.
///
/// | capability | `forward` | `without` |
/// |---|---|---|
/// | [`Maps`](crate::backend::Maps), [`Reduces`](crate::backend::Reduces), [`Gathers`](crate::backend::Gathers), [`Orders`](crate::backend::Orders), [`Products`](crate::backend::Products), [`Launch`](crate::backend::Launch) | to the wrapped device | unsupported |
/// | [`Fuses`](crate::backend::Fuses) | to the wrapped device | one pass after another |
/// | [`Collects`](crate::backend::Collects) | | unsupported |
/// | [`Fetches`](crate::backend::Fetches), [`ChecksForeign`](crate::backend::ChecksForeign), [`RunsAtOnce`](crate::backend::RunsAtOnce), [`Captures`](crate::backend::Captures), of streams | | no quicker way, no checks, no turns, no captures |
///
/// ```ignore
/// devarray::capabilities!(impl[] HostDevice: without Fuses, Gathers, Orders, Products);
/// devarray::capabilities!(impl[] HostStream: without Fetches, ChecksForeign, RunsAtOnce, Captures);
/// devarray::capabilities!(impl[D: Device] Wrapper<D>: forward Maps, Reduces, Fuses, Gathers, Orders, Products);
/// ```
#[macro_export]
macro_rules! capabilities {
    (impl $generics:tt $type:ty: $form:ident $($capability:ident),+ $(,)?) => {
        $($crate::capabilities!(@$form $capability $generics $type);)+
    };

    (@without Fuses [$($generics:tt)*] $type:ty) => {
        // SAFETY: the passes are operations of the device.
        unsafe impl<$($generics)*> $crate::backend::Fuses for $type
        where
            Self: $crate::backend::Maps + $crate::backend::Reduces,
        {
            #[track_caller]
            fn fuse(
                &self,
                stream: &Self::Stream,
                op: &$crate::backend::FusedOp<'_, Self::Buffer>,
            ) -> $crate::Result<()> {
                op.one_by_one(self, stream)
            }
        }
    };
    (@without Fetches [$($generics:tt)*] $type:ty) => {
        // SAFETY: nothing is ever enqueued.
        unsafe impl<$($generics)*> $crate::backend::Fetches<$crate::backend::BufferOf<Self>> for $type {
            fn most_fetched_bytes(&self) -> usize {
                0
            }

            fn fetch(
                &self,
                _: &$crate::backend::FetchOp<'_, $crate::backend::BufferOf<Self>>,
            ) -> $crate::Result<$crate::backend::Fetching> {
                ::std::unreachable!("a fetch has at least 1 byte, and at most 0")
            }

            fn fetched(&self, _: $crate::backend::Fetching, _: &mut [u8]) -> $crate::backend::Quiesced {
                $crate::backend::Quiesced::Done
            }
        }
    };
    (@without ChecksForeign [$($generics:tt)*] $type:ty) => {
        // SAFETY: there is no other handle.
        unsafe impl<$($generics)*> $crate::backend::ChecksForeign<$crate::backend::BufferOf<Self>> for $type {
            fn for_foreign_work(
                &self,
                _: &[$crate::backend::DeclaredAccess<'_, $crate::backend::BufferOf<Self>>],
            ) -> ::std::option::Option<Self> {
                ::std::option::Option::None
            }
        }
    };

    (@without RunsAtOnce [$($generics:tt)*] $type:ty) => {
        // SAFETY: there are no turns, and no such buffers.
        unsafe impl<$($generics)*> $crate::backend::RunsAtOnce<$crate::backend::BufferOf<Self>> for $type {
            #[inline]
            fn runs_at_once(&self) -> bool {
                false
            }

            #[inline]
            fn turn(&self) -> ::std::option::Option<Self> {
                ::std::option::Option::None
            }

            #[inline]
            unsafe fn over_host(
                &self,
                _: *mut u8,
                _: usize,
            ) -> ::std::option::Option<$crate::backend::BufferOf<Self>> {
                ::std::option::Option::None
            }
        }
    };

    (@without Collects [$($generics:tt)*] $type:ty) => {
        // SAFETY: nothing is ever enqueued.
        unsafe impl<$($generics)*> $crate::backend::Collects for $type {
            type Communicator = ::std::convert::Infallible;

            fn join(&self, _: &$crate::backend::Joining<'_>) -> $crate::Result<Self::Communicator> {
                let backend = $crate::backend::Device::info(self).backend;
                let capability = $crate::backend::Capability::Collectives;
                ::std::result::Result::Err($crate::Error::Unsupported { backend, operation: "join", capability })
            }

            fn collect(
                &self,
                _: &Self::Stream,
                communicator: &Self::Communicator,
                _: &$crate::backend::CollectOp<'_, Self::Buffer>,
            ) -> $crate::Result<()> {
                match *communicator {}
            }

            fn abort(&self, communicator: &Self::Communicator) {
                match *communicator {}
            }

            fn cut_off(
                &self,
                communicator: &Self::Communicator,
            ) -> ::std::option::Option<::std::sync::Arc<dyn $crate::backend::CutOff>> {
                match *communicator {}
            }

            fn turns(&self) -> ::std::option::Option<::std::sync::Arc<dyn $crate::backend::RankTurns>> {
                ::std::option::Option::None
            }
        }
    };

    (@without Captures [$($generics:tt)*] $type:ty) => {
        // SAFETY: nothing is captured.
        unsafe impl<$($generics)*> $crate::backend::Captures for $type {
            fn capture(&self) -> $crate::Result<::std::option::Option<Self>> {
                ::std::result::Result::Ok(::std::option::Option::None)
            }

            fn end_capture(self) -> $crate::Result<::std::boxed::Box<dyn $crate::backend::Captured>> {
                ::std::unreachable!("no stream captures")
            }

            unsafe fn launch_captured(
                &self,
                _: &dyn $crate::backend::Captured,
                _: ::std::ops::Range<::std::primitive::u64>,
            ) -> $crate::Result<()> {
                ::std::unreachable!("nothing was captured")
            }
        }
    };

    // Trait, method, operation, capability and name of each.
    (@$form:ident Maps $($to:tt)+) => {
        $crate::capabilities!(@$form [Maps map MapOp Functions (|_| "map")] $($to)+);
    };
    (@$form:ident Reduces $($to:tt)+) => {
        $crate::capabilities!(@$form [Reduces reduce ReduceOp Reductions (|_| "reduce")] $($to)+);
    };
    (@$form:ident Fuses $($to:tt)+) => {
        $crate::capabilities!(@$form [Fuses fuse FusedOp Reductions (|op| op.name())] $($to)+);
    };
    (@$form:ident Gathers $($to:tt)+) => {
        $crate::capabilities!(
            @$form [Gathers gather GatherOp Gathers (|op| op.work().operation.name()) take_index_error] $($to)+
        );
    };
    (@$form:ident Orders $($to:tt)+) => {
        $crate::capabilities!(@$form [Orders order OrderOp Orders (|op| op.call().name())] $($to)+);
    };
    (@$form:ident Products $($to:tt)+) => {
        $crate::capabilities!(@$form [Products product ProductOp Products (|_| "matmul")] $($to)+);
    };
    (@$form:ident Launch $($to:tt)+) => {
        $crate::capabilities!(
            @$form [Launch launch LaunchOp Kernels (|op| op.declaration().name())] $($to)+
        );
    };

    (@forward [$trait:ident $method:ident $op:ident $capability:ident ($name:expr) $($more:ident)?]
        [$($generics:tt)*] $type:ty
    ) => {
        // SAFETY: the wrapper vouches that it passes the call on, and the wrapped device vouches for the
        // operation.
        unsafe impl<$($generics)*> $crate::backend::$trait for $type
        where
            <Self as $crate::backend::Wraps>::Inner: $crate::backend::$trait,
        {
            #[track_caller]
            fn $method(
                &self,
                stream: &Self::Stream,
                op: &$crate::backend::$op<'_, Self::Buffer>,
            ) -> $crate::Result<()> {
                let name: fn(&$crate::backend::$op<'_, Self::Buffer>) -> &'static str = $name;
                let capability = $crate::backend::Capability::$capability;
                let operation = $crate::backend::Forwarded::new(capability, name(op), op.len_bytes());
                $crate::backend::Wraps::forward(self, stream, operation, |device, stream| {
                    $crate::backend::$trait::$method(device, stream, op)
                })
            }

            $(fn $more(
                &self,
                gather: $crate::gather::Finished,
            ) -> ::std::option::Option<$crate::gather::IndexError> {
                $crate::backend::$trait::$more($crate::backend::Wraps::inner(self), gather)
            })?
        }
    };
    (@without [$trait:ident $method:ident $op:ident $capability:ident ($name:expr) $($more:ident)?]
        [$($generics:tt)*] $type:ty
    ) => {
        // SAFETY: nothing is ever enqueued.
        unsafe impl<$($generics)*> $crate::backend::$trait for $type {
            fn $method(
                &self,
                _: &Self::Stream,
                op: &$crate::backend::$op<'_, Self::Buffer>,
            ) -> $crate::Result<()> {
                let name: fn(&$crate::backend::$op<'_, Self::Buffer>) -> &'static str = $name;
                let capability = $crate::backend::Capability::$capability;
                let backend = $crate::backend::Device::info(self).backend;
                ::std::result::Result::Err($crate::Error::Unsupported { backend, operation: name(op), capability })
            }

            $(fn $more(&self, _: $crate::gather::Finished) -> ::std::option::Option<$crate::gather::IndexError> {
                ::std::option::Option::None
            })?
        }
    };
}
