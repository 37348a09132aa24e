//! Makes calls on host memory, from any layouts to any layouts.
#![allow(unsafe_code)] // declares what a caller promises of memory

use devarray_function::{
    ElementType, FloatEnvironment,
    interpreter::{InputElements, ResultElements},
};

use crate::{
    Call, Workers, WrongIndex,
    kind::{by_class, by_kind, by_width},
    run::Run,
};

/// The part of the outcome that is known only after the work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "complete by nature")]
pub struct Outcome {
    /// The number of rows of counted results, whether or not there was room for them.
    pub count: usize,
    /// The first index without a place. Everything else is done.
    pub wrong_index: Option<WrongIndex>,
}

/// An operand: its type and its elements.
pub type Operand<'a> = (ElementType, InputElements<'a>);

/// Makes a call, with inputs and results by [`Call::outputs`]. Unwanted results are `None` and cost
/// nothing.
///
/// Blocks until it is done. A counted result is written as far as it fits the given extent, and the rest of
/// the extent is not touched. Bits do not depend on the workers, the layouts or the processor.
///
/// # Panics
///
/// The call does not take these inputs, or the results have another number or shape.
///
/// # Safety
///
/// The elements of the inputs may be read, the elements of the results may be written, and meanwhile
/// no other thread writes inputs or touches results. Inputs are initialized. Inputs share no byte
/// with results, and results share none with each other. Only x of [`Call::Put`] may be the result,
/// at the same address in the same layout, which is then changed in place.
pub unsafe fn execute(
    call: &Call,
    inputs: &[Operand<'_>],
    results: &[Option<ResultElements<'_>>],
    workers: &dyn Workers,
) -> Outcome {
    check(call, inputs, results);
    let _standard = FloatEnvironment::standard();
    // SAFETY: as the caller promises
    let run = unsafe { Run::new(inputs, results, workers) };
    dispatch(&run, call, inputs[0].0)
}

fn dispatch(run: &Run<'_>, call: &Call, element_type: ElementType) -> Outcome {
    let (mut count, mut wrong_index) = (0, None);
    match *call {
        Call::Sort { axis, descending } => by_kind!(element_type, K => run.sort::<K>(axis, descending)),
        Call::ArgSort { axis, descending } => by_kind!(element_type, K => run.argsort::<K>(axis, descending)),
        Call::TopK { k, axis, largest } => by_kind!(element_type, K => run.top::<K>(k, axis, largest)),
        Call::Unique => count = by_kind!(element_type, K => run.unique::<K>()),
        Call::SearchSorted { right } => by_kind!(element_type, K => run.search_sorted::<K>(right)),
        Call::Histogram => by_kind!(element_type, K => run.histogram::<K>()),
        Call::BinCount { .. } => wrong_index = run.bincount(),
        Call::Put { operation, axis } => {
            wrong_index = by_width!(element_type.len_bytes(), W => run.put::<W>(operation, axis));
        }
        Call::Segments { operation } => wrong_index = run.segments(operation),
        Call::CsrDot => wrong_index = run.csr_dot(),
        Call::NonZero => count = by_kind!(element_type, K => run.nonzero::<K>()),
        Call::Quantile { q, axis } => by_class!(element_type,
            W => unreachable!("no quantile of {}", std::any::type_name::<W>()),
            F => run.quantile::<F>(q, axis)),
    }
    Outcome { count, wrong_index }
}

fn check(call: &Call, inputs: &[Operand<'_>], results: &[Option<ResultElements<'_>>]) {
    let shapes: Vec<_> = inputs.iter().map(|(of, elements)| (*of, elements.layout.shape())).collect();
    let outputs = call.outputs(&shapes).expect("a call that its inputs fit");
    assert_eq!(outputs.len(), results.len(), "as many results as the call has");
    for (output, result) in
        outputs.iter().zip(results).filter_map(|(output, &result)| Some((output, result?)))
    {
        let from = usize::from(output.counted);
        assert_eq!(output.shape.len(), result.layout.rank(), "results of the call's rank");
        assert_eq!(output.shape[from..], result.layout.shape()[from..], "results of the call's shape");
    }
}
