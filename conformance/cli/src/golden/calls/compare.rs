//! Differences between results and the expected ones.

use super::{
    case::{CallExpect, CallFound},
    run::CallOutcome,
};
use crate::golden::compute::{ComputeFound, differences_of_arrays, one_line};

/// The differences, each as `name: found … expected …`; empty if there are none.
#[must_use]
pub fn differences(expect: &CallExpect, outcome: &CallOutcome) -> Vec<String> {
    match (expect, outcome) {
        (CallExpect::Arrays(expected), Ok(found)) => {
            of_outputs(found, expected.iter().map(|(expected, ulp)| (expected, *ulp)))
        }
        (CallExpect::Error(kind), Err(failed)) if failed.kind == Some(*kind) => Vec::new(),
        (CallExpect::Error(kind), Err(failed)) => {
            vec![format!("{kind:?} error expected, found: {}", one_line(&failed.message))]
        }
        (CallExpect::Error(kind), Ok(found)) => {
            vec![format!("found {} outputs, expected a {kind:?} error", found.outputs.len())]
        }
        (CallExpect::Arrays(_), Err(failed)) => vec![format!("error: {}", one_line(&failed.message))],
    }
}

/// The differences between a device and the simulator, which must agree to the bit.
#[must_use]
pub fn differences_of_backends(device: &CallOutcome, simulator: &CallOutcome) -> Vec<String> {
    let all = match (device, simulator) {
        (Ok(device), Ok(simulator)) => of_outputs(device, simulator.outputs.iter().map(|due| (due, 0))),
        (Err(device), Err(simulator)) if device.kind == simulator.kind => Vec::new(),
        _ => vec!["one gives an error".to_owned()],
    };
    all.into_iter().map(|difference| format!("simulator: {difference}")).collect()
}

fn of_outputs<'a>(
    found: &CallFound,
    expected: impl ExactSizeIterator<Item = (&'a ComputeFound, u64)>,
) -> Vec<String> {
    if found.outputs.len() != expected.len() {
        return vec![format!("found {} outputs, expected {}", found.outputs.len(), expected.len())];
    }
    let pairs = found.outputs.iter().zip(expected).enumerate();
    let of_one = |(number, (found, (expected, ulp))): (usize, (&ComputeFound, (&ComputeFound, u64)))| {
        let all = differences_of_arrays(expected, found, ulp);
        all.into_iter().map(move |difference| format!("output {number}: {difference}"))
    };
    pairs.flat_map(of_one).collect()
}
