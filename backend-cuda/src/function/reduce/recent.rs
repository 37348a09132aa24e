//! The last reductions of a stream that took one launch, ready to be launched again: only addresses
//! change from call to call.

use std::sync::Arc;

use devarray::{
    Layout,
    backend::{Buffer, Operand, ReduceForm, ReduceOp},
    function::{Combine, primitive::Program},
};

use super::{Loaded, Parameter, plan::Pass};
use crate::{function::problem::Kind, memory::CudaBuffer};

/// Reductions that a stream remembers.
const MOST: usize = 16;

/// Alignment of the widest accesses, on which kernels depend.
const ALIGNMENT: u64 = 16;

/// The one used last at the end, the others in any order.
#[derive(Debug, Default)]
pub(in crate::function) struct RecentReductions(Vec<Prepared>);

/// A reduction of certain layouts, prepared to be launched.
#[derive(Debug)]
struct Prepared {
    programs: [Program; 2],
    how: (Combine, ReduceForm),
    shape: Vec<usize>,
    scalars: [Vec<u64>; 2],
    /// Of the result and the inputs: layouts, and where the buffers were.
    layouts: Vec<Layout>,
    addresses: Vec<u64>,
    kinds: Vec<Kind>,
    loaded: Arc<Loaded>,
    grid: u32,
    parameter: Parameter,
}

type Op<'a> = ReduceOp<'a, CudaBuffer>;

/// The result and the inputs.
fn operands<'o>(op: &'o Op<'_>) -> impl Iterator<Item = &'o Operand<'o, CudaBuffer>> {
    std::iter::once(op.result()).chain(op.inputs())
}

impl RecentReductions {
    /// The launch of the same reduction of the same layouts, with the addresses of `op`.
    pub(super) fn find(&mut self, op: &Op<'_>) -> Option<(&Loaded, u32, &Parameter)> {
        let at = self.0.iter().rposition(|prepared| prepared.serves(op))?;
        let last = self.0.len() - 1;
        self.0.swap(at, last);
        let Prepared { kinds, addresses, loaded, grid, parameter, .. } = self.0.last_mut()?;
        for (word, kind) in kinds.iter().enumerate() {
            let (which, buffer) = match *kind {
                Kind::Result(_) => (0, op.result().buffer()),
                Kind::Input(at, _) | Kind::InPlace(at, _) => {
                    (1 + usize::from(at), op.inputs()[usize::from(at)].buffer())
                }
                Kind::Position(_) => continue,
            };
            parameter.move_base(word, buffer.address().wrapping_sub(addresses[which]));
        }
        for (address, operand) in addresses.iter_mut().zip(operands(op)) {
            *address = operand.buffer().address();
        }
        Some((&*loaded, *grid, &*parameter))
    }

    /// Remembers the one launch of `op`, whose operands are of these kinds.
    pub(super) fn keep(&mut self, op: &Op<'_>, kinds: Vec<Kind>, pass: Pass<'_>, loaded: Arc<Loaded>) {
        let work = op.work();
        if self.0.len() >= MOST {
            self.0.swap_remove(0);
        }
        self.0.push(Prepared {
            programs: [work.program.clone(), work.finish.clone()],
            how: (work.combine, op.form()),
            shape: op.shape().to_vec(),
            scalars: [work.scalars.to_vec(), work.finish_scalars.to_vec()],
            layouts: operands(op).map(|operand| operand.layout().clone()).collect(),
            addresses: operands(op).map(|operand| operand.buffer().address()).collect(),
            kinds,
            loaded,
            grid: pass.grid,
            parameter: pass.parameter,
        });
    }
}

impl Prepared {
    fn serves(&self, op: &Op<'_>) -> bool {
        let work = op.work();
        let same = |(operand, (layout, address)): (&Operand<'_, CudaBuffer>, (&Layout, &u64))| {
            (operand.buffer().address() ^ address).is_multiple_of(ALIGNMENT) && operand.layout() == layout
        };
        self.programs[0] == *work.program
            && self.programs[1] == *work.finish
            && self.how == (work.combine, op.form())
            && self.shape == op.shape()
            && self.scalars[0] == work.scalars
            && self.scalars[1] == work.finish_scalars
            && op.inputs().len() + 1 == self.layouts.len()
            && operands(op).zip(self.layouts.iter().zip(&self.addresses)).all(same)
    }
}
