//! Copies between devices: between two devices if the backend has two, otherwise between two
//! contexts of one.

use devarray::{Array, Device, Error};

use crate::{
    Harness, Outcome, Pattern,
    difference::{self, Side},
    harness::no_background_errors,
    patterns::{SHAPES, elements},
    violation::{ensure, same},
};

/// Elements of any layout on one device go to any layout on the other, and no other bytes are
/// touched.
pub fn strided<D: Device>(harness: &Harness<D>) -> Outcome {
    let (here, there) = (harness.context()?, harness.second_context()?);
    let (s, t) = (here.stream()?, there.stream()?);
    for (case, mut rng) in harness.rngs().enumerate() {
        let shape = SHAPES[case % SHAPES.len()];
        let (target, source) =
            (Pattern::random(&mut rng, shape, false), Pattern::random(&mut rng, shape, true));
        let (mut due, from) = (elements::<u32>(1, target.base_len()), elements::<u32>(2, source.base_len()));
        let mut to = Array::from_slice(&s, &target.base, &due)?;
        let src = Array::from_slice(&t, &source.base, &from)?;
        target.view_mut(&mut to)?.copy_across(&s, &t, &source.view(&src)?)?;
        let before = due.clone();
        target.picture().write(&mut due, &source.picture().read(&from));
        let layouts = [target.view(&to)?.layout().clone(), source.view(&src)?.layout().clone()];
        let written = Side { pattern: &target, layout: &layouts[0], elements: &before };
        let read = Side { pattern: &source, layout: &layouts[1], elements: &from };
        difference::of_copy(&to.to_vec(&s)?, &due, &written, &read, "a copy from another device")?;
        same(&src.to_vec(&t)?, &from, "the source of a copy to another device")?;
    }
    no_background_errors(&here)?;
    no_background_errors(&there)
}

/// A copy to another device waits for writers of its source and for users of its destination.
pub fn ordered<D: Device>(harness: &Harness<D>) -> Outcome {
    let (here, there) = (harness.context()?, harness.second_context()?);
    let (s, t) = (here.stream()?, there.stream()?);
    let (writer, reader) = (there.stream()?, here.stream()?);
    for salt in 0..8 {
        let data = elements::<u32>(salt, 3000);
        let mut src = Array::<u32, D>::zeros(&t, &[3000])?;
        let mut dst = Array::from_slice(&s, &[3000], &elements::<u32>(99, 3000))?;
        let kept = dst.view().to_contiguous(&reader, devarray::Order::C)?;
        src.view_mut().copy_from_slice(&writer, &data)?;
        dst.view_mut().copy_across(&s, &t, &src.view())?;
        drop(src);
        same(&dst.to_vec(&reader)?, &data, "what another stream sees of a copy from another device")?;
        same(&kept.to_vec(&reader)?, &elements::<u32>(99, 3000), "what was read before it was copied over")?;
    }
    no_background_errors(&here)
}

/// A large array crosses in pieces, and an empty one without any.
pub fn sizes<D: Device>(harness: &Harness<D>) -> Outcome {
    let (s, t) = (harness.context()?.stream()?, harness.second_context()?.stream()?);
    for len in [0, 1, 1023, 1_200_003] {
        let data = elements::<u64>(3, len);
        let src = Array::from_slice(&t, &[len], &data)?;
        let mut dst = Array::<u64, D>::zeros(&s, &[len])?;
        dst.view_mut().flip(&[0])?.copy_across(&s, &t, &src.view())?;
        let due: Vec<u64> = data.iter().rev().copied().collect();
        same(&dst.to_vec(&s)?, &due, &format!("{len} elements of another device, reversed"))?;
    }
    Ok(())
}

/// The stream given for each side must belong to that side; otherwise the copy is refused and
/// changes nothing.
pub fn sides<D: Device>(harness: &Harness<D>) -> Outcome {
    let (s, t) = (harness.context()?.stream()?, harness.second_context()?.stream()?);
    let src = Array::from_slice(&t, &[3], &[1_u8, 2, 3])?;
    let mut dst = Array::<u8, D>::zeros(&s, &[3])?;
    for (to, from) in [(&t, &s), (&s, &s), (&t, &t)] {
        let refused = dst.view_mut().copy_across(to, from, &src.view());
        let due = matches!(refused, Err(Error::DeviceMismatch { operation: "copy_across", .. }));
        ensure(due, || format!("a copy across with streams of the wrong side: {refused:?}"))?;
    }
    let shapes = dst.view_mut().copy_across(&s, &t, &src.view().expand_dims(0)?);
    ensure(matches!(shapes, Err(Error::Layout(..))), || format!("shapes [3] and [1, 3]: {shapes:?}"))?;
    same(&dst.to_vec(&s)?, &[0; 3], "a destination after refused copies")
}
