//! Memory: its sizes, addresses, zeros and fills, and that it is freed.

use std::thread;

use devarray::{Array, Context, Device, Element, ErasedArray, Order};

use crate::{
    Call, Harness, Instrumented, Outcome, Pattern,
    harness::no_background_errors,
    patterns::{SHAPES, elements},
    violation::{ensure, same},
};

/// Memory starts at a multiple of 256 and is not at address 0.
pub fn alignment<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    let arrays = [1, 2, 255, 256, 257, 4096, 65_537]
        .into_iter()
        .map(|len| ErasedArray::uninit(&stream, &[len], 1))
        .collect::<Result<Vec<_>, _>>()?;
    arrays.iter().try_for_each(|array| {
        let address = array.address();
        ensure(address != 0 && address % 256 == 0, || {
            format!("{:?} bytes lie at {address:#x}", array.shape())
        })
    })
}

/// An array of no elements allocates nothing, whatever its other extents are.
pub fn zero_bytes<D: Device>(harness: &Harness<D>) -> Outcome {
    let (device, log) = Instrumented::new(harness.open()?);
    let context = Context::new(device)?;
    let stream = context.stream()?;
    for shape in [&[0][..], &[3, 0], &[0, usize::MAX / 8]] {
        let array = Array::<u64, _>::uninit(&stream, shape)?;
        same(array.shape(), shape, "the shape of an empty array")?;
        drop(array);
        drop(Array::<u64, _>::zeros(&stream, shape)?);
    }
    let calls = log.calls();
    ensure(!calls.contains(&Call::Alloc) && !calls.contains(&Call::Free), || {
        format!("the backend saw {calls:?}")
    })
}

/// Arrays that live at the same time share no byte.
pub fn disjoint<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    let mut live = Vec::new();
    for (salt, mut rng) in (0..).zip(harness.rngs()) {
        let data = elements::<u8>(salt, 1 + rng.below(3000));
        live.push((ErasedArray::from_bytes(&stream, &[data.len()], 1, &data)?, data));
        if rng.below(3) == 0 {
            live.swap_remove(rng.below(live.len()));
        }
    }
    let mut spans: Vec<_> = live.iter().map(|(a, data)| (a.address(), data.len() as u64)).collect();
    spans.sort_unstable();
    let clash = spans.windows(2).find(|pair| pair[0].0 + pair[0].1 > pair[1].0);
    ensure(clash.is_none(), || format!("two live buffers overlap: {clash:x?} (address, bytes)"))?;
    live.iter()
        .try_for_each(|(array, data)| same(&array.view().to_bytes(&stream)?, data, "a buffer among others"))
}

/// Zeros are zeros, also in memory that just held other data.
pub fn zeros<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    for len in [1, 3, 255, 4096, 10_001] {
        drop(Array::from_slice(&stream, &[len], &elements::<u16>(7, len))?);
        let array = Array::<u16, D>::zeros(&stream, &[len])?;
        same(&array.to_vec(&stream)?, &vec![0; len], "zeros")?;
    }
    Ok(())
}

/// A fill sets every element of a view, for any element size, and no other bytes.
pub fn fill<D: Device>(harness: &Harness<D>) -> Outcome {
    fn of<T: Element + PartialEq + std::fmt::Debug, D: Device>(harness: &Harness<D>) -> Outcome {
        let stream = harness.context()?.stream()?;
        let wholes = SHAPES.iter().map(|shape| Pattern::whole(shape));
        let views =
            SHAPES.iter().zip(harness.rngs()).map(|(shape, mut rng)| Pattern::random(&mut rng, shape, false));
        for (salt, pattern) in (0..).zip(wholes.chain(views)) {
            let mut due = elements::<T>(salt, pattern.base_len());
            let value = elements::<T>(salt + 1000, 1)[0];
            let mut array = Array::from_slice(&stream, &pattern.base, &due)?;
            pattern.view_mut(&mut array)?.fill(&stream, value)?;
            let picture = pattern.picture();
            picture.write(&mut due, &vec![value; picture.places.len()]);
            same(&array.to_vec(&stream)?, &due, &format!("a base after a fill of {pattern:?}"))?;
        }
        Ok(())
    }
    of::<u8, D>(harness)?;
    of::<u16, D>(harness)?;
    of::<u32, D>(harness)?;
    of::<u64, D>(harness)?;
    of::<u128, D>(harness)?;
    of::<[u32; 3], D>(harness)
}

