//! Remembers the last operations of a stream that took one launch each, ready to be launched again:
//! from call to call only addresses and the scalars of functions change.
//!
//! It saves time on the host: a function of two small arrays takes 0.60 µs instead of 1.40, a sum
//! 0.97 instead of 1.86 (with a driver that does nothing).

use std::sync::Arc;

use devarray::{
    Layout,
    backend::{Buffer, MapOp, Operand, ReduceForm, ReduceOp},
    function::{Combine, primitive::Program},
};

use super::{modules::LoadedKernel, operands::Kind, parameter::Parameter};
use crate::memory::CudaBuffer;

/// The most functions and reductions that a stream remembers.
const MOST_MAPS: usize = 32;
const MOST_REDUCTIONS: usize = 16;

/// Alignment of the widest accesses, on which kernels depend.
const ALIGNMENT: u64 = 16;

/// Launches that a stream remembers.
#[derive(Debug, Default)]
pub(crate) struct PreparedLaunches {
    maps: Vec<Prepared<Program>>,
    reductions: Vec<Prepared<Reduction>>,
}

/// An operation on certain layouts, prepared to be launched. The last used one is at the end, the
/// others are in any order.
#[derive(Debug)]
pub(super) struct Prepared<W> {
    /// The program, or the kind of reduction.
    key: W,
    /// The layouts of the result and the inputs, and the addresses of their buffers.
    layouts: Vec<Layout>,
    addresses: Vec<u64>,
    kinds: Vec<Kind>,
    pub(super) loaded: Arc<LoadedKernel>,
    pub(super) grid: u32,
    pub(super) parameter: Parameter,
}

/// The key of a reduction's launch, besides its operands.
#[derive(Debug)]
pub(super) struct Reduction {
    programs: [Program; 2],
    how: (Combine, ReduceForm),
    shape: Vec<usize>,
    scalars: [Vec<u64>; 2],
}

