//! All inputs of a function, in blocks, on some threads.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

use devarray::function::elementary::{Elementary, evaluate_f32};

use crate::{digest, reference};

/// A result that is not the correctly rounded value.
pub(crate) struct Wrong {
    input: f32,
    result: f32,
    expected: f32,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { input, result, expected } = self;
        let [input_bits, result_bits, expected_bits] = [input, result, expected].map(|x| x.to_bits());
        write!(f, "of {input:e} (0x{input_bits:08x}) is {result:e} (0x{result_bits:08x}), ")?;
        write!(f, "not {expected:e} (0x{expected_bits:08x})")
    }
}

/// The findings.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) inputs: u64,
    /// Inputs that only high precision decides: those nearest to a middle.
    pub(crate) undecided: Vec<f32>,
    pub(crate) wrong: Vec<Wrong>,
    pub(crate) digest: u64,
}

/// Inputs of either sign in a block.
const BLOCK: u32 = 1 << 15;
const BLOCKS: u32 = (1 << 31) / BLOCK;

pub(crate) fn sweep(function: Elementary, threads: u32, sample: Option<u64>, digest_only: bool) -> Found {
    let next = AtomicU32::new(0);
    let step = sample.map_or(1, |sample| ((1_u64 << 32) / sample.max(1)).clamp(1, 1 << 20));
    let work = || {
        let mut found = Found::default();
        loop {
            let block = next.fetch_add(1, Ordering::Relaxed);
            if block >= BLOCKS {
                return found;
            }
            check_block(function, block, step, digest_only, &mut found);
        }
    };
    let mut all = Found::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let found = worker.join().expect("a worker that does not panic");
            all.inputs += found.inputs;
            all.undecided.extend(found.undecided);
            all.digest = all.digest.wrapping_add(found.digest);
            all.wrong.extend(found.wrong);
        }
    });
    all.wrong.sort_by_key(|wrong| wrong.input.to_bits());
    all.undecided.sort_by_key(|input| input.to_bits());
    all
}

fn check_block(function: Elementary, block: u32, step: u64, digest_only: bool, found: &mut Found) {
    let first = block * BLOCK;
    // A sample takes every `step`th, from a place in the first `step` that changes from block to
    // block.
    let offset =
        u32::try_from(u64::from(block).wrapping_mul(0x9e37_79b9_7f4a_7c15) % step).expect("less than a step");
    let step = usize::try_from(step).expect("a small step");
    let chosen = (first..first + BLOCK).skip(offset as usize).step_by(step);
    let positive: Vec<f32> = chosen.map(f32::from_bits).collect();
    let negative: Vec<f32> = positive.iter().map(|x| -x).collect();
    let symmetry = reference::symmetry(function);
    let mut expected: Vec<Option<f32>> = vec![None; positive.len()];
    for (inputs, mirrored) in [(&positive, false), (&negative, true)] {
        let mut results = vec![0.0; inputs.len()];
        evaluate_f32(function, inputs, &[], &mut results);
        found.inputs += results.len() as u64;
        for (&input, &result) in inputs.iter().zip(&results) {
            found.digest = found.digest.wrapping_add(digest::part(input.to_bits(), result));
        }
        if digest_only {
            continue;
        }
        for ((&input, &result), known) in inputs.iter().zip(&results).zip(&mut expected) {
            let expected = match (mirrored, *known, symmetry) {
                (true, Some(known), reference::Symmetry::Odd) => -known,
                (true, Some(known), reference::Symmetry::Even) => known,
                _ => reference::rounded(function, input, &mut found.undecided),
            };
            *known = Some(expected);
            let same = expected.to_bits() == result.to_bits() || (expected.is_nan() && result.is_nan());
            if !same {
                found.wrong.push(Wrong { input, result, expected });
            }
        }
    }
}