/// Every allocation is freed once, including the library's own temporary memory.
pub fn freed_once<D: Device>(harness: &Harness<D>) -> Outcome {
    let (device, log) = Instrumented::new(harness.open()?);
    let context = Context::new(device)?;
    let (stream, other) = (context.stream()?, context.stream()?);
    for (shape, mut rng) in SHAPES.iter().zip(harness.rngs()) {
        let pattern = Pattern::random(&mut rng, shape, false);
        let mut array = Array::<u16, _>::zeros(&stream, &pattern.base)?;
        let data = elements::<u16>(1, pattern.picture().places.len());
        pattern.view_mut(&mut array)?.copy_from_slice(&other, &data)?;
        same(&pattern.view(&array)?.to_vec(&stream)?, &data, "a strided view")?;
        let dense = pattern.view(&array)?.to_contiguous(&other, Order::F)?;
        drop(array);
        drop(dense);
    }
    stream.synchronize()?;
    other.synchronize()?;
    no_background_errors(&context)?;
    drop((stream, other, context));
    let calls = log.calls();
    let count = |call| calls.iter().filter(|&&c| c == call).count();
    let (allocated, freed) = (count(Call::Alloc), count(Call::Free));
    ensure(allocated > 0 && allocated == freed, || format!("{allocated} allocations and {freed} frees"))
}

/// An array may be dropped while work that uses it is in flight: the work still sees it.
pub fn drop_with_work_pending<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let (stream, other) = (context.stream()?, context.stream()?);
    for salt in 0..harness.cases() as u64 {
        let data = elements::<u32>(salt, 3000);
        let source = Array::from_slice(&stream, &[3000], &data)?;
        let mut copy = Array::<u32, D>::uninit(&other, &[3000])?;
        copy.view_mut().copy_from(&other, &source.view())?;
        drop(source);
        // Memory that was freed too early would be handed out again here, and overwritten.
        let reused = Array::from_slice(&stream, &[3000], &elements::<u32>(!salt, 3000))?;
        same(&copy.to_vec(&other)?, &data, "a copy whose source was dropped")?;
        drop(reused);
    }
    no_background_errors(&context)
}

/// Freed memory can be allocated again: more in total than the device has at once.
pub fn comes_back<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let stream = context.stream()?;
    let block_bytes = context.device().memory()?.free_bytes / 4;
    for _ in 0..6 {
        let mut array = Array::<u8, D>::uninit(&stream, &[block_bytes])?;
        array.view_mut().slice_axis(0, ..16)?.fill(&stream, 1)?;
    }
    no_background_errors(&context)
}

/// Arrays and streams are used and dropped by other threads than those that made them.
pub fn cross_threads<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let stream = context.stream()?;
    let workers: Vec<_> = (0..4)
        .map(|salt| {
            let data = elements::<u32>(salt, 2000);
            let array = Array::from_slice(&stream, &[2000], &data)?;
            let (context, made_on) = (context.clone(), stream.clone());
            let work = move || -> Result<(Array<u32, D>, Vec<u32>), devarray::Error> {
                let here = context.stream()?;
                let mut copy = Array::uninit(&here, &[2000])?;
                copy.view_mut().copy_from(&here, &array.view())?;
                drop(array);
                let seen = copy.to_vec(&made_on)?;
                Ok((copy, seen))
            };
            Ok((thread::spawn(work), data))
        })
        .collect::<Result<_, devarray::Error>>()?;
    for (worker, data) in workers {
        let outcome = worker.join().map_err(|_| crate::Violation::new("another thread panicked"))?;
        let (copy, seen) = outcome?;
        same(&seen, &data, "an array copied by another thread")?;
        same(&copy.to_vec(&stream)?, &data, "an array made by another thread")?;
    }
    no_background_errors(&context)
}