/// A result and inputs.
#[derive(Clone, Copy)]
struct Operands<'a>(&'a Operand<'a, CudaBuffer>, &'a [Operand<'a, CudaBuffer>]);

impl<'a> Operands<'a> {
    fn each(self) -> impl Iterator<Item = &'a Operand<'a, CudaBuffer>> {
        std::iter::once(self.0).chain(self.1)
    }

    fn addresses(self) -> impl Iterator<Item = u64> {
        self.each().map(|operand| operand.buffer().address())
    }

    /// The address of the first element of an input, or of the result for `None`.
    fn base(self, input: Option<u8>, kind: Kind) -> Option<u64> {
        let operand = match input {
            None => self.0,
            Some(at) => self.1.get(usize::from(at))?,
        };
        let before = operand.layout().offset() as u64 * kind.len_bytes().cast_unsigned();
        Some(operand.buffer().address() + before)
    }
}

impl PreparedLaunches {
    /// The launch of the same program on the same layouts, with the addresses and scalars of `op`.
    pub(super) fn map(&mut self, op: &MapOp<'_, CudaBuffer>) -> Option<&Prepared<Program>> {
        // Different programs differ early, and the same program is mostly at the same address.
        let operands = Operands(op.result(), op.inputs());
        let prepared = find(&mut self.maps, operands, |program| program == op.program())?;
        prepared.parameter.set_scalars(prepared.kinds.len(), op.scalars());
        Some(prepared)
    }

    /// Remembers the launch of `op`, whose operands have these kinds.
    pub(super) fn keep_map(&mut self, op: &MapOp<'_, CudaBuffer>, launch: OneLaunch) {
        let operands = Operands(op.result(), op.inputs());
        keep(&mut self.maps, MOST_MAPS, (op.program().clone(), operands), launch);
    }

    /// The launch of the same reduction on the same layouts, with the addresses of `op`.
    pub(super) fn reduction(&mut self, op: &ReduceOp<'_, CudaBuffer>) -> Option<&Prepared<Reduction>> {
        let work = op.work();
        let same = |of: &Reduction| {
            of.programs[0] == *work.program
                && of.programs[1] == *work.finish
                && of.how == (work.combine, op.form())
                && of.shape == op.shape()
                && of.scalars[0] == work.scalars
                && of.scalars[1] == work.finish_scalars
        };
        find(&mut self.reductions, Operands(op.result(), op.inputs()), same).map(|prepared| &*prepared)
    }

    /// Remembers the launch of `op`, whose operands have these kinds.
    pub(super) fn keep_reduction(&mut self, op: &ReduceOp<'_, CudaBuffer>, launch: OneLaunch) {
        let work = op.work();
        let of = Reduction {
            programs: [work.program.clone(), work.finish.clone()],
            how: (work.combine, op.form()),
            shape: op.shape().to_vec(),
            scalars: [work.scalars.to_vec(), work.finish_scalars.to_vec()],
        };
        keep(&mut self.reductions, MOST_REDUCTIONS, (of, Operands(op.result(), op.inputs())), launch);
    }
}

/// A launch: the kinds of its operands, its kernel, its grid, and its parameter.
pub(super) type OneLaunch = (Vec<Kind>, Arc<LoadedKernel>, u32, Parameter);

fn keep<W>(all: &mut Vec<Prepared<W>>, most: usize, (key, operands): (W, Operands<'_>), launch: OneLaunch) {
    if all.len() >= most {
        all.swap_remove(0);
    }
    let layouts = operands.each().map(|operand| operand.layout().clone()).collect();
    let (addresses, (kinds, loaded, grid, parameter)) = (operands.addresses().collect(), launch);
    all.push(Prepared { key, layouts, addresses, kinds, loaded, grid, parameter });
}

/// Finds a launch for which `same` holds and which has these layouts, and gives it the addresses of
/// these operands.
fn find<'r, W>(
    all: &'r mut [Prepared<W>],
    operands: Operands<'_>,
    same: impl Fn(&W) -> bool,
) -> Option<&'r mut Prepared<W>> {
    let at = all.iter().rposition(|prepared| same(&prepared.key) && prepared.serves(operands))?;
    let last = all.len() - 1;
    all.swap(at, last);
    let Prepared { kinds, addresses, parameter, .. } = &mut all[last];
    for (address, now) in addresses.iter_mut().zip(operands.addresses()) {
        *address = now.wrapping_sub(*address);
    }
    for (word, kind) in kinds.iter().enumerate() {
        match *kind {
            Kind::Result(_) => parameter.move_base(word, addresses[0]),
            Kind::Input(at, _) | Kind::InPlace(at, _) => {
                parameter.move_base(word, addresses[1 + usize::from(at)]);
            }
            Kind::Position(_) => {}
        }
    }
    addresses.clear();
    addresses.extend(operands.addresses());
    all.last_mut()
}

impl<W> Prepared<W> {
    /// Whether the launch serves these operands: they have its layouts, the same alignment for the
    /// widest accesses, and begin where the result begins if its own operands did.
    fn serves(&self, operands: Operands<'_>) -> bool {
        let same = |(operand, (layout, address)): (&Operand<'_, CudaBuffer>, (&Layout, &u64))| {
            operand.buffer().address() % ALIGNMENT == address % ALIGNMENT && operand.layout() == layout
        };
        let result = self.kinds.first().and_then(|&kind| operands.base(None, kind));
        operands.1.len() + 1 == self.layouts.len()
            && operands.each().zip(self.layouts.iter().zip(&self.addresses)).all(same)
            && self.kinds.iter().all(|&kind| match kind {
                Kind::Input(at, _) => operands.base(Some(at), kind) != result,
                Kind::InPlace(at, _) => operands.base(Some(at), kind) == result,
                Kind::Result(_) | Kind::Position(_) => true,
            })
    }
}
