//! The operands and computations of captured operations.

use devarray::{
    Layout,
    backend::{MapOp, Operand, ReduceForm, ReduceOp},
    function::{Combine, primitive::Program},
};
use devarray_function::interpreter::Reducing;
use smallvec::SmallVec;

use crate::memory::DeviceMemory;

/// Some operands or scalars.
pub(super) type Few<T> = SmallVec<[T; 4]>;

/// An operand.
pub(super) struct Side {
    memory: DeviceMemory,
    layout: Layout,
}

impl Side {
    pub(super) fn of(operand: &Operand<'_, DeviceMemory>) -> Self {
        Self { memory: operand.buffer().again(), layout: operand.layout().clone() }
    }

    pub(super) fn all(operands: &[Operand<'_, DeviceMemory>]) -> Few<Self> {
        operands.iter().map(Self::of).collect()
    }

    pub(super) fn operand(&self) -> Operand<'_, DeviceMemory> {
        Operand::new(&self.memory, &self.layout)
    }

    pub(super) fn operands(all: &[Self]) -> Few<Operand<'_, DeviceMemory>> {
        all.iter().map(Self::operand).collect()
    }
}

/// A function.
pub(super) struct KeptMap {
    pub(super) program: Program,
    pub(super) scalars: Few<u64>,
    pub(super) inputs: Few<Side>,
    pub(super) result: Side,
}

impl KeptMap {
    pub(super) fn of(op: &MapOp<'_, DeviceMemory>) -> Self {
        let (program, scalars) = (op.program().clone(), op.scalars().into());
        Self { program, scalars, inputs: Side::all(op.inputs()), result: Side::of(op.result()) }
    }
}

/// A reduction.
pub(super) struct KeptReduce {
    program: Program,
    scalars: Few<u64>,
    combine: Combine,
    finish: Program,
    finish_scalars: Few<u64>,
    pub(super) form: ReduceForm,
    pub(super) shape: Few<usize>,
    pub(super) inputs: Few<Side>,
    pub(super) result: Side,
}

impl KeptReduce {
    pub(super) fn of(op: &ReduceOp<'_, DeviceMemory>) -> Self {
        let Reducing { program, scalars, combine, finish, finish_scalars } = *op.work();
        Self {
            program: program.clone(),
            scalars: scalars.into(),
            combine,
            finish: finish.clone(),
            finish_scalars: finish_scalars.into(),
            form: op.form(),
            shape: op.shape().into(),
            inputs: Side::all(op.inputs()),
            result: Side::of(op.result()),
        }
    }

    pub(super) fn work(&self) -> Reducing<'_> {
        let Self { program, scalars, combine, finish, finish_scalars, .. } = self;
        Reducing { program, scalars, combine: *combine, finish, finish_scalars }
    }
}
