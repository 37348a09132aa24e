//! Sums and products of floats: each has exactly one value.

use devarray::{
    Array, ErasedView, StreamHandle,
    backend::Compute,
    function::{DeviceFunction, ElementType, ReduceOperation, Reduction, Scan, ScanOperation},
};

use super::naive;
use crate::{
    Harness, Outcome, Violation,
    checks::functions::half_bits,
    computing::{Line, bits_of, canonical, function, reducing},
    patterns::elements,
    violation::{ensure, same},
};

/// Numbers of many magnitudes, so that another order of additions gives another sum.
fn uneven(salt: u64, len: usize) -> Vec<f32> {
    let bits: Vec<u32> = elements(salt, len);
    bits.iter().map(|bits| f32::from_bits(bits & 0x8fff_ffff | 0x3800_0000)).collect()
}

/// The reduction of a view.
pub(super) fn reduced<D: Compute>(
    stream: &StreamHandle<D>,
    of: ElementType,
    view: &ErasedView<'_, D>,
    reduction: &Reduction,
) -> Result<Vec<u64>, Violation> {
    let (function, inputs) = (function("x0", &[of], &[])?, std::slice::from_ref(view));
    let result = function.reduce(stream, inputs, &[], reduction)?;
    let bytes = result.view().to_bytes(stream)?;
    if result.len() == 1 {
        let mut item = vec![0; result.item_bytes()];
        function.reduce_item(stream, inputs, &[], reduction, &mut item)?;
        same(&item, &bytes, &format!("{reduction:?}, brought to the host at once"))?;
    }
    Ok(bits_of(&bytes, result.item_bytes()))
}

fn sum(values: &[f32]) -> u64 {
    u64::from((0.0 + naive::total(values, |a, b| a + b).unwrap_or(0.0)).to_bits())
}

/// A sum or a product has the value given by the order that the number of elements decides.
pub fn sums<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = reducing(harness)? else { return Ok(()) };
    for len in [1, 2, 3, 31, 1023, 1024, 1025, 2500, 16_384, 16_385, 40_000] {
        let values = uneven(7, len);
        ensure(len < 2000 || u64::from(values.iter().sum::<f32>().to_bits()) != sum(&values), || {
            "the numbers of this law tell no difference".into()
        })?;
        let array = Line::of(&values).array(&stream, &[len])?;
        let found = reduced(&stream, ElementType::F32, &array.view(), &Reduction::new(ReduceOperation::Sum))?;
        same(&found, &[sum(&values)], &format!("the sum of {len} f32"))?;
        let values: Vec<f64> = values.iter().map(|&x| f64::from(x) * 1.000_000_1 + 1e-9).collect();
        let array = Line::of(&values).array(&stream, &[len])?;
        let found = reduced(&stream, ElementType::F64, &array.view(), &Reduction::new(ReduceOperation::Sum))?;
        let due = 0.0 + naive::total(&values, |a, b| a + b).unwrap_or(0.0);
        same(&found, &[due.to_bits()], &format!("the sum of {len} f64"))?;
        let factors: Vec<f64> = values.iter().map(|x| 1.0 + x / 1e6).collect();
        let array = Line::of(&factors).array(&stream, &[len])?;
        let product = Reduction::new(ReduceOperation::Product);
        let due = naive::total(&factors, |a, b| a * b).unwrap_or(1.0);
        let found = reduced(&stream, ElementType::F64, &array.view(), &product)?;
        same(&found, &[due.to_bits()], &format!("the product of {len} f64"))?;
    }
    let zeros = Line::of(&[-0.0_f32; 3]).array(&stream, &[3])?;
    let found = reduced(&stream, ElementType::F32, &zeros.view(), &Reduction::new(ReduceOperation::Sum))?;
    same(&found, &[0], "a sum of -0, which begins with +0")
}

