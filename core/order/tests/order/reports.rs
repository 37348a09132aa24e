//! Calls that are refused, and the reported index if several have no place.

use devarray_function::ElementType::{self, Bool, F16, F32, I8, I32, I64, U8, U32, U64};
use devarray_order::{Alone, Call, Combining, IndexFault, OrderErrorKind, WrongIndex};

use crate::array::{Array, call};

fn refused(call: &Call, inputs: &[(ElementType, &[usize])]) -> Option<OrderErrorKind> {
    call.outputs(inputs).and_then(|_| call.check_elements(inputs)).err().map(|error| error.kind())
}

fn wrong(this: &Call, inputs: &[Array]) -> (Vec<Vec<u8>>, Option<WrongIndex>) {
    let called = call(this, inputs, None, &Alone).expect("a call that fits");
    (called.outputs.iter().map(Array::elements).collect(), called.outcome.wrong_index)
}

fn array<T: bytemuck::NoUninit>(element_type: ElementType, elements: &[T]) -> Array {
    Array::new(element_type, &[elements.len()], bytemuck::cast_slice(elements))
}

fn bytes<T: bytemuck::NoUninit>(elements: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(elements).to_vec()
}

#[test]
fn types_are_refused_before_shapes_and_shapes_before_what_is_empty() {
    use OrderErrorKind::{Empty, Shape, Type};
    let put = Call::Put { operation: Combining::Sum, axis: 9 };
    assert_eq!(refused(&put, &[(Bool, &[2]), (I64, &[1]), (Bool, &[1])]), Some(Type));
    assert_eq!(refused(&put, &[(F32, &[2]), (U64, &[1]), (F32, &[1])]), Some(Type));
    assert_eq!(refused(&put, &[(F32, &[2]), (U32, &[1]), (F32, &[1])]), Some(Shape));
    assert_eq!(refused(&put, &[(F32, &[2])]), Some(Type));
    let put = Call::Put { operation: Combining::Sum, axis: -1 };
    assert_eq!(refused(&put, &[(F32, &[2]), (U32, &[3]), (F32, &[3])]), None);
    assert_eq!(refused(&put, &[(F32, &[2]), (U32, &[3]), (F32, &[2])]), Some(Shape));
    assert_eq!(refused(&put, &[(F32, &[2]), (U32, &[3]), (F32, &[1, 3])]), Some(Shape));
    assert_eq!(refused(&put, &[(F32, &[]), (U32, &[3]), (F32, &[3])]), Some(Shape));
    let quantile = |q| Call::Quantile { q, axis: 1 };
    assert_eq!(refused(&quantile(2.0), &[(I32, &[2, 0])]), Some(Type));
    assert_eq!(refused(&quantile(2.0), &[(F16, &[2, 0])]), Some(Shape));
    assert_eq!(refused(&quantile(f64::NAN), &[(F16, &[2, 3])]), Some(Shape));
    assert_eq!(refused(&quantile(1.0), &[(F16, &[2, 0])]), Some(Empty));
    assert_eq!(refused(&quantile(1.0), &[(F16, &[0, 0])]), None);
    for axis in [2, -3, isize::MIN, isize::MAX] {
        assert_eq!(refused(&Call::Sort { axis, descending: false }, &[(I8, &[2, 3])]), Some(Shape));
    }
    assert_eq!(refused(&Call::TopK { k: 4, axis: 1, largest: true }, &[(I8, &[0, 3])]), Some(Shape));
    assert_eq!(refused(&Call::Histogram, &[(Bool, &[2]), (Bool, &[2])]), Some(Type));
    assert_eq!(refused(&Call::Histogram, &[(F32, &[2]), (F32, &[1])]), Some(Shape));
    assert_eq!(refused(&Call::BinCount { n: 1 }, &[(Bool, &[2])]), Some(Type));
    assert_eq!(refused(&Call::BinCount { n: 1 }, &[(U8, &[2]), (F32, &[2, 1])]), Some(Shape));
    let segments = Call::Segments { operation: Combining::Sum };
    assert_eq!(refused(&segments, &[(U8, &[]), (I64, &[2])]), Some(Shape));
    assert_eq!(refused(&segments, &[(U8, &[2]), (I64, &[0])]), Some(Shape));
    assert_eq!(refused(&Call::SearchSorted { right: true }, &[(U8, &[2, 2]), (U8, &[])]), Some(Shape));
}

