//! Compares products of sparse rows with their definition, element by element, and checks which
//! index is reported.

use devarray_function::ElementType::{self, Bool, F16, F32, F64, I8, I32, I64, U8, U32, U64};
use devarray_order::{Alone, Call, IndexFault, OrderErrorKind, Workers, WrongIndex};

use crate::{
    array::{Array, call},
    numbers::{Number, bytes_of, real, sum, whole},
    oracle::{Plain, sum_type},
    workers::Threads,
};

/// A product rounded to the type of sums.
fn times(of: ElementType, a: f64, b: f64) -> f64 {
    if of == F64 { a * b } else { f64::from(a as f32 * b as f32) }
}

pub(crate) fn csr_dot(inputs: &[Plain]) -> (Plain, Option<(usize, i64)>) {
    let [values, columns, offsets, x] = inputs else { unreachable!("four inputs") };
    let wholes = |of: &Plain| of.numbers().into_iter().map(whole).collect::<Vec<i128>>();
    let (column_numbers, ends) = (wholes(columns), wholes(offsets));
    let (n, extent) = (values.elements.len() as i128, x.shape[0] as i128);
    let inner: usize = x.shape[1..].iter().product();
    let (values, of) = (values.numbers(), sum_type(x.of));
    let factors = x.numbers();
    let is_outside = |column: i128| column < -extent || column >= extent;
    let mut shape = x.shape.clone();
    shape[0] = ends.len() - 1;
    let mut result = Plain { of, shape, elements: Vec::new() };
    for row in ends.windows(2) {
        let is_right = 0 <= row[0] && row[0] <= row[1] && row[1] <= n;
        let all = if is_right { row[0] as usize..row[1] as usize } else { 0..0 };
        for c in 0..inner {
            let pair = |k: usize| {
                let column = column_numbers[k];
                let zero = if x.of.is_float() { Number::Real(0.0) } else { Number::Whole(0) };
                let place = column.rem_euclid(extent.max(1)) as usize;
                (values[k], if is_outside(column) { zero } else { factors[place * inner + c] })
            };
            let value = if x.of.is_float() {
                Number::Real(sum(
                    x.of,
                    all.clone().map(pair).map(|(a, b)| times(x.of, real(a), real(b))).collect(),
                ))
            } else {
                let products = all.clone().map(pair).map(|(a, b)| whole(a).wrapping_mul(whole(b)));
                Number::Whole(products.fold(0_i128, i128::wrapping_add))
            };
            result.elements.push(bytes_of(of, value));
        }
    }
    let falls = |at: usize| ends[at] < 0 || ends[at] > n || (at > 0 && ends[at] < ends[at - 1]);
    let wrong_offset =
        (0..ends.len()).find(|&at| ends.len() > 1 && falls(at)).map(|at| (at, ends[at] as i64));
    let wrong_column = column_numbers.iter().position(|&column| is_outside(column));
    let wrong = wrong_offset.or(wrong_column.map(|at| (at, column_numbers[at] as i64)));
    (result, wrong.filter(|_| inner > 0))
}

fn array<T: bytemuck::NoUninit>(element_type: ElementType, shape: &[usize], elements: &[T]) -> Array {
    Array::new(element_type, shape, bytemuck::cast_slice(elements))
}

fn made(inputs: &[Array], workers: &dyn Workers) -> (Vec<u8>, Option<WrongIndex>) {
    let called = call(&Call::CsrDot, inputs, None, workers).expect("a call that fits");
    (called.outputs[0].elements(), called.outcome.wrong_index)
}

#[test]
fn rows_are_empty_columns_repeat_and_count_from_the_end() {
    let values = array(F32, &[6], &[2.0_f32, 1.0, 3.0, 0.5, 0.25, 9.0]);
    let columns = array(I32, &[6], &[0, -1, 1, 1, 1, 0]);
    // The last value is in no row.
    let offsets = array(U32, &[5], &[0_u32, 2, 2, 2, 5]);
    let x = array(F32, &[3], &[1.0_f32, 10.0, 100.0]);
    let due = [102.0_f32, 0.0, 0.0, 37.5];
    let inputs = [values, columns, offsets, x];
    assert_eq!(made(&inputs, &Alone), (bytemuck::cast_slice(&due).to_vec(), None));
    let wide = array(F32, &[3, 2], &[1.0_f32, -1.0, 10.0, 4.0, 100.0, 0.0]);
    let due = [102.0_f32, -2.0, 0.0, 0.0, 0.0, 0.0, 37.5, 15.0];
    let inputs = [&inputs[..3], &[wide]].concat();
    assert_eq!(made(&inputs, &Alone), (bytemuck::cast_slice(&due).to_vec(), None));
}

#[test]
fn products_are_rounded_before_they_are_added() {
    // The square of this has a term that f32 drops. Rounding product and sum once would keep it.
    let near = 1.0_f32 + f32::EPSILON;
    let values = array(F32, &[2], &[near, -1.0]);
    let inputs = [
        values,
        array(I64, &[2], &[0_i64, 1]),
        array(I32, &[2], &[0, 2]),
        array(F32, &[2], &[near, near * near]),
    ];
    assert_eq!(made(&inputs, &Alone).0, [0; 4]);
    // Halves are multiplied and added in f32.
    let halves = [300.0, 300.0].map(half::f16::from_f32);
    let signs = [300.0, -299.0].map(half::f16::from_f32);
    let inputs = [
        array(F16, &[2], &halves.map(half::f16::to_bits)),
        array(I32, &[2], &[0, 1]),
        array(I32, &[2], &[0, 2]),
        array(F16, &[2], &signs.map(half::f16::to_bits)),
    ];
    assert_eq!(made(&inputs, &Alone).0, half::f16::from_f32(300.0).to_le_bytes());
    let bytes = array(U8, &[2], &[200_u8, 200]);
    let inputs = [bytes.clone(), array(I32, &[2], &[0, 1]), array(I32, &[2], &[0, 2]), bytes];
    assert_eq!(made(&inputs, &Alone).0, 80_000_u64.to_le_bytes());
}

