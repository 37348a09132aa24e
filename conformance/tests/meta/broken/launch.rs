//! Kernels that are launched wrongly.
#![allow(unsafe_code)] // implements an unsafe trait, wrongly on purpose, over a backend whose memory is its own

use devarray::{
    Layout, Result,
    backend::{Capability, Launch, LaunchArgument, LaunchOp},
};

use super::{Broken, BrokenStream, Placed};
use crate::bug::Bug;

/// The elements with the strides of a dense array, from the first one on: inside the span of the
/// right layout, which is not smaller.
fn straightened(bug: Bug, layout: &Layout) -> Result<Layout> {
    if bug != Bug::KernelsIgnoreStrides || layout.len() > layout.span().len() {
        return Ok(layout.clone());
    }
    let dense = Layout::contiguous(layout.shape(), devarray::Order::C)?;
    Ok(Layout::new(layout.shape(), dense.strides(), layout.span().start)?)
}

// SAFETY: no promise is kept; only used over a simulator, which checks every access to device
// memory.
unsafe impl<D: Launch> Launch for Broken<D> {
    fn launch(&self, stream: &BrokenStream<D>, op: &LaunchOp<'_, Placed<D::Buffer>>) -> Result<()> {
        let (declaration, bug) = (op.declaration(), self.bug);
        self.lie(declaration.name(), Capability::Kernels)?;
        stream.runs()?;
        if bug == Bug::KernelsDoNothing {
            return Ok(());
        }
        let values = op.arguments().iter().flat_map(|argument| match argument {
            LaunchArgument::Value(bytes) => bytes.to_vec(),
            LaunchArgument::Elements { .. } => Vec::new(),
        });
        let values: Vec<u8> = values.collect();
        let kept = {
            let mut first = self.values.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            first.entry(declaration.name()).or_insert_with(|| values.clone()).clone()
        };
        let values = if bug == Bug::KernelsKeepValues { kept } else { values };
        let layouts = op.arguments().iter().map(|argument| match argument {
            LaunchArgument::Elements { layout, .. } => straightened(bug, layout).map(Some),
            LaunchArgument::Value(_) => Ok(None),
        });
        let layouts = layouts.collect::<Result<Vec<Option<Layout>>>>()?;
        let mut rest = &values[..];
        let arguments: Vec<LaunchArgument<'_, D::Buffer>> = op
            .arguments()
            .iter()
            .zip(&layouts)
            .map(|(argument, layout)| match (argument, layout) {
                (LaunchArgument::Elements { buffer, .. }, Some(layout)) => {
                    LaunchArgument::Elements { buffer: buffer.map(|buffer| &buffer.inner), layout }
                }
                (LaunchArgument::Elements { layout, .. }, None) => {
                    LaunchArgument::Elements { buffer: None, layout }
                }
                (LaunchArgument::Value(bytes), _) => {
                    let (value, behind) = rest.split_at(bytes.len());
                    rest = behind;
                    LaunchArgument::Value(value)
                }
            })
            .collect();
        let times = if bug == Bug::KernelsRunTwice { 2 } else { 1 };
        for _ in 0..times {
            // SAFETY: the same operation, or one that touches no more of the same buffers.
            let op = unsafe { LaunchOp::new_unchecked(declaration, *op.grid(), &arguments) };
            self.inner.launch(stream.unless(bug == Bug::KernelsOutOfOrder), &op)?;
        }
        Ok(())
    }
}
