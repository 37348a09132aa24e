//! The last functions of a stream, ready to be launched again: only addresses and scalars change
//! from call to call.

use std::sync::Arc;

use devarray::{
    Layout,
    backend::{Buffer, MapOp, Operand},
    function::primitive::Program,
};

use super::{
    launch::{Launch, Parameter},
    modules::Loaded,
    problem::{Kind, Problem},
    reduce::RecentReductions,
};
use crate::memory::CudaBuffer;

/// Functions that a stream remembers.
const MOST: usize = 32;

/// Alignment of the widest accesses, on which kernels depend.
const ALIGNMENT: u64 = 16;

/// The one used last at the end, the others in any order.
#[derive(Debug, Default)]
pub(crate) struct Recent(Vec<Prepared>, RecentReductions);

/// A function on certain layouts, prepared to be launched.
#[derive(Debug)]
pub(super) struct Prepared {
    program: Program,
    /// Of the result and the inputs.
    layouts: Vec<Layout>,
    /// What kernels depend on of the addresses of the buffers: see [`place`].
    places: Vec<u64>,
    kinds: Vec<Kind>,
    /// How far from the buffer's address each operand of the kernel begins; where a position
    /// begins.
    offsets: Vec<u64>,
    pub(super) loaded: Arc<Loaded>,
    pub(super) grid: u32,
    pub(super) parameter: Parameter,
}

type Op<'a> = MapOp<'a, CudaBuffer>;

/// The result and the inputs.
fn operands<'o>(op: &'o Op<'_>) -> impl Iterator<Item = &'o Operand<'o, CudaBuffer>> {
    std::iter::once(op.result()).chain(op.inputs())
}

/// How an address is aligned, and whether it is the result's.
fn place(address: u64, result: u64) -> u64 {
    (address % ALIGNMENT) << 1 | u64::from(address == result)
}

impl Recent {
    /// Reductions of the stream.
    pub(super) fn reductions(&mut self) -> &mut RecentReductions {
        &mut self.1
    }

    /// A launch of the same program on the same layouts, with the addresses and scalars of `op`.
    pub(super) fn find(&mut self, op: &Op<'_>) -> Option<&Prepared> {
        let at = self.0.iter().rposition(|prepared| prepared.serves(op))?;
        let last = self.0.len() - 1;
        self.0.swap(at, last);
        let prepared = self.0.last_mut()?;
        for (operand, (kind, &offset)) in prepared.kinds.iter().zip(&prepared.offsets).enumerate() {
            let buffer = match *kind {
                Kind::Result(_) => op.result().buffer(),
                Kind::Input(at, _) | Kind::InPlace(at, _) => op.inputs()[usize::from(at)].buffer(),
                Kind::Position(_) => continue,
            };
            prepared.parameter.set_base(operand, buffer.address().wrapping_add(offset));
        }
        prepared.parameter.set_scalars(prepared.kinds.len(), op.scalars());
        Some(prepared)
    }

    /// Remembers the one launch of `op`.
    pub(super) fn keep(&mut self, op: &Op<'_>, problem: &Problem, launch: Launch, loaded: Arc<Loaded>) {
        let result = op.result().buffer().address();
        let address = |kind: &Kind| match *kind {
            Kind::Result(_) => result,
            Kind::Input(at, _) | Kind::InPlace(at, _) => op.inputs()[usize::from(at)].buffer().address(),
            Kind::Position(_) => 0,
        };
        let offsets = problem.kinds.iter().zip(&problem.bases);
        if self.0.len() >= MOST {
            self.0.swap_remove(0);
        }
        self.0.push(Prepared {
            program: op.program().clone(),
            layouts: operands(op).map(|operand| operand.layout().clone()).collect(),
            places: operands(op).map(|operand| place(operand.buffer().address(), result)).collect(),
            kinds: problem.kinds.clone(),
            offsets: offsets.map(|(kind, base)| base.wrapping_sub(address(kind))).collect(),
            loaded,
            grid: launch.grid,
            parameter: launch.parameter,
        });
    }
}

impl Prepared {
    fn serves(&self, op: &Op<'_>) -> bool {
        let result = op.result().buffer().address();
        let same = |(operand, (layout, place_of)): (&Operand<'_, CudaBuffer>, (&Layout, &u64))| {
            place(operand.buffer().address(), result) == *place_of && operand.layout() == layout
        };
        // Other programs differ early, and the same one is mostly at the same place.
        self.program == *op.program()
            && op.inputs().len() + 1 == self.layouts.len()
            && operands(op).zip(self.layouts.iter().zip(&self.places)).all(same)
    }
}