#[test]
fn long_rows_are_summed_as_sums_of_as_many() {
    let n = 140_000;
    let values: Vec<f32> = (0..n).map(|k| (k % 4093) as f32 / 3.0 - 500.0).collect();
    let columns: Vec<i32> = (0..n as i32).map(|k| (k * 7) % 900 - 450).collect();
    let x: Vec<f32> = (0..450).map(|at| 1.0 / (at + 1) as f32).collect();
    for ends in [vec![0, n as i32], vec![0, 5, 1029, 2053, 70_000, 70_000, n as i32]] {
        let inputs = [
            array(F32, &[n], &values),
            array(I32, &[n], &columns),
            array(I32, &[ends.len()], &ends),
            array(F32, &[450], &x),
        ];
        let due: Vec<u8> = ends
            .windows(2)
            .flat_map(|row| {
                let products = (row[0] as usize..row[1] as usize)
                    .map(|k| times(F32, values[k].into(), x[columns[k].rem_euclid(450) as usize].into()));
                (sum(F32, products.collect()) as f32).to_le_bytes()
            })
            .collect();
        for workers in [&Alone as &dyn Workers, &Threads(3)] {
            assert_eq!(made(&inputs, workers), (due.clone(), None));
        }
    }
}

#[test]
fn an_offset_is_named_before_a_column_and_all_else_is_done() {
    let report = |fault, position, index, extent| Some(WrongIndex { fault, position, index, extent });
    let inputs = |columns: &[i64; 4], offsets: &[i32]| {
        [
            array(I8, &[4], &[1_i8, 2, 3, 4]),
            array(I64, &[4], columns),
            array(I32, &[offsets.len()], offsets),
            array(I8, &[3], &[1_i8, 10, 100]),
        ]
    };
    let i64s = |of: &[i64]| bytemuck::cast_slice::<i64, u8>(of).to_vec();
    let found = made(&inputs(&[0, 3, -3, -4], &[0, 2, 4]), &Alone);
    assert_eq!(found, (i64s(&[1, 3]), report(IndexFault::Outside, 1, 3, 3)));
    let found = made(&inputs(&[0, 3, -3, -4], &[0, 3, 2, 4]), &Alone);
    assert_eq!(found, (i64s(&[4, 0, 3]), report(IndexFault::Offset, 2, 2, 4)));
    let found = made(&inputs(&[0, 1, 2, 1], &[-1, 2, 5]), &Alone);
    assert_eq!(found, (i64s(&[0, 0]), report(IndexFault::Offset, 0, -1, 4)));
    // Columns of values in no row count as well, even if there is no row.
    let found = made(&inputs(&[0, 1, 2, 9], &[0, 3]), &Alone);
    assert_eq!(found, (i64s(&[321]), report(IndexFault::Outside, 3, 9, 3)));
    assert_eq!(made(&inputs(&[0, 1, 2, 9], &[7]), &Alone).1, report(IndexFault::Outside, 3, 9, 3));
    assert_eq!(made(&inputs(&[0, 1, 2, -3], &[7]), &Alone).1, None);
    let wrong = WrongIndex { fault: IndexFault::Offset, position: 2, index: 2, extent: 4 };
    assert_eq!(wrong.to_string(), "the offset 2, number 2, falls, or has no place among 4");
}

#[test]
fn what_does_not_fit_is_refused() {
    use OrderErrorKind::{Shape, Type};
    let refused = |types: [ElementType; 4], shapes: [&[usize]; 4]| {
        let inputs: Vec<_> = types.into_iter().zip(shapes).collect();
        Call::CsrDot.outputs(&inputs).err().map(|error| error.kind())
    };
    let fits: [&[usize]; 4] = [&[5], &[5], &[3], &[7, 2]];
    assert_eq!(refused([F32, I32, U32, F32], fits), None);
    for types in [[F32, I32, U32, F64], [Bool, I32, I32, Bool], [F32, U64, I32, F32], [F32, I32, F32, F32]] {
        assert_eq!(refused(types, fits), Some(Type), "{types:?}");
    }
    for (at, shape) in [(0, &[5, 1][..]), (1, &[4]), (1, &[5, 1]), (2, &[0]), (2, &[3, 1]), (3, &[])] {
        let mut shapes = fits;
        shapes[at] = shape;
        assert_eq!(refused([F32, I32, U32, F32], shapes), Some(Shape), "{shapes:?}");
    }
    let looks = |shapes: [&[usize]; 4]| Call::CsrDot.looks_at_indices(&shapes);
    assert!(looks(fits) && looks([&[0], &[0], &[3], &[7]]) && looks([&[5], &[5], &[1], &[7]]));
    assert!(!looks([&[0], &[0], &[1], &[7]]) && !looks([&[5], &[5], &[3], &[7, 0]]));
}
