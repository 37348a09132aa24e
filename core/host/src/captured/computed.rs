//! Captured functions, reductions and products.
#![allow(unsafe_code)] // makes operations on memory that their launch vouches for

use devarray::{
    Layout,
    backend::{FusedOp, MapOp, ProductFunction, ProductOp, ReduceOp},
    function::primitive::Program,
};

use super::{
    Step,
    kept::{Few, KeptMap, KeptReduce, Side},
};
use crate::{execute, memory::DeviceMemory, shared::Shared};

pub(crate) fn map(device: &Shared, op: &MapOp<'_, DeviceMemory>) -> Step {
    let placed = execute::PlacedPieces::of(&device.threads, op);
    // SAFETY: the elements lie inside their buffers; at the launch's turn, nothing else uses them.
    Step::new(move |device| unsafe { placed.run(&device.threads) })
}

pub(crate) fn reduce(op: &ReduceOp<'_, DeviceMemory>) -> Step {
    let kept = KeptReduce::of(op);
    Step::new(move |device| {
        let KeptReduce { form, shape, inputs, result, .. } = &kept;
        let inputs = Side::operands(inputs);
        // SAFETY: the same operation on the same memory was valid before.
        let op = unsafe { ReduceOp::new_unchecked(kept.work(), *form, shape, &inputs, result.operand()) };
        // SAFETY: as for `map`.
        unsafe { execute::reduce(&device.threads, &op) }
    })
}

pub(crate) fn fuse(op: &FusedOp<'_, DeviceMemory>) -> Step {
    let reductions: Few<KeptReduce> = op.reductions().iter().map(KeptReduce::of).collect();
    let last = op.last().map(KeptMap::of);
    Step::new(move |device| {
        let inputs: Few<_> = reductions.iter().map(|kept| Side::operands(&kept.inputs)).collect();
        let operations = reductions.iter().zip(&inputs).map(|(kept, inputs)| {
            // SAFETY: the same operation on the same memory was valid before.
            unsafe {
                ReduceOp::new_unchecked(kept.work(), kept.form, &kept.shape, inputs, kept.result.operand())
            }
        });
        let operations: Few<_> = operations.collect();
        let last_inputs = last.as_ref().map(|last| Side::operands(&last.inputs));
        let last = last.as_ref().zip(last_inputs.as_ref()).map(|(last, inputs)| {
            let KeptMap { program, scalars, result, .. } = last;
            // SAFETY: as above.
            unsafe { MapOp::new_unchecked(program, inputs, scalars, result.operand()) }
        });
        // SAFETY: as above.
        let op = unsafe { FusedOp::new_unchecked(&operations, last.as_ref()) };
        // SAFETY: as for `map`.
        unsafe { execute::fuse(&device.threads, &op) }
    })
}

/// The function that follows a product, kept.
struct KeptFunction {
    program: Program,
    inputs: Few<Side>,
    scalars: Few<u64>,
    layout: Layout,
}

pub(crate) fn product(op: &ProductOp<'_, DeviceMemory>) -> Step {
    let (element_type, precision, is_onto) = (op.element_type(), op.precision(), op.is_onto());
    let [a, b, result] = [op.a(), op.b(), op.result()].map(Side::of);
    let function = op.function().map(|function| KeptFunction {
        program: function.program().clone(),
        inputs: Side::all(function.inputs()),
        scalars: function.scalars().into(),
        layout: function.layout().clone(),
    });
    Step::new(move |device| {
        // SAFETY: the same operation on the same memory was valid before.
        let op =
            unsafe { ProductOp::new_unchecked(element_type, a.operand(), b.operand(), result.operand()) };
        let inputs = function.as_ref().map(|function| Side::operands(&function.inputs));
        let behind = function.as_ref().zip(inputs.as_ref()).map(|(function, inputs)| {
            let KeptFunction { program, scalars, layout, .. } = function;
            ProductFunction::new(program, inputs, scalars, layout)
        });
        let op = match behind {
            // SAFETY: as above.
            Some(behind) => unsafe { op.with_function_unchecked(behind) },
            // SAFETY: as above.
            None if is_onto => unsafe { op.onto_unchecked() },
            None => op,
        };
        // SAFETY: as for `map`.
        unsafe { execute::product(&device.threads, &op.with_precision(precision)) }
    })
}
