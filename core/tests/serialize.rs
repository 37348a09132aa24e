//! Values that `serde` writes are the same when they are read back, and text that is no layout or
//! array is an error, not a value.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{HostArray, Layout, NdLayout, Order};
use serde_json::{Value, from_str, from_value, json, to_value};

#[test]
fn layouts_come_back() {
    for (layout, text) in [
        (
            Layout::contiguous(&[2, 3], Order::F).unwrap(),
            json!({"shape": [2, 3], "strides": [1, 2], "offset": 0}),
        ),
        (Layout::new(&[4], &[-2], 7).unwrap(), json!({"shape": [4], "strides": [-2], "offset": 7})),
        (Layout::new(&[], &[], 5).unwrap(), json!({"shape": [], "strides": [], "offset": 5})),
        (Layout::new(&[0, 9], &[1, 1], 0).unwrap(), json!({"shape": [0, 9], "strides": [1, 1], "offset": 0})),
    ] {
        assert_eq!(to_value(&layout).unwrap(), text);
        assert_eq!(from_value::<Layout>(text).unwrap(), layout);
    }
}

#[test]
fn host_arrays_come_back() {
    let array = HostArray::new(&[2, 2], vec![1.5, 2.0, -3.0, 0.25]).unwrap();
    let text = json!({"shape": [2, 2], "data": [1.5, 2.0, -3.0, 0.25]});
    assert_eq!(to_value(&array).unwrap(), text);
    let read: HostArray<f64> = from_value(text).unwrap();
    assert_eq!((read.shape(), read.as_slice()), (array.shape(), array.as_slice()));
    let words: HostArray<String> = from_value(json!({"shape": [1], "data": ["a"]})).unwrap();
    assert_eq!(words[[0]], "a");
}

fn refused<T: for<'de> serde::Deserialize<'de>>(value: Value, part: &str) {
    let Err(error) = from_value::<T>(value.clone()) else { panic!("{value} was accepted") };
    assert!(error.to_string().contains(part), "{value}: {error}");
}

#[test]
fn hostile_layouts_are_errors() {
    let layout = |shape: Value, strides: Value, offset: Value| json!({"shape": shape, "strides": strides, "offset": offset});
    let most = json!(usize::MAX);
    refused::<Layout>(layout(json!([2]), json!([1, 1]), json!(0)), "rank mismatch");
    refused::<Layout>(layout(json!([2]), json!([-1]), json!(0)), "overflow");
    refused::<Layout>(layout(json!([most]), json!([0]), json!(0)), "overflow");
    refused::<Layout>(layout(json!([1_u64 << 40, 1_u64 << 40]), json!([0, 0]), json!(0)), "overflow");
    refused::<Layout>(layout(json!([2]), json!([isize::MAX]), json!(5)), "overflow");
    refused::<Layout>(layout(json!([1]), json!([1]), most), "overflow");
    refused::<Layout>(layout(json!([-1]), json!([1]), json!(0)), "invalid value");
    refused::<Layout>(json!({"shape": [1], "strides": [1]}), "missing field");
    refused::<Layout>(json!({"shape": [1], "strides": [1], "offset": 0, "len": 9}), "unknown field");
}

#[test]
fn hostile_arrays_are_errors_and_take_no_memory_for_what_is_not_there() {
    refused::<HostArray<u8>>(json!({"shape": [1_u64 << 40], "data": [1]}), "length mismatch");
    refused::<HostArray<u8>>(json!({"shape": [usize::MAX, 2], "data": []}), "overflow");
    refused::<HostArray<u8>>(json!({"shape": [2], "data": [1, 300]}), "invalid value");
    refused::<HostArray<u8>>(json!({"shape": [], "data": []}), "length mismatch");
    assert!(from_str::<HostArray<u8>>("[[1, 2]]").is_err());
}
