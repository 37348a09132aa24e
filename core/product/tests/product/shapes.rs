//! Shapes by NumPy's rules, and slices.

use devarray_function::{Alone, ElementType};
use devarray_product::{matmul, product_shape};

use crate::array::{Array, product_into};

#[test]
fn shapes_are_numpys() {
    type Shapes = (&'static [usize], &'static [usize], Option<&'static [usize]>);
    let cases: [Shapes; 14] = [
        (&[2, 3], &[3, 4], Some(&[2, 4])),
        (&[3], &[3, 4], Some(&[4])),
        (&[2, 3], &[3], Some(&[2])),
        (&[3], &[3], Some(&[])),
        (&[5, 2, 3], &[3], Some(&[5, 2])),
        (&[3], &[5, 3, 4], Some(&[5, 4])),
        (&[7, 1, 2, 3], &[5, 3, 4], Some(&[7, 5, 2, 4])),
        (&[0, 2, 3], &[1, 3, 4], Some(&[0, 2, 4])),
        (&[2, 0], &[0, 4], Some(&[2, 4])),
        (&[], &[3], None),
        (&[3], &[], None),
        (&[2, 3], &[2, 3], None),
        (&[2, 2, 3], &[3, 3, 4], None),
        (&[0, 3], &[4, 2], None),
    ];
    for (a, b, expected) in cases {
        let found = product_shape(a, b);
        assert_eq!(found.as_ref().ok().map(|shape| &shape[..]), expected, "{a:?} @ {b:?}: {found:?}");
    }
    let message = product_shape(&[2, 3], &[4, 5]).expect_err("refused").to_string();
    assert_eq!(message, "[2, 3] @ [4, 5]: the sum is over 3 elements on the left, and 4 on the right");
}

#[test]
fn slices_are_matrices() {
    let mut y = [7; 6];
    matmul(&[1_i8, 2, 3, 100], &[1, 0, 2, 2, 1, 3], [2, 2, 3], &mut y);
    assert_eq!(y, [5, 2, 8, -53, 100, 50]);
    matmul::<f64>(&[], &[], [3, 0, 2], &mut [0.0; 6]);
    matmul::<f64>(&[], &[], [0, 5, 0], &mut []);
}

#[test]
#[should_panic(expected = "as many elements as a matrix of 2 x 2 has")]
fn a_slice_that_is_too_short_is_refused() {
    matmul(&[1_u8; 3], &[1; 4], [2, 2, 2], &mut [0; 4]);
}

#[test]
#[should_panic(expected = "bool has no products")]
fn truth_values_are_not_multiplied() {
    let one = Array::new(ElementType::Bool, &[1], &[1]);
    product_into(&one, &one, &mut Array::untouched(ElementType::Bool, &[]), false, &Alone);
}

#[test]
#[should_panic(expected = "the result has the shape of the product")]
fn a_result_of_another_shape_is_refused() {
    let one = Array::new(ElementType::I8, &[1], &[1]);
    product_into(&one, &one, &mut Array::untouched(ElementType::I8, &[1]), false, &Alone);
}
