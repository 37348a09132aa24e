//! Kernels of the program's own.
#![allow(unsafe_code)] // declares an unsafe trait and an unsafe constructor; performs no unsafe operation

use std::fmt;

use super::{Buffer, Device};
use crate::{
    Result,
    kernel::{ArgumentKind, Declaration, Grid, Passed},
    layout::{Layout, NdLayout},
};

/// A device that launches kernels: the capability [`Kernels`](super::Capability::Kernels).
///
/// # For callers
///
/// [`kernel!`](crate::kernel!) makes types whose function `launch` ends here. A function that
/// launches kernels takes `D: Launch`.
///
/// # For backend authors
///
/// An operation holds a [`Declaration`] and its arguments. A backend with device code of its own
/// looks for its image there; one whose memory the host reaches calls the host function, at the
/// operation's turn. The function [panics](crate::kernel::HostFunction) if its author's code does;
/// other operations then go on.
///
/// # Safety
///
/// Like [`Stream`](super::Stream): the operation takes effect in stream order, and is given the
/// elements of the arguments and no other memory.
#[diagnostic::on_unimplemented(
    message = "the device `{Self}` launches no kernels",
    label = "not a `Launch`",
    note = "a backend that can implements `backend::Launch`; code that needs it takes `D: Launch`"
)]
pub unsafe trait Launch: Device {
    /// Enqueues a kernel. Does not synchronize, but for the first launch of each, which may load
    /// its image.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::Error::Unsupported): the device does not have the capability.
    /// - [`Kernel`](crate::Error::Kernel): the image, or the launch, is refused.
    /// - Any device error. Nothing was enqueued.
    fn launch(&self, stream: &Self::Stream, op: &LaunchOp<'_, Self::Buffer>) -> Result<()>;
}

/// A kernel and its arguments.
#[repr(C)]
pub struct LaunchOp<'a, B> {
    pub(crate) declaration: &'static Declaration,
    pub(crate) grid: Grid,
    pub(crate) arguments: &'a [LaunchArgument<'a, B>],
    pub(crate) checked: bool,
}

/// One argument of a launch.
#[repr(C)]
#[expect(clippy::exhaustive_enums, reason = "a kernel takes elements and values")]
pub enum LaunchArgument<'a, B> {
    /// Elements of a buffer; of none, if there are no elements.
    Elements {
        /// The memory.
        buffer: Option<&'a B>,
        /// The layout of the elements, counted in elements from the start of the buffer.
        layout: &'a Layout,
    },
    /// The bytes of a value.
    Value(&'a [u8]),
}

/// One parameter of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an entry takes numbers and values")]
pub enum Parameter<'a> {
    /// An address, an extent, or a stride.
    Number(u64),
    /// The bytes of a value.
    Value(&'a [u8]),
}

impl<'a, B> LaunchOp<'a, B> {
    /// The operation, unchecked.
    ///
    /// # Safety
    ///
    /// There is one argument for each that is declared, of its kind; elements lie inside their
    /// buffers, in the form and with the rank that are declared, and what is written is
    /// injective and shares no byte with another argument. The kernel's own part has
    /// not refused them, and the grid is its answer. Nothing that conflicts with it is in flight,
    /// or an event or the stream orders it after that.
    #[must_use]
    pub unsafe fn new_unchecked(
        declaration: &'static Declaration,
        grid: Grid,
        arguments: &'a [LaunchArgument<'a, B>],
    ) -> Self {
        Self { declaration, grid, arguments, checked: false }
    }

    /// Whether it was made and checked by core, not through the raw door.
    #[must_use]
    pub fn is_checked(&self) -> bool {
        self.checked
    }

    /// The kernel.
    #[must_use]
    pub fn declaration(&self) -> &'static Declaration {
        self.declaration
    }

    /// The grid: at least one block of at least one thread.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The arguments, as many as are declared, in their order.
    #[must_use]
    pub fn arguments(&self) -> &'a [LaunchArgument<'a, B>] {
        self.arguments
    }

    /// Bytes that may be written.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        let written = self.arguments.iter().zip(self.declaration.arguments()).map(|(argument, declared)| {
            match (argument, declared.kind) {
                (
                    LaunchArgument::Elements { layout, .. },
                    ArgumentKind::Elements { permission, item_bytes, .. },
                ) if permission.writes() => layout.len() * item_bytes,
                _ => 0,
            }
        });
        written.sum()
    }
}

impl<'a, B: Buffer> LaunchOp<'a, B> {
    /// Calls back with each parameter of the entry, in order.
    pub fn each_parameter(&self, mut parameter: impl FnMut(Parameter<'a>)) {
        for (argument, declared) in self.arguments.iter().zip(self.declaration.arguments()) {
            let (buffer, layout) = match argument {
                LaunchArgument::Elements { buffer, layout } => (buffer, layout),
                LaunchArgument::Value(bytes) => {
                    parameter(Parameter::Value(bytes));
                    continue;
                }
            };
            let ArgumentKind::Elements { passed, item_bytes, .. } = declared.kind else { continue };
            let start = buffer.filter(|_| !layout.is_empty()).map_or(0, |buffer| {
                // Inside the buffer, so it fits.
                buffer.address() + (layout.offset() * item_bytes) as u64
            });
            parameter(Parameter::Number(start));
            let extents = layout.shape().iter().map(|&extent| extent as u64);
            let strides = layout.strides().iter().map(|&stride| stride as i64).map(i64::cast_unsigned);
            match passed {
                Passed::Flat => parameter(Parameter::Number(layout.len() as u64)),
                Passed::Dense { .. } => extents.map(Parameter::Number).for_each(&mut parameter),
                Passed::Strided { .. } => {
                    extents.chain(strides).map(Parameter::Number).for_each(&mut parameter)
                }
            }
        }
    }
}

/// The name and the launch: short.
impl<B> fmt::Debug for LaunchOp<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (blocks, threads) = (self.grid.blocks(), self.grid.threads());
        write!(f, "LaunchOp({}, {blocks:?} blocks of {threads:?} threads)", self.declaration.name())
    }
}

impl<B> fmt::Debug for LaunchArgument<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elements { layout, .. } => write!(f, "Elements({:?})", crate::layout::List(layout.shape())),
            Self::Value(bytes) => write!(f, "Value({} bytes)", bytes.len()),
        }
    }
}
