//! Forwards the computations of a device.
#![allow(unsafe_code)] // implements unsafe traits by forwarding

use devarray::{
    Result,
    backend::{
        FusedOp, Fuses, GatherOp, Gathers, Launch, LaunchOp, MapOp, Maps, OrderOp, Orders, ProductOp,
        Products, ReduceOp, Reduces,
    },
    gather::{Finished, IndexError},
};

use super::AnyDevice;
use crate::{AnyBuffer, AnyStream, project::given, stream::mixed};

/// Implements capabilities that have one operation each.
macro_rules! forward {
    ($($trait:ident: $method:ident($op:ident) $({ $($more:tt)* })?)*) => {
        $(
            // SAFETY: forwards to a device whose implementor vouches for it, or enqueues nothing.
            unsafe impl $trait for AnyDevice {
                #[inline]
                #[track_caller]
                fn $method(&self, stream: &AnyStream, op: &$op<'_, AnyBuffer>) -> Result<()> {
                    on_each!((AnyDevice, self, device), (AnyStream, stream, stream) => {
                        // SAFETY: the operation was given to this stream.
                        $trait::$method(device, stream, unsafe { given(stream, op) })
                    }, else Err(mixed(stream.backend(), stringify!($method))))
                }

                $($($more)*)?
            }
        )*
    };
}

forward! {
    Maps: map(MapOp)
    Reduces: reduce(ReduceOp)
    Fuses: fuse(FusedOp)
    Launch: launch(LaunchOp)
    Orders: order(OrderOp)
    Products: product(ProductOp)
    Gathers: gather(GatherOp) {
        #[inline]
        fn take_index_error(&self, gather: Finished) -> Option<IndexError> {
            on_each!((Self, self, device) => device.take_index_error(gather))
        }
    }
}
