//! Gathers and scatters give the same elements with any number of threads.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "small numbers"
)]

use devarray::{
    Array, Context, Error, Result, StreamHandle,
    gather::{IndexError, OutOfRange, Repeats},
};
use devarray_host::HostDevice;

const ROWS: usize = 5000;
const COLUMNS: usize = 24;

/// The results of gathers and scatters, and their errors.
type Outcome = (Vec<Vec<u32>>, Vec<IndexError>);

fn error(stream: &StreamHandle<HostDevice>) -> IndexError {
    match stream.synchronize() {
        Err(Error::Index { error, .. }) => error,
        other => panic!("an index is out of range: {other:?}"),
    }
}

/// Numbers below a bound, many more than once.
fn numbers(count: usize, bound: usize) -> Vec<i64> {
    (0..count).map(|k| (k * 7919 % 104_729 * 31 % bound) as i64).collect()
}

fn outcome(threads: usize, wrong: &[usize]) -> Result<Outcome> {
    let device = HostDevice::builder().capacity_bytes(256 << 20).threads(threads).build();
    let stream = Context::new(device)?.stream()?;
    let values: Vec<u32> = (0..(ROWS * COLUMNS) as u32).collect();
    let array = Array::from_slice(&stream, &[ROWS, COLUMNS], &values)?;
    let flat = Array::from_slice(&stream, &[ROWS * COLUMNS], &values)?;
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for is_wrong in [false, true] {
        let indices = |count: usize, bound: usize| {
            let mut indices = numbers(count, bound);
            for &at in wrong.iter().filter(|_| is_wrong) {
                indices[at % count] = 1_000_000 + at as i64;
            }
            Array::from_slice(&stream, &[count], &indices)
        };
        let mut note = |array: Array<u32, HostDevice>| -> Result<()> {
            if is_wrong {
                errors.push(error(&stream));
            }
            found.push(array.to_vec(&stream)?);
            Ok(())
        };
        // Rows, elements, and columns.
        note(array.take(&stream, &indices(2 * ROWS, ROWS)?, 0, OutOfRange::Error)?)?;
        note(flat.take(&stream, &indices(100_000, ROWS * COLUMNS)?, 0, OutOfRange::Error)?)?;
        note(array.take(&stream, &indices(COLUMNS, COLUMNS)?, 1, OutOfRange::Error)?)?;
        // The last of several values stays, for rows, elements and columns.
        for (count, bound, axis) in [(2 * ROWS, ROWS, 0), (100, COLUMNS, 1)] {
            let mut target = Array::<u32, _>::zeros(&stream, &[ROWS, COLUMNS])?;
            let shape = if axis == 0 { [count, COLUMNS] } else { [ROWS, count] };
            let puts: Vec<u32> = (0..(shape[0] * shape[1]) as u32).collect();
            let puts = Array::from_slice(&stream, &shape, &puts)?;
            let modes = (OutOfRange::Error, Repeats::Last);
            target.view_mut().put(&stream, &indices(count, bound)?, &puts, axis, modes.0, modes.1)?;
            note(target)?;
        }
        let mut target = Array::<u32, _>::zeros(&stream, &[50_000])?;
        let puts = Array::from_slice(&stream, &[100_000], &values[..100_000])?;
        let places = indices(100_000, 50_000)?;
        target.view_mut().put(&stream, &places, &puts, 0, OutOfRange::Error, Repeats::Last)?;
        note(target)?;
    }
    Ok((found, errors))
}

#[test]
fn elements_by_index_have_the_same_bits_and_error_with_any_number_of_threads() -> Result<()> {
    let wrong = [99_999, 61_003, 7_777, 23];
    let one = outcome(1, &wrong)?;
    assert_eq!(one.1.len(), 6);
    for threads in [2, 3, 7] {
        let several = outcome(threads, &wrong)?;
        assert_eq!(several.1, one.1, "errors of {threads} threads");
        assert!(several.0 == one.0, "bits of {threads} threads");
    }
    // The twin: without the wrong index that comes first, another one is reported.
    assert_ne!(outcome(3, &wrong[..3])?.1, one.1);
    Ok(())
}

/// By definition, the value whose index comes last stays.
#[test]
fn the_last_of_several_values_stays_whichever_thread_puts_it() -> Result<()> {
    const LEN: usize = 200_000;
    let places = numbers(LEN, 1000);
    let last = |order: &mut dyn Iterator<Item = usize>| {
        let mut expected = vec![0; 1000];
        order.for_each(|k| expected[places[k] as usize] = k as u32);
        expected
    };
    let device = HostDevice::builder().capacity_bytes(64 << 20).threads(4).build();
    let stream = Context::new(device)?.stream()?;
    let mut target = Array::<u32, _>::zeros(&stream, &[1000])?;
    let puts = Array::from_slice(&stream, &[LEN], &(0..LEN as u32).collect::<Vec<_>>())?;
    let indices = Array::from_slice(&stream, &[LEN], &places)?;
    target.view_mut().put(&stream, &indices, &puts, 0, OutOfRange::Error, Repeats::Last)?;
    let found = target.to_vec(&stream)?;
    assert!(found == last(&mut (0..LEN)));
    // The twin: with the halves done in the other order, other values stay.
    assert!(found != last(&mut (LEN / 2..LEN).chain(0..LEN / 2)));
    Ok(())
}
