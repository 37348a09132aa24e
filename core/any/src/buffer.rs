//! Device memory of any backend.
#![allow(unsafe_code)] // reads a union by its tag

use std::{fmt, mem::ManuallyDrop};

use devarray::backend::Buffer;

macro_rules! buffers {
    ({ [$($buffer:ty),*] } $({ $feature:tt $variant:ident $field:ident $as:ident $device:ty, $name:literal })*) => {
        #[repr(C)]
        union Memory {
            $(
                #[cfg(feature = $feature)]
                $field: ManuallyDrop<$buffer>,
            )*
        }

        #[derive(Clone, Copy)]
        enum Backend {
            $(
                #[cfg(feature = $feature)]
                $variant,
            )*
        }

        /// The buffer of the backend.
        pub(crate) enum BufferRef<'a> {
            $(
                #[cfg(feature = $feature)]
                $variant(&'a $buffer),
            )*
        }

        /// The buffer of the backend, owned.
        pub(crate) enum OwnBuffer {
            $(
                #[cfg(feature = $feature)]
                $variant($buffer),
            )*
        }

        impl AnyBuffer {
            #[inline]
            pub(crate) fn one(&self) -> BufferRef<'_> {
                match self.backend {
                    $(
                        #[cfg(feature = $feature)]
                        // SAFETY: the tag says that this field is there.
                        Backend::$variant => BufferRef::$variant(unsafe { &self.memory.$field }),
                    )*
                }
            }

            /// The backend, in one word.
            pub(crate) fn backend(&self) -> &'static str {
                match self.backend {
                    $(
                        #[cfg(feature = $feature)]
                        Backend::$variant => $feature,
                    )*
                }
            }

            #[inline]
            pub(crate) fn into_one(self) -> OwnBuffer {
                let mut this = ManuallyDrop::new(self);
                match this.backend {
                    $(
                        #[cfg(feature = $feature)]
                        Backend::$variant => {
                            // SAFETY: the tag says that this field is there.
                            let buffer = unsafe { &mut this.memory.$field };
                            // SAFETY: the field is taken once, and nobody reads or drops `this`
                            // afterwards.
                            OwnBuffer::$variant(unsafe { ManuallyDrop::take(buffer) })
                        }
                    )*
                }
            }

            $(
                #[doc = concat!("The one of ", $name, ", if it is one.")]
                #[cfg(feature = $feature)]
                #[must_use]
                pub fn $as(&self) -> Option<&$buffer> {
                    #[allow(unreachable_patterns)] // if there is one backend
                    match self.one() {
                        BufferRef::$variant(buffer) => Some(buffer),
                        _ => None,
                    }
                }
            )*
        }

        impl Drop for AnyBuffer {
            #[inline]
            fn drop(&mut self) {
                match self.backend {
                    $(
                        #[cfg(feature = $feature)]
                        Backend::$variant => {
                            // SAFETY: the tag says that this field is there.
                            let buffer = unsafe { &mut self.memory.$field };
                            // SAFETY: it is dropped once, with the buffer that holds it.
                            unsafe { ManuallyDrop::drop(buffer) };
                        }
                    )*
                }
            }
        }

        $(
            #[cfg(feature = $feature)]
            impl From<$buffer> for AnyBuffer {
                #[inline]
                fn from(buffer: $buffer) -> Self {
                    Self { memory: Memory { $field: ManuallyDrop::new(buffer) }, backend: Backend::$variant }
                }
            }

            #[cfg(feature = $feature)]
            const _: () = assert!(std::mem::offset_of!(AnyBuffer, memory) == 0, "it begins with the backend's");
        )*
    };
}

/// A buffer of an [`AnyDevice`](crate::AnyDevice).
///
/// An `AnyBuffer` begins, at its address, with the buffer of its backend, so that an operation on
/// it is an operation on that buffer ([`Projects`](devarray::backend::Projects)).
#[repr(C)]
pub struct AnyBuffer {
    memory: Memory,
    /// The backend, which says which field of `memory` is set.
    backend: Backend,
}

each_backend!(
    buffers! { [devarray_cuda::CudaBuffer, devarray_host::DeviceMemory, devarray_mock::MockBuffer] }
);

// SAFETY: a buffer of a backend, whose implementor vouches for it.
unsafe impl Buffer for AnyBuffer {
    #[inline]
    fn len_bytes(&self) -> usize {
        on_each!((BufferRef, self.one(), buffer) => buffer.len_bytes())
    }

    #[inline]
    fn address(&self) -> u64 {
        on_each!((BufferRef, self.one(), buffer) => buffer.address())
    }
}

/// Prints what the backend's own buffer prints.
impl fmt::Debug for AnyBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        on_each!((BufferRef, self.one(), buffer) => fmt::Debug::fmt(buffer, f))
    }
}