#[test]
fn the_first_index_without_a_place_is_named_and_all_else_is_done() {
    let put = Call::Put { operation: Combining::Sum, axis: 0 };
    let inputs =
        [array(I32, &[1, 2, 3]), array(I64, &[-3_i64, 3, -4, 2, -1]), array(I32, &[10, 20, 30, 40, 50])];
    let (found, report) = wrong(&put, &inputs);
    assert_eq!(found, [bytes(&[11, 2, 93])]);
    let outside =
        |position, index, extent| Some(WrongIndex { fault: IndexFault::Outside, position, index, extent });
    assert_eq!(report, outside(1, 3, 3));
    // The sign counts: an index has no place here, even if its bits would be a small number.
    let inputs = [array(I32, &[1]), array(U32, &[0, u32::MAX]), array(I32, &[1, 1])];
    assert_eq!(wrong(&put, &inputs).1, outside(1, u32::MAX.into(), 1));

    let bincount = Call::BinCount { n: 2 };
    let x = array(U64, &[1, u64::MAX, 1, 2]);
    assert_eq!(
        wrong(&bincount, std::slice::from_ref(&x)),
        (vec![bytes(&[0_i64, 2])], outside(1, i64::MAX, 2))
    );
    let weights = array(F32, &[0.5_f32, 1.0, 2.0, 4.0]);
    assert_eq!(wrong(&bincount, &[x, weights]), (vec![bytes(&[0.0_f32, 2.5])], outside(1, i64::MAX, 2)));

    let minima = Call::Segments { operation: Combining::Minimum };
    let x = array(I8, &[5_i8, 4, 3]);
    let empty = [x.clone(), array(I32, &[0, 2, 2, 3])];
    let report = WrongIndex { fault: IndexFault::EmptyGroup, position: 2, index: 2, extent: 3 };
    assert_eq!(wrong(&minima, &empty), (vec![vec![4, 0, 3]], Some(report)));
    // A falling offset is reported before an empty group.
    let falls = [x, array(I32, &[1, 1, 3, 2, 4])];
    assert_eq!(wrong(&minima, &falls), (vec![vec![0, 3, 0, 0]], outside(3, 2, 3)));
}

#[test]
fn no_index_is_looked_at_where_nothing_is_put() {
    let put = Call::Put { operation: Combining::Maximum, axis: 0 };
    let none: [f32; 0] = [];
    let x = Array::new(F32, &[2, 0], &[]);
    let v = Array::new(F32, &[1, 0], &[]);
    assert_eq!(wrong(&put, &[x, array(I64, &[7_i64]), v]).1, None);
    let x = Array::new(F32, &[0], &[]);
    assert_eq!(wrong(&put, &[x.clone(), array(I32, &[] as &[i32]), array(F32, &none)]).1, None);
    assert!(
        wrong(&put, &[x, array(I32, &[0]), array(F32, &[1.0_f32])]).1.is_some(),
        "an axis without places"
    );
    let rows = Array::new(F32, &[3, 0], &[]);
    let segments = Call::Segments { operation: Combining::Minimum };
    assert_eq!(wrong(&segments, &[rows, array(I32, &[9, -1])]).1, None);
}

#[test]
fn messages_name_the_index() {
    let wrong = WrongIndex { fault: IndexFault::Outside, position: 4, index: -9, extent: 3 };
    assert_eq!(wrong.to_string(), "the index -9, number 4, has no place among 3");
}
