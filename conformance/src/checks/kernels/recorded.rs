//! The program's own kernels in recorded work.

use devarray::{Array, ArrayView, ArrayViewMut, Result, StreamHandle, backend::Launch, recorded::Recording};

use super::{
    declared::{AddTo, LookUp, Reverse, SQUARES, Scale},
    launching, scaled,
};
use crate::{Harness, Outcome, harness::no_background_errors, patterns::elements, violation::same};

const LINES: usize = 3;
const LEN: usize = 70;
const ALL: usize = LINES * LEN;

/// The values for the two launches of one declaration.
const VALUES: [[u32; 8]; 2] = [[0, 1, 2, 3, 4, 5, 6, 7], [1 << 20; 8]];

/// Kernels with tables, shared memory, strides, values, and a number that differs between launches.
fn step<D: Launch>(
    on: &StreamHandle<D>,
    x: &ArrayView<'_, u8, D>,
    added: &ArrayView<'_, u16, D>,
    sums: &mut ArrayViewMut<'_, u16, D>,
    y: &mut ArrayViewMut<'_, u32, D>,
    number: &ArrayView<'_, u32, D>,
) -> Result<()> {
    let mut turned = Array::uninit(on, &[LINES, LEN])?;
    Reverse::launch(on, x, &mut turned)?;
    let mut found = Array::uninit(on, &[ALL])?;
    LookUp::launch(on, &turned, &mut found, VALUES[0])?;
    Scale::launch(on, &found, &mut y.reborrow().slice_axis(0, ..ALL)?, 3)?;
    // Writes elements that the next kernel reads.
    LookUp::launch(on, &turned, &mut found, VALUES[1])?;
    Scale::launch(on, &found, &mut y.reborrow().slice_axis(0, ALL..2 * ALL)?, 5)?;
    Scale::launch(on, number, &mut y.reborrow().slice_axis(0, 2 * ALL..)?, 7)?;
    AddTo::launch(on, &added.transpose(), &mut sums.reborrow().flip(&[1])?)
}

/// The values that a step should write to `y`.
fn due(x: &[u8], number: u32) -> Vec<u32> {
    let turned: Vec<u8> = x.chunks(LEN).flat_map(|line| line.iter().rev().copied()).collect();
    let found = |values: [u32; 8]| -> Vec<u32> {
        turned.iter().map(|byte| SQUARES[usize::from(*byte)] + values[usize::from(*byte) % 8]).collect()
    };
    [scaled(&found(VALUES[0]), 3), scaled(&found(VALUES[1]), 5), vec![7 * number]].concat()
}

/// The kinds of arguments.
type Kinds = (
    devarray::recorded::Reads<u8>,
    devarray::recorded::Reads<u16>,
    devarray::recorded::Writes<u16>,
    devarray::recorded::Writes<u32>,
    devarray::recorded::Number<u32>,
);

/// A recording of kernels gives the same results as the kernels, with the arrays and numbers of each launch,
/// at any offset.
pub fn recorded<D: Launch>(harness: &Harness<D>) -> Outcome {
    let Some((context, stream)) = launching(harness)? else { return Ok(()) };
    let from: Vec<u8> = elements(3, 4 * ALL);
    let x = Array::from_slice(&stream, &[4 * LINES, LEN], &from)?;
    let add: Vec<u16> = elements(4, 35);
    let added = Array::from_slice(&stream, &[7, 5], &add)?;
    let mut sums = Array::full(&stream, &[5, 7], 1_u16)?;
    let [mut y, mut z] = [Array::full(&stream, &[2 * ALL + 1], 9)?, Array::full(&stream, &[2 * ALL + 1], 9)?];
    let part = |at: usize| x.slice_axis(0, LINES * at..LINES * at + LINES);
    let recorded: Recording<D, Kinds> = stream.record_work(
        (&part(1)?, &added, &mut sums, &mut y, 0_u32),
        |on, (x, added, mut sums, mut y, number)| step(on, &x, &added, &mut sums, &mut y, &number),
    )?;
    same(&y.to_vec(&stream)?, &vec![9; 2 * ALL + 1], "a result while kernels are recorded")?;
    same(&sums.to_vec(&stream)?, &[1; 35], "sums while kernels are recorded")?;
    for (round, at) in (0_u16..).zip([1, 1, 0, 3, 2, 1]) {
        let number = u32::from(round) * 11;
        recorded.launch(&stream, (&part(at)?, &added, &mut sums, &mut y, number))?;
        let expected = due(&from[ALL * at..ALL * (at + 1)], number);
        same(&y.to_vec(&stream)?, &expected, &format!("launch {round} of kernels"))?;
        let mut sum = vec![0_u16; 35];
        for (index, sum) in sum.iter_mut().enumerate() {
            let (row, column) = (index / 7, 6 - index % 7);
            *sum = add[column * 5 + row].wrapping_mul(round + 1).wrapping_add(1);
        }
        same(&sums.to_vec(&stream)?, &sum, "sums of the launches so far")?;
        (y, z) = (z, y);
    }
    no_background_errors(&context)
}