/// Equal elements have the same sum in C and F order, strided, reversed and broadcast, alone and
/// among many.
pub fn layouts<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = reducing(harness)? else { return Ok(()) };
    let (rows, len) = (3, 1500);
    let values = uneven(3, rows * len);
    let due: Vec<u64> = values.chunks(len).map(sum).collect();
    let along = Reduction::new(ReduceOperation::Sum).axes(&[-1]);
    let check = |view: &ErasedView<'_, D>, what: &str| -> Outcome {
        same(&reduced(&stream, ElementType::F32, view, &along)?, &due, what)
    };
    let c = Array::from_slice(&stream, &[rows, len], &values)?;
    check(c.view().as_erased(), "sums of rows in C order")?;
    let turned: Vec<f32> = (0..rows * len).map(|at| values[at % rows * len + at / rows]).collect();
    let f = Array::from_slice(&stream, &[len, rows], &turned)?;
    check(f.transpose().as_erased(), "sums of rows in F order")?;
    let backwards: Vec<f32> = values.iter().rev().copied().collect();
    let reversed = Array::from_slice(&stream, &[rows, len], &backwards)?;
    check(reversed.flip(&[0, 1])?.as_erased(), "sums of reversed rows")?;
    let spread: Vec<f32> = values.iter().flat_map(|&x| [x, 1e30]).collect();
    let strided = Array::from_slice(&stream, &[rows, len, 2], &spread)?;
    check(strided.slice_axis(2, ..1)?.squeeze_axes(&[2])?.as_erased(), "sums of rows with gaps")?;
    // C order over both reduced axes, whichever is faster in memory.
    let whole = Reduction::new(ReduceOperation::Sum);
    for (view, what) in [(c.view(), "C"), (f.transpose(), "F")] {
        let found = reduced(&stream, ElementType::F32, view.as_erased(), &whole)?;
        same(&found, &[sum(&values)], &format!("a sum over both axes in {what} order"))?;
    }
    let first = c.slice_axis(0, ..1)?;
    same(
        &reduced(&stream, ElementType::F32, first.as_erased(), &along)?,
        &due[..1],
        "the sum of one row alone",
    )?;
    let repeated = first.broadcast_to(&[4, len])?;
    same(
        &reduced(&stream, ElementType::F32, repeated.as_erased(), &along)?,
        &[due[0]; 4],
        "sums of a row repeated",
    )?;
    let ones = Array::from_slice(&stream, &[], &values[..1])?;
    let found = reduced(&stream, ElementType::F32, ones.broadcast_to(&[len])?.as_erased(), &whole)?;
    same(&found, &[sum(&vec![values[0]; len])], "the sum of an element repeated")
}

/// `f16` and `bf16` are added as `f32`, and rounded once.
pub fn halves<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = reducing(harness)? else { return Ok(()) };
    for of in [ElementType::F16, ElementType::BF16] {
        // Whole numbers, which both types can represent.
        let values: Vec<f32> = (0..3000_u16).map(|at| f32::from(at * 7 % 19) - 8.0).collect();
        let bits: Vec<u64> = values.iter().map(|&x| half_bits(of, f64::from(x))).collect();
        let array = Line::new(of, &bits).array(&stream, &[values.len()])?;
        let rounded = |value: f32| half_bits(of, f64::from(value));
        let sum = naive::total(&values, |a, b| a + b).unwrap_or(0.0);
        let found = reduced(&stream, of, &array.view(), &Reduction::new(ReduceOperation::Sum))?;
        same(&found, &[rounded(sum)], &format!("a sum of {of}"))?;
        let found = reduced(&stream, of, &array.view(), &Reduction::new(ReduceOperation::Mean))?;
        same(&found, &[rounded(sum / 3000.0)], &format!("a mean of {of}"))?;
        let scan = Scan::new(ScanOperation::Sum, 0);
        let running = function("x0", &[of], &[])?.scan(&stream, &[array.view()], &[], scan)?;
        let due: Vec<u64> =
            naive::running(&values, 0.0, false, |a, b| a + b).into_iter().map(rounded).collect();
        same(&bits_of(&running.view().to_bytes(&stream)?, 2), &due, &format!("running sums of {of}"))?;
    }
    Ok(())
}

