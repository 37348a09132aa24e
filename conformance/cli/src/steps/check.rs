//! Carries out steps on a layout alone, before any memory is allocated.

use devarray::{Layout, LayoutError, NdLayout};

use super::{
    Cut, Step, StepError,
    apply::{extents, flipped, part, section_of},
};

/// The layout that `steps` give for elements of `item_bytes` bytes, each on the result of the
/// previous one, as [`apply`](super::apply()) will give it. Touches no device.
///
/// # Errors
///
/// The first step that has no result.
pub fn check(base: &Layout, item_bytes: usize, steps: &[Step]) -> Result<Layout, StepError> {
    let mut layout = base.clone();
    for (index, step) in steps.iter().enumerate() {
        let result = one(&layout, step).and_then(|layout| layout.len_bytes(item_bytes).map(|_| layout));
        layout = result.map_err(|cause| StepError::new(index, cause.into()))?;
    }
    Ok(layout)
}

fn one(layout: &Layout, step: &Step) -> Result<Layout, LayoutError> {
    match step {
        Step::Index(items) => layout.index(items),
        Step::Permute(None) => Ok(layout.transpose()),
        Step::Permute(Some(axes)) => layout.permute(axes),
        Step::Flip(axes) => layout.flip(&*flipped(axes.as_deref(), layout.rank())),
        Step::Squeeze(None) => NdLayout::squeeze(layout),
        Step::Squeeze(Some(axes)) => layout.squeeze_axes(axes),
        Step::Broadcast(shape) => layout.broadcast_to(&extents(shape)?),
        Step::Reshape(shape, order) => match layout.reshape(&shape[..], *order) {
            Err(LayoutError::NeedsCopy) => {
                layout.dense_like(*order)?.reshape(&shape[..], layout.resolve(*order))
            }
            view => view,
        },
        Step::Ravel(order) => match layout.ravel(*order) {
            Err(LayoutError::NeedsCopy) => layout.dense_to_ravel(*order)?.ravel(devarray::Order::K),
            view => view,
        },
        Step::Copy(order) => layout.dense_like(*order),
        Step::Split(Cut::Every(section), take) => part(layout.split(section_of(*section)?)?, *take),
        Step::Split(Cut::Into { axis, sections }, take) => {
            part(layout.array_split(*axis, section_of(*sections)?)?, *take)
        }
        Step::Split(Cut::At { axis, at }, take) => part(layout.split_at(*axis, at)?, *take),
    }
}

#[cfg(test)]
mod tests {
    use devarray::{Context, ErasedArray, Layout, LayoutError, Order};
    use devarray_mock::MockDevice;

    use super::check;
    use crate::steps::{Step, apply, apply_to_write, parse_steps};

    /// The device gives the predicted results, including copies and errors; the view to write is
    /// the same, if there is one.
    #[test]
    fn foretells_what_the_device_gives() {
        let context = Context::new(MockDevice::new()).unwrap();
        let stream = context.stream().unwrap();
        let mut base = ErasedArray::zeros(&stream, &[4, 6, 5], 3).unwrap();
        let layout = Layout::contiguous(&[4, 6, 5], Order::C).unwrap();
        let mut results = 0;
        for text in [
            "",
            "permute(2,0,1)/index(::2)",
            "permute(2,0,1)/reshape(-1,8)/flip(0)",
            "permute(1,2,0)/reshape(30,-1,F)",
            "permute(2,1,0)/ravel(F)/split(7,take=3)",
            "index(:,::-2,None)/squeeze()/copy(K)/ravel(K)",
            "broadcast(2,4,6,5)/ravel(C)/array_split(7,take=-0)",
            "flip(0,1)/reshape(24,5)/split_at(3,9,take=2)/copy(F)",
            "split_at(1,3,take=1)/array_split(4,axis=1,take=1)/permute(2,0,1)/flip(1)/index(...,None)",
            "reshape(24,5)/permute(1,0)/index(::2)",
            "ravel()/split(7,take=3)/reshape(7,1,F)/squeeze(-1)/ravel(K)",
            "permute(0,0,1)",
            "ravel()/split(0,take=0)",
            "reshape(7,-1)",
            "index(4)",
            "flip()/permute()",
            "broadcast(2,4,6,5)/ravel(K)/split_at(-3,take=1)",
            "permute(1,0,2)/broadcast(3,6,4,5)/copy(K)",
            "split_at(1,-1,take=1)/split_at(-2,-3,take=0)",
            "array_split(-1,take=0)",
            "index(:0)/reshape(0,4611686018427387904)",
        ] {
            let steps = parse_steps(text).unwrap();
            let given = apply(&stream, &base, &steps, |view, copied| (view.layout().clone(), copied));
            let repeats = steps.iter().any(|step| matches!(step, Step::Broadcast(_)));
            let to_write = apply_to_write(&mut base, &steps).map(|view| view.layout().clone());
            match (&given, to_write) {
                (Ok((layout, false)), Ok(to_write)) if !repeats => assert_eq!(&to_write, layout, "{text}"),
                (Ok((_, copied)), Err(error)) => {
                    assert!(*copied || repeats, "{text}");
                    assert_eq!(*error.cause, LayoutError::NeedsCopy.into(), "{text}");
                }
                (Err(given), Err(to_write)) => assert_eq!(given, &to_write, "{text}"),
                (given, to_write) => panic!("{text}: {given:?}, {to_write:?}"),
            }
            let given = given.map(|(layout, _)| layout);
            let foretold = check(&layout, base.item_bytes(), &steps);
            match (given, foretold) {
                (Ok(given), Ok(foretold)) => {
                    assert_eq!(
                        (given.shape(), given.strides()),
                        (foretold.shape(), foretold.strides()),
                        "{text}"
                    );
                    results += 1;
                }
                (given, foretold) => assert_eq!(given.unwrap_err(), foretold.unwrap_err(), "{text}"),
            }
        }
        assert_eq!(results, 15);
    }
}
