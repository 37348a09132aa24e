//! Kernels, run by their host functions in the calling thread.
#![allow(unsafe_code)] // calls host functions, which take pointers

use std::ptr;

use devarray::{
    Error, Layout, Result,
    backend::{Launch, LaunchArgument, LaunchOp},
    kernel::{ArgumentKind, HostArgument, HostFunction},
};

use super::HostDevice;
use crate::{HostStream, backend::BACKEND, captured::Step, memory::DeviceMemory, moves::Place};

// SAFETY: the host function runs at the operation's turn, on the elements of the arguments.
unsafe impl Launch for HostDevice {
    /// # Panics
    ///
    /// If the host function panics. The operation is then over, and other operations continue.
    fn launch(&self, stream: &HostStream, op: &LaunchOp<'_, DeviceMemory>) -> Result<()> {
        let declared = op.declaration().arguments();
        let given = op.arguments().iter().zip(declared);
        let given = given
            .map(|(argument, declared)| given_as(argument, declared.kind))
            .collect::<Result<Vec<_>>>()?;
        let host = op.declaration().host();
        // SAFETY: there is one argument for each that is declared, of the declared kind, as the operation
        // proves; memory of this device is initialized, and nothing else uses it at the operation's turn.
        stream.run_or_take(|_| unsafe { host(&given) }, |_| taken_down(op, &given));
        Ok(())
    }
}

/// An argument, kept.
enum Kept {
    Elements(Place, Layout),
    Value(Box<[u8]>),
}

/// The host function with its arguments, to be called again at each launch.
fn taken_down(op: &LaunchOp<'_, DeviceMemory>, given: &[HostArgument<'_>]) -> Step {
    let host: HostFunction = op.declaration().host();
    let kept = op.arguments().iter().zip(given).map(|(argument, given)| match (argument, *given) {
        (LaunchArgument::Value(bytes), _) => Kept::Value((*bytes).into()),
        (LaunchArgument::Elements { layout, .. }, HostArgument::Elements { start, .. }) => {
            Kept::Elements(Place(start), (*layout).clone())
        }
        (LaunchArgument::Elements { .. }, _) => unreachable!("elements are given as elements"),
    });
    let kept: Vec<Kept> = kept.collect();
    Step::new(move |_| {
        let given = kept.iter().map(|argument| match argument {
            Kept::Elements(start, layout) => HostArgument::elements(start.at(0), layout),
            Kept::Value(bytes) => HostArgument::Value(bytes),
        });
        let given: Vec<_> = given.collect();
        // SAFETY: as for `launch`, at the turn of the launch of the captured operations.
        unsafe { host(&given) }
    })
}

/// An argument in the form that the host function takes.
fn given_as<'a>(argument: &LaunchArgument<'a, DeviceMemory>, kind: ArgumentKind) -> Result<HostArgument<'a>> {
    let (buffer, layout, item_bytes, align_bytes) = match (argument, kind) {
        (LaunchArgument::Value(bytes), _) => return Ok(HostArgument::Value(bytes)),
        (
            LaunchArgument::Elements { buffer, layout },
            ArgumentKind::Elements { item_bytes, align_bytes, .. },
        ) => (buffer, *layout, item_bytes, align_bytes),
        (LaunchArgument::Elements { .. }, ArgumentKind::Value { .. }) => {
            unreachable!("core compares arguments with what is declared")
        }
    };
    let Some(buffer) = buffer.filter(|_| !layout.is_empty()) else {
        // An aligned address that is never read.
        return Ok(HostArgument::elements(ptr::without_provenance_mut(align_bytes), layout));
    };
    let start = buffer.at(layout.offset() * item_bytes);
    if start.addr() % align_bytes != 0 {
        let (operation, code, name) = ("launch", -1, "MISALIGNED_ADDRESS".into());
        return Err(Error::Driver { backend: BACKEND, operation, code, name });
    }
    Ok(HostArgument::elements(start, layout))
}