/// A mean is the sum divided by the number; a variance is the sum of squared deviations from the
/// mean, divided by the number minus `ddof`.
pub fn mean<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = reducing(harness)? else { return Ok(()) };
    for len in [1_u16, 2, 1000, 2077] {
        let values: Vec<f64> = uneven(5, len.into()).into_iter().map(f64::from).collect();
        let total = |values: &[f64]| 0.0 + naive::total(values, |a, b| a + b).unwrap_or(0.0);
        let mean = total(&values) / f64::from(len);
        let squares: Vec<f64> = values.iter().map(|x| (x - mean) * (x - mean)).collect();
        let array = Line::of(&values).array(&stream, &[len.into()])?;
        let cases = [
            (Reduction::new(ReduceOperation::Mean), mean),
            (Reduction::new(ReduceOperation::Variance), total(&squares) / f64::from(len)),
            (Reduction::new(ReduceOperation::Variance).ddof(1), total(&squares) / f64::from(len - 1)),
            (Reduction::new(ReduceOperation::StandardDeviation), (total(&squares) / f64::from(len)).sqrt()),
        ];
        for (reduction, due) in cases {
            let found = reduced(&stream, ElementType::F64, &array.view(), &reduction)?;
            let due = canonical(ElementType::F64, due.to_bits());
            same(&found, &[due], &format!("{reduction:?} of {len}"))?;
        }
    }
    Ok(())
}

/// Running sums, products, minima and maxima, inclusive and exclusive, along any axis.
pub fn running<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = reducing(harness)? else { return Ok(()) };
    type Case = (ScanOperation, bool, f32, naive::Combined<f32>);
    let cases: [Case; 6] = [
        (ScanOperation::Sum, false, 0.0, |a, b| a + b),
        (ScanOperation::Sum, true, 0.0, |a, b| a + b),
        (ScanOperation::Product, false, 1.0, |a, b| a * b),
        (ScanOperation::Product, true, 1.0, |a, b| a * b),
        (ScanOperation::Minimum, false, f32::INFINITY, f32::min),
        (ScanOperation::Maximum, false, f32::NEG_INFINITY, f32::max),
    ];
    for (rows, len) in [(1, 1), (3, 100), (2, 1027)] {
        let values = uneven(11, rows * len);
        let turned: Vec<f32> = (0..rows * len).map(|at| values[at % rows * len + at / rows]).collect();
        let array = Array::from_slice(&stream, &[rows, len], &values)?;
        let across = Array::from_slice(&stream, &[len, rows], &turned)?;
        for (operation, exclusive, identity, combine) in cases {
            let rows = values.chunks(len).map(|row| naive::running(row, identity, exclusive, combine));
            let due: Vec<u64> = rows.flatten().map(|x| u64::from(x.to_bits())).collect();
            let form = |axis| {
                let scan = Scan::new(operation, axis);
                if exclusive { scan.exclusive() } else { scan }
            };
            let function = function("x0", &[ElementType::F32], &[])?;
            for (view, what) in [(array.view(), "C"), (across.transpose(), "F")] {
                let found = function.scan(&stream, &[view.as_erased().clone()], &[], form(-1))?;
                let found = bits_of(&found.view().to_bytes(&stream)?, 4);
                same(
                    &found,
                    &due,
                    &format!("{operation:?}, exclusive {exclusive}, of {len} in {what} order"),
                )?;
            }
            let found = function.scan(&stream, &[across.view().as_erased().clone()], &[], form(0))?;
            let found = bits_of(&found.view().permute(&[1, 0])?.to_bytes(&stream)?, 4);
            same(
                &found,
                &due,
                &format!("{operation:?}, exclusive {exclusive}, along the first axis of {len}"),
            )?;
        }
    }
    Ok(())
}
