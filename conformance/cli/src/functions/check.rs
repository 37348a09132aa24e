//! Finds the library's error for a function before any memory is allocated.

use anyhow::Result;
use devarray::{Context, ErasedArray, Layout, LayoutError, Order, function::Function};
use devarray_mock::MockDevice;

use super::{Call, OfElements};

/// The shape that all of them broadcast to; no axes if there are no shapes.
///
/// # Errors
///
/// They do not broadcast together.
pub fn broadcast(shapes: &[&[usize]]) -> Result<Vec<usize>, LayoutError> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut result = vec![1; rank];
    for shape in shapes {
        for (to, &extent) in result[rank - shape.len()..].iter_mut().zip(*shape) {
            if *to == 1 {
                *to = extent;
            }
        }
    }
    for shape in shapes {
        Layout::contiguous(shape, Order::C)?.broadcast_to(&result)?;
    }
    Ok(result)
}

/// Checks shapes, axes, and the types that reductions take. Touches no device: the simulator
/// computes the same on arrays with extents of at most 1, for which the same mistakes are found.
///
/// # Errors
///
/// The library's error.
pub fn check(
    function: &Function,
    shapes: &[&[usize]],
    scalars: &[u64],
    of_elements: Option<&OfElements>,
) -> Result<()> {
    broadcast(shapes)?;
    let stream = Context::new(MockDevice::new())?.stream()?;
    let array = |(shape, item_bytes): (&&[usize], usize)| {
        let shape: Vec<usize> = shape.iter().map(|&extent| extent.min(1)).collect();
        ErasedArray::zeros(&stream, &shape, item_bytes)
    };
    let sizes = function.inputs().iter().map(|element_type| element_type.len_bytes());
    let arrays = shapes.iter().zip(sizes).map(array).collect::<devarray::Result<Vec<_>>>()?;
    let inputs: Vec<_> = arrays.iter().map(ErasedArray::view).collect();
    Call { function, inputs: &inputs, scalars, of_elements }.compute(&stream)?;
    stream.synchronize()?;
    Ok(())
}
