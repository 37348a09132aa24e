//! Compares random numbers with a separate Philox 4x32-10 in this file.
#![allow(clippy::cast_possible_truncation, reason = "halves of products")]

use devarray::{
    Array, StreamHandle,
    backend::Compute,
    random::{self, Key},
};

use crate::{
    Harness, Outcome,
    computing::computing,
    violation::{ensure, same},
};

/// The four words of a counter, by the paper.
fn words(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let products = [u64::from(counter[0]) * 0xd251_1f53, u64::from(counter[2]) * 0xcd9e_8d57];
        let high = products.map(|product| (product >> 32) as u32);
        let low = products.map(|product| product as u32);
        counter = [high[1] ^ counter[1] ^ key[0], low[1], high[0] ^ counter[3] ^ key[1], low[0]];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    counter
}

/// Random bits are Philox's, and the bits of a block are the bits at its position in the sequence.
pub fn philox<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    // A test vector published with the generator.
    let known = words([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]);
    ensure(known == [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1], || {
        "the oracle is wrong".to_owned()
    })?;
    for (nth, mut rng) in harness.rngs().enumerate() {
        let (seed, sequence, from) = (rng.bits(), rng.bits(), rng.bits() >> 20);
        // A few numbers are made one by one; many are made four at a time, which takes long here.
        let many = (nth % 8 == 0).then(|| 16_384 + rng.below(50));
        for len in [Some(1 + rng.below(50)), many].into_iter().flatten() {
            of_block(&stream, Key::new(seed).sequence(sequence).at(from), (seed, sequence, from), len)?;
        }
    }
    Ok(())
}

fn of_block<D: Compute>(
    stream: &StreamHandle<D>,
    key: Key,
    (seed, sequence, from): (u64, u64, u64),
    len: usize,
) -> Outcome {
    let found: Array<u32, D> = random::bits(stream, &[len], key)?;
    let halves = |x: u64| [x as u32, (x >> 32) as u32];
    let due = |at: u64| {
        let ([a, b], [c, d]) = (halves(at / 4), halves(sequence));
        words([a, b, c, d], halves(seed))[(at % 4) as usize]
    };
    let due: Vec<u32> = (from..from + len as u64).map(due).collect();
    same(&found.to_vec(stream)?, &due, &format!("{len} random words of {key:?}"))
}
