//! A scan of one long row has the same bits with any number of threads.

#![allow(clippy::cast_possible_truncation, reason = "elements are rounded to their type")]

use std::fmt::Debug;

use devarray::{
    Array, Context, Result,
    function::{Computable, Scan, ScanOperation},
};
use devarray_host::HostDevice;
use half::f16;

/// The number of elements that a thread scans at once.
const PART: usize = 1 << 16;
/// One part, or several with a few elements more or less. The totals of five parts and more are added by a
/// tree.
const LENGTHS: [usize; 7] =
    [PART - 1, PART, PART + 1, 2 * PART - 1, 2 * PART, 3 * PART + 1023, 5 * PART + 1025];

/// Bits of elements, in order.
type Bits = Vec<u64>;

/// A pseudorandom number from -511 to 512.
fn number(k: usize) -> i16 {
    let mixed = (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    i16::try_from(mixed >> 54).unwrap() - 511
}

/// Fractions to sum up, of another magnitude in each part, so that sums of totals are rounded.
fn fraction(x: i16, k: usize) -> f64 {
    const BY_PART: [f64; 5] = [1.0, 3.0, 9.0, 27.0, 81.0];
    f64::from(x) / 7.0 * BY_PART[k / PART % BY_PART.len()]
}

/// The scan of elements that are made from a number and its place.
fn scanned<T: Computable, R: Computable + Debug>(
    (threads, len): (usize, usize),
    scan: Scan,
    element: impl Fn(i16, usize) -> T,
    bits: fn(R) -> u64,
) -> Result<Bits> {
    let device = HostDevice::builder().capacity_bytes(64 << 20).threads(threads).build();
    let stream = Context::new(device)?.stream()?;
    let elements: Vec<T> = (0..len).map(|k| element(number(k), k)).collect();
    let row = Array::from_slice(&stream, &[len], &elements)?;
    let found: Array<R, _> = row.scan_as(&stream, scan)?;
    Ok(found.to_vec(&stream)?.into_iter().map(bits).collect())
}

/// Scans of a float type: a sum of fractions, a product that stays near 1, and extremes with one NaN.
macro_rules! of_floats {
    ($type:ty, $bits:expr, $of:expr, $at:expr) => {{
        let (at, of): (_, fn(f64) -> $type) = ($at, $of);
        let nan_at = at.1 / 4 * 3;
        let sum = |x: i16, k| of(fraction(x, k));
        let product = |x: i16, _| of(1.0 + f64::from(x) / 250_000.0);
        let extreme = |x: i16, k| of(if k == nan_at { f64::NAN } else { f64::from(x) });
        let (add, times) = (Scan::new(ScanOperation::Sum, 0), Scan::new(ScanOperation::Product, 0));
        let [least, most] = [ScanOperation::Minimum, ScanOperation::Maximum].map(|of| Scan::new(of, 0));
        vec![
            scanned::<$type, $type>(at, add, sum, $bits)?,
            scanned::<$type, $type>(at, add.exclusive(), sum, $bits)?,
            scanned::<$type, $type>(at, times, product, $bits)?,
            scanned::<$type, $type>(at, times.exclusive(), product, $bits)?,
            scanned::<$type, $type>(at, least, extreme, $bits)?,
            scanned::<$type, $type>(at, most, extreme, $bits)?,
        ]
    }};
}

fn of_i32(at: (usize, usize)) -> Result<Vec<Bits>> {
    let (add, times) = (Scan::new(ScanOperation::Sum, 0), Scan::new(ScanOperation::Product, 0));
    let [least, most] = [ScanOperation::Minimum, ScanOperation::Maximum].map(|of| Scan::new(of, 0));
    let (any, odd) = (|x: i16, _| i32::from(x), |x: i16, _| i32::from(x) | 1);
    // Each part has an element beyond all elements of the parts before it.
    let rising = |x: i16, k: usize| i32::from(x) * i32::try_from(1 + k / 1000).unwrap();
    Ok(vec![
        scanned(at, add, any, i64::cast_unsigned)?,
        scanned(at, add.exclusive(), any, i64::cast_unsigned)?,
        scanned(at, times, odd, i64::cast_unsigned)?,
        scanned(at, times.exclusive(), odd, i64::cast_unsigned)?,
        scanned(at, least, rising, |x: i32| x.cast_unsigned().into())?,
        scanned(at, most, rising, |x: i32| x.cast_unsigned().into())?,
    ])
}

fn all(threads: usize, len: usize) -> Result<Vec<Bits>> {
    let at = (threads, len);
    let mut all = of_i32(at)?;
    all.extend(of_floats!(f32, |x: f32| x.to_bits().into(), |x| x as f32, at));
    all.extend(of_floats!(f64, f64::to_bits, |x| x, at));
    all.extend(of_floats!(f16, |x: f16| x.to_bits().into(), f16::from_f64, at));
    Ok(all)
}

#[test]
fn a_scan_of_one_long_row_has_the_same_bits_with_any_number_of_threads() -> Result<()> {
    for len in LENGTHS {
        let one = all(1, len)?;
        for threads in [2, 3, 7] {
            for (number, (found, due)) in all(threads, len)?.iter().zip(&one).enumerate() {
                let other = found.iter().zip(due).position(|(found, due)| found != due);
                assert_eq!(other, None, "scan {number} of {len} elements by {threads} threads");
            }
        }
    }
    Ok(())
}

/// The twin: the totals of parts, added one after another and not by the tree of aligned blocks, give other
/// bits; so do parts that begin anew.
#[test]
fn totals_that_are_added_in_another_order_give_other_bits() -> Result<()> {
    const PARTS: usize = 9;
    let element = |x: i16, k: usize| fraction(x, k) as f32;
    let before = Scan::new(ScanOperation::Sum, 0).exclusive();
    let value = |x: f32| u64::from(x.to_bits());
    let due = scanned((3, PARTS * PART), before, element, value)?;
    // The total of the parts before a part precedes it.
    let total = |part: usize| -> Result<f32> {
        let of_part = |_, k| element(number(part * PART + k), part * PART + k);
        let sums = scanned((1, PART + 1), before, of_part, value)?;
        Ok(f32::from_bits(u32::try_from(sums[PART]).unwrap()))
    };
    let totals = (0..PARTS - 1).map(total).collect::<Result<Vec<f32>>>()?;
    let mut so_far = 0.0;
    let mut in_a_row = totals.iter().zip(1..).map(|(total, part)| {
        so_far += total;
        (value(so_far), due[part * PART])
    });
    // One, two and three parts are added in the same order either way.
    assert!(in_a_row.by_ref().take(3).all(|(found, due)| found == due));
    assert!(in_a_row.any(|(found, due)| found != due));
    assert!((1..PARTS).all(|part| due[part * PART] != value(0.0)));
    Ok(())
}
