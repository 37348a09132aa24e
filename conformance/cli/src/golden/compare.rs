//! Differences between a result and the expected one.

use std::fmt::Debug;

use super::{Elements, Expect, Found, Outcome};

/// The differences, each as `name: found … expected …`; empty if there are none.
#[must_use]
pub fn differences(expect: &Expect, outcome: &Outcome) -> Vec<String> {
    match (expect, outcome) {
        (Expect::Error, Err(_)) => Vec::new(),
        (Expect::Error, Ok(found)) => vec![format!("found shape {:?}, expected an error", found.shape)],
        (Expect::Array(_), Err(message)) => vec![format!("error: {message}")],
        (Expect::Array(expected), Ok(found)) => of_arrays(expected, found),
    }
}

fn of_arrays(expected: &Found, found: &Found) -> Vec<String> {
    let mut all = Vec::new();
    compare(&mut all, "shape", &found.shape, &expected.shape);
    compare(&mut all, "c", &found.c, &expected.c);
    compare(&mut all, "f", &found.f, &expected.f);
    if let (Some(found), Some(expected)) = (&found.elements, &expected.elements) {
        of_elements(&mut all, expected, found);
    }
    all
}

fn of_elements(all: &mut Vec<String>, expected: &Elements, found: &Elements) {
    compare(all, "copied", &found.copied, &expected.copied);
    let strides_differ = found.strides.len() != expected.strides.len()
        || found.strides.iter().zip(&expected.strides).any(|(f, e)| f.is_some() && e.is_some() && f != e);
    if strides_differ {
        compare(all, "strides", &found.strides, &expected.strides);
    }
    compare(all, "offset", &found.offset, &expected.offset);
    if found.values.len() != expected.values.len() {
        compare(all, "number of values", &found.values.len(), &expected.values.len());
    } else if let Some(at) = (0..found.values.len()).find(|&i| found.values[i] != expected.values[i]) {
        compare(all, &format!("value {at}"), &found.values[at], &expected.values[at]);
    }
}

fn compare<T: Debug + PartialEq>(all: &mut Vec<String>, name: &str, found: &T, expected: &T) {
    if found != expected {
        all.push(format!("{name}: found {found:?}, expected {expected:?}"));
    }
}
