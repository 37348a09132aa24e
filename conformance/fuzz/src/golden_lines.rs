//! Golden files: a case runs or is refused, and its result satisfies the same case if that expects
//! it.

use devarray::{Context, StreamHandle, function::ElementType};
use devarray_mock::MockDevice;

use crate::{
    golden::{
        self, Case, Expect,
        compute::{self, ComputeCase, ComputeExpect},
    },
    steps::Step,
};

/// The memory of the device in bytes, which limits the cost of a case.
const MOST_BYTES: usize = 1 << 18;
/// The most elements of a base.
const MOST_ELEMENTS: usize = 1 << 12;
/// The most steps of a case that is run.
const MOST_STEPS: usize = 12;

/// The first byte chooses the kind of file; the rest is a line of it.
pub fn run(data: &[u8]) {
    let Some((kind, line)) = data.split_first() else { return };
    if kind % 2 == 0 { layout(line) } else { function(line) }
}

fn stream() -> StreamHandle<MockDevice> {
    let device = MockDevice::builder().memory_limit_bytes(MOST_BYTES).build();
    Context::new(device).and_then(|context| context.stream()).expect("a simulator opens")
}

/// Whether a chain repeats elements, so that results may be large.
fn is_long(steps: &[Step]) -> bool {
    let repeats = |step: &Step| match step {
        Step::Broadcast(shape) => {
            shape.iter().try_fold(1_isize, |n, &e| n.checked_mul(e.max(1))).is_none_or(|n| n > 1 << 12)
        }
        _ => false,
    };
    steps.len() > MOST_STEPS || steps.iter().any(repeats)
}

fn layout(line: &[u8]) {
    let Ok(case) = serde_json::from_slice::<Case>(line) else { return };
    if case.base.iter().map(|&extent| extent.max(1)).product::<usize>() > MOST_ELEMENTS
        || is_long(&case.steps)
    {
        return;
    }
    let Ok(outcome) = golden::run_case(&stream(), &case) else { return };
    let _ = golden::differences(&case.expect, &outcome);
    if let Ok(found) = outcome {
        let due = Expect::Array(found.clone());
        assert_eq!(golden::differences(&due, &Ok(found)), Vec::<String>::new());
    }
}

fn function(line: &[u8]) {
    let Ok(case) = serde_json::from_slice::<ComputeCase>(line) else { return };
    let outputs = case.out.iter().map(|out| &out.steps);
    if case.inputs.iter().map(|input| &input.steps).chain(outputs).any(|steps| is_long(steps)) {
        return;
    }
    let Ok(outcome) = compute::run_case(&stream(), &case) else { return };
    let _ = compute::differences(&case.expect, &outcome);
    if let Ok(found) = outcome {
        let is_float = matches!(found.element_type, ElementType::F16 | ElementType::F32 | ElementType::F64);
        let due = ComputeExpect::Array(found.clone(), 0);
        let differences = compute::differences(&due, &Ok(found));
        assert!(is_float || differences.is_empty(), "{differences:?}");
    }
}
