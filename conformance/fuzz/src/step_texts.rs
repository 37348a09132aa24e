//! Steps as text: the result that is predicted from a layout is the one that a device gives.

use devarray::{Context, ErasedArray, Layout, NdLayout, Order};
use devarray_mock::MockDevice;

use crate::steps::{apply, check, parse_steps};

/// The most steps that are carried out; longer chains are only read.
const MOST_STEPS: usize = 12;
/// The number of bytes in an element.
const ITEM_BYTES: usize = 3;
/// The most elements that a step may copy.
const MOST_ELEMENTS: usize = 1 << 14;

/// The first byte chooses the shape; the rest is a chain of steps.
pub fn run(data: &[u8]) {
    let Some((&first, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let Ok(steps) = parse_steps(text) else { return };
    let shapes: [&[usize]; 6] = [&[4, 6, 5], &[], &[12], &[0, 3], &[1, 1, 7, 1], &[2, 3, 2, 2, 1]];
    let shape = shapes[usize::from(first) % shapes.len()];
    let layout = Layout::contiguous(shape, Order::C).expect("a small shape");
    if steps.len() > MOST_STEPS {
        let _ = check(&layout, ITEM_BYTES, &steps);
        return;
    }
    let is_small =
        |count: usize| !matches!(check(&layout, ITEM_BYTES, &steps[..count]), Ok(l) if l.len() > MOST_ELEMENTS);
    if !(0..=steps.len()).all(is_small) {
        return;
    }
    let stream =
        Context::new(MockDevice::new()).and_then(|context| context.stream()).expect("a simulator opens");
    let base = ErasedArray::zeros(&stream, shape, ITEM_BYTES).expect("a small array");
    let given = apply(&stream, &base, &steps, |view, _| view.layout().clone());
    match (given, check(&layout, ITEM_BYTES, &steps)) {
        (Ok(given), Ok(foretold)) => {
            assert_eq!((given.shape(), given.strides()), (foretold.shape(), foretold.strides()), "{text:?}");
        }
        (given, foretold) => assert_eq!(given.unwrap_err(), foretold.unwrap_err(), "{text:?}"),
    }
}
