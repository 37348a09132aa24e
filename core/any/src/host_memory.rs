//! Host memory of any backend.
#![allow(unsafe_code)] // implements an unsafe trait by forwarding; performs no unsafe operation

use devarray::backend::HostBuffer;

each_backend!(one_of_each! {
    /// Pinned host memory of an [`AnyDevice`](crate::AnyDevice).
    AnyHostBuffer: [devarray_cuda::CudaHostBuffer, devarray_host::HostMemory, devarray_mock::MockHostBuffer]
});

each_backend!(one_of_each! {
    /// Managed memory of an [`AnyDevice`](crate::AnyDevice).
    AnyManagedBuffer: [devarray_cuda::CudaManagedBuffer, devarray_host::HostMemory, devarray_mock::MockHostBuffer]
});

macro_rules! host_buffers {
    ($($any:ident),*) => {
        $(
            // SAFETY: memory of a backend, whose implementor vouches for it.
            unsafe impl HostBuffer for $any {
                #[inline]
                fn len_bytes(&self) -> usize {
                    on_each!((Self, self, memory) => memory.len_bytes())
                }

                #[inline]
                fn as_ptr(&self) -> *mut u8 {
                    on_each!((Self, self, memory) => memory.as_ptr())
                }
            }
        )*
    };
}

host_buffers!(AnyHostBuffer, AnyManagedBuffer);
