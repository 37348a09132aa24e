//! Laws of every backend's pinned, registered, mapped and managed memory. They are generic over the
//! device; each is a test of the simulator, of the fake driver, and of hardware.

use std::panic::{AssertUnwindSafe, catch_unwind};

use devarray::{
    Array, Context, Error, Layout, ManagedArray, MappedArray, PinnedArray, PinnedLimits,
    backend::{Advice, HostFlags, Location, ManagedMemory, MapHost, RegisterHost},
    layout::Slice,
};

/// Every kind at once.
pub(crate) trait HostKinds: MapHost + RegisterHost + ManagedMemory {}
impl<D: MapHost + RegisterHost + ManagedMemory> HostKinds for D {}

fn numbers(len: usize) -> Vec<u32> {
    (0..len).map(|k| u32::try_from(k).unwrap().wrapping_mul(2_654_435_761)).collect()
}

/// Pinned memory with every combination of flags is zeroed, takes data, goes to the device and
/// back, and is counted.
pub(crate) fn pinned_with_every_flag<D: HostKinds>(context: &Context<D>) {
    let stream = context.stream().unwrap();
    let before = context.host_memory_statistics();
    for bits in 0..8_u8 {
        let mut flags = HostFlags::new();
        (flags.portable, flags.mapped, flags.write_combined) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
        let mut source = PinnedArray::<u32, D>::zeros_with(context, &[5, 7], flags).unwrap();
        source.as_mut_slice().copy_from_slice(&numbers(35));
        let target = context.pinned_with::<u32>(35, flags.portable()).unwrap();
        let counted = context.host_memory_statistics();
        assert_eq!(counted.pinned - before.pinned, 2);
        assert_eq!(counted.pinned_bytes - before.pinned_bytes, 2 * 35 * 4);

        let mut array = Array::<u32, D>::zeros(&stream, &[5, 7]).unwrap();
        let upload = source.upload_to(&stream, &mut array.view_mut()).unwrap();
        let download = array.view().download(&stream, target).unwrap();
        drop(upload.wait().unwrap());
        let back = download.wait().unwrap();
        // A write-combined buffer is slow to read on the host, so it is read on the device.
        if flags.write_combined {
            drop(back);
        } else {
            assert_eq!(back[..], numbers(35));
        }
        assert_eq!(array.to_vec(&stream).unwrap(), numbers(35));
    }
    let after = context.host_memory_statistics();
    assert_eq!((after.pinned, after.pinned_bytes), (before.pinned, before.pinned_bytes));
    assert!(after.peak_pinned_bytes >= 280);
}

/// Memory given back within the limit is used again, zeroed; an allocation over the limit is
/// refused and changes nothing.
pub(crate) fn pinned_pool_keeps_to_its_limits<D: HostKinds>(context: &Context<D>) {
    context.set_pinned_limits(PinnedLimits::new(10_000, 4_000));
    let mut first = context.pinned::<u8>(3000).unwrap();
    first.fill(7);
    let allocations = context.host_memory_statistics().allocations;
    drop(first);
    assert!(context.host_memory_statistics().idle_bytes >= 3000);
    let again = context.pinned::<u8>(2900).unwrap();
    assert!(again.iter().all(|&byte| byte == 0), "memory used again is zeroed");
    let now = context.host_memory_statistics();
    assert_eq!((now.allocations, now.reuses, now.idle_bytes), (allocations, 1, 0));
    let error = context.pinned::<u8>(9000).unwrap_err();
    assert!(
        matches!(error, Error::OutOfMemory { requested_bytes: 9000, total_bytes: Some(10_000), .. }),
        "{error}"
    );
    assert_eq!(context.host_memory_statistics(), now);
    drop(again);
    // Kept memory makes room for new memory.
    let large = context.pinned::<u8>(9000).unwrap();
    assert_eq!(context.host_memory_statistics().idle_bytes, 0);
    drop(large); // over the limit of what is kept
    assert_eq!(context.host_memory_statistics().idle_bytes, 0);
    // All of the limit can be had, and a refusal leaves what is kept.
    drop(context.pinned::<u8>(10_000).unwrap());
    drop(context.pinned::<u8>(3000).unwrap());
    let before = context.host_memory_statistics();
    assert!(before.idle_bytes >= 3000);
    assert!(context.pinned::<u8>(10_001).is_err());
    assert_eq!(context.host_memory_statistics(), before);
    context.set_pinned_limits(PinnedLimits::default());
}

/// New memory must fit beside the memory in use, to the byte; idle memory gives way, the oldest
/// first, and no more of it than needed.
pub(crate) fn pinned_memory_in_use_leaves_less_room<D: HostKinds>(context: &Context<D>) {
    context.set_pinned_limits(PinnedLimits::new(10_000, 4_000));
    let held = context.pinned::<u8>(3000).unwrap();
    let before = context.host_memory_statistics();
    let error = context.pinned::<u8>(8000).unwrap_err();
    assert!(
        matches!(error, Error::OutOfMemory { requested_bytes: 8000, total_bytes: Some(10_000), .. }),
        "{error}"
    );
    assert_eq!(context.host_memory_statistics(), before, "a refusal changes nothing");
    drop(held);

    context.set_pinned_limits(PinnedLimits::new(10_000, 0));
    let held = context.pinned::<u8>(3000).unwrap();
    assert!(context.pinned::<u8>(7001).is_err());
    drop(context.pinned::<u8>(7000).unwrap());
    drop(held);
    assert!(context.pinned::<u8>(10_001).is_err(), "more than all, beside nothing");
    drop(context.pinned::<u8>(10_000).unwrap());

    // Sizes that are kept unrounded: multiples of 64 below 1024.
    context.set_pinned_limits(PinnedLimits::new(1920, 1920));
    let sizes = [640, 576, 704];
    let kept: Vec<_> = sizes.iter().map(|&len| context.pinned::<u8>(len).unwrap()).collect();
    assert_eq!(context.host_memory_statistics().pinned_bytes, 1920);
    assert!(context.pinned::<u8>(64).is_err(), "nothing is left");
    drop(kept);
    assert_eq!(context.host_memory_statistics().idle_bytes, 1920, "all of it is kept");
    let new = context.pinned::<u8>(448).unwrap();
    assert_eq!(context.host_memory_statistics().idle_bytes, 576 + 704, "the oldest gave way");
    // An idle buffer that is reused is at most an eighth larger, and never smaller.
    let now = context.host_memory_statistics();
    let (allocations, reuses) = (now.allocations, now.reuses);
    let again = context.pinned::<u8>(512).unwrap();
    assert_eq!(context.host_memory_statistics().reuses, reuses + 1, "576 is larger by an eighth");
    let other = context.pinned::<u8>(640).unwrap();
    assert_eq!(context.host_memory_statistics().reuses, reuses + 2, "704 is larger by a tenth");
    drop((again, other, new));
    let now = context.host_memory_statistics();
    assert_eq!((now.allocations, now.idle_bytes), (allocations, 448 + 576 + 704));
    let less = context.pinned::<u8>(384).unwrap();
    let now = context.host_memory_statistics();
    assert_eq!((now.allocations, now.reuses), (allocations + 1, reuses + 2), "448 is larger by a sixth");
    drop(less);
    context.set_pinned_limits(PinnedLimits::default());
    assert_eq!(context.host_memory_statistics().idle_bytes, 0);
}

/// Registered memory copies like any other memory: several slices at once, whole and in part,
/// nested, with any strides.
pub(crate) fn registered_memory_copies_as_any_other<D: HostKinds>(context: &Context<D>) {
    let stream = context.stream().unwrap();
    let (mut one, mut two) = (numbers(5000), vec![0_u32; 5000]);
    let mut array = Array::<u32, D>::zeros(&stream, &[5000]).unwrap();
    let before = context.host_memory_statistics();
    let copied = context.with_all_pinned([&mut one[..], &mut two[..]], |[one, two]| {
        let counted = context.host_memory_statistics();
        assert_eq!(counted.registered - before.registered, 2);
        assert_eq!(counted.registered_bytes - before.registered_bytes, 40_000);
        stream.scope(|s| {
            s.upload(one, &mut array.view_mut())?;
            s.download(&array.view(), two)
        })?
    });
    copied.unwrap().unwrap();
    assert_eq!(two, one);

    // A part inside of a part, and one beside it.
    let (left, right) = two.split_at_mut(2500);
    let nested = context.with_pinned(left, |left| {
        context.with_all_pinned([&mut left[100..200], right], |[part, right]| {
            let part_view = array.view().slice_axis(0, 0..100).unwrap();
            let right_view = array.view().slice_axis(0, 0..2500).unwrap();
            stream.scope(|s| {
                s.download(&part_view, part)?;
                s.download(&right_view, right)
            })?
        })
    });
    nested.unwrap().unwrap().unwrap();
    assert_eq!((&two[100..200], &two[2500..]), (&one[..100], &one[..2500]));

    // Elements that run backwards lie in the span of their layout.
    let reversed = Layout::new(&[10, 20], &[-40, -2], 400 + 38).unwrap();
    let span = reversed.span();
    let expected: Vec<u32> =
        (0..10).flat_map(|i| (0..20).map(move |j| 438 - 40 * i - 2 * j)).map(|at: usize| one[at]).collect();
    let inside = Layout::new(&[10, 20], &[-40, -2], 438 - span.start).unwrap();
    let mut grid = Array::<u32, D>::zeros(&stream, &[10, 20]).unwrap();
    context
        .with_pinned(&mut one[span], |pinned| grid.view_mut().copy_from_host(&stream, pinned, &inside))
        .unwrap()
        .unwrap();
    assert_eq!(grid.to_vec(&stream).unwrap(), expected);

    // No bytes, and no slices at all.
    context.with_pinned(&mut [0_u8; 0], |empty| assert!(empty.is_empty())).unwrap();
    context.with_all_pinned::<u8, _, 0>([], |[]| ()).unwrap();
    let after = context.host_memory_statistics();
    assert_eq!((after.registered, after.registered_bytes), (before.registered, before.registered_bytes));
}

/// Pinning ends at once, also when the closure unwinds: the same range can be pinned again.
pub(crate) fn registration_ends_on_unwind<D: HostKinds>(context: &Context<D>) {
    let mut data = numbers(1000);
    for _ in 0..3 {
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            context.with_all_pinned([&mut data[..]], |_| std::panic::resume_unwind(Box::new("unwound")))
        }));
        let unwound: Result<devarray::Result<()>, _> = unwound;
        assert!(unwound.is_err());
        assert_eq!(context.host_memory_statistics().registered, 0);
    }
    context.with_pinned(&mut data, |_| ()).unwrap();
    assert_eq!(context.take_errors(), []);
}

/// A mapped array is one memory: each side sees the other's writes, through slices too, and on any
/// stream.
pub(crate) fn mapped_memory_is_one_memory<D: HostKinds>(context: &Context<D>) {
    let (left, right) = (context.stream().unwrap(), context.stream().unwrap());
    let mut mapped = MappedArray::from_slice(context, &[20, 30], &numbers(600)).unwrap();
    assert_eq!(mapped.view().to_vec(&left).unwrap(), numbers(600));
    assert_ne!(mapped.address(), 0);

    // A slice of it is a part of the same memory, not a copy and not empty.
    let rows = Slice::from(..).step_by(-3);
    let mut slice = mapped.view_mut().slice_axis(0, rows).unwrap().slice_axis(1, 10..20).unwrap();
    slice.fill(&left, 5).unwrap();
    let mut expected = numbers(600);
    for row in (0..20).rev().step_by(3) {
        expected[row * 30 + 10..row * 30 + 20].fill(5);
    }
    assert_eq!(mapped.host().unwrap(), expected);

    // Written by the host, read by the device, written by the device on another stream, read by the
    // host.
    mapped.host_mut().unwrap()[599] = 42;
    let last = mapped.view().slice_axis(0, 19..).unwrap().slice_axis(1, 29..).unwrap();
    assert_eq!(last.to_vec(&right).unwrap(), [42]);
    let other = Array::full(&right, &[20, 30], 8_u32).unwrap();
    mapped.view_mut().copy_from(&right, &other.view()).unwrap();
    let copy = mapped.view().to_contiguous(&left, devarray::Order::F).unwrap();
    assert_eq!(mapped.host().unwrap(), [8; 600]);
    assert_eq!(mapped.host_mut().unwrap(), [8; 600]);
    mapped.host_mut().unwrap().fill(9); // the copy was made before
    assert_eq!(copy.to_vec(&left).unwrap(), [8; 600]);

    // It is dropped with work in flight: the memory outlives the work.
    mapped.view_mut().copy_from(&left, &other.view()).unwrap();
    drop(mapped);
    left.synchronize().unwrap();
    right.synchronize().unwrap();
    assert_eq!(context.host_memory_statistics().pinned, 0);

    // An array without elements.
    let mut empty = MappedArray::<u32, D>::zeros(context, &[3, 0]).unwrap();
    empty.view_mut().fill(&left, 1).unwrap();
    assert!(empty.host_mut().unwrap().is_empty() && empty.shape() == [3, 0]);

    // Memory that was not allocated as mapped memory is refused.
    let refused = MappedArray::from_pinned(&[4], context.pinned::<u32>(4).unwrap()).unwrap_err();
    assert!(matches!(refused, Error::Unsupported { .. }), "{refused}");
}

/// Managed memory is one memory wherever it is, with and without hints, and never more than the
/// device has free.
pub(crate) fn managed_memory_is_one_memory<D: HostKinds>(context: &Context<D>) {
    let stream = context.stream().unwrap();
    let mut managed = ManagedArray::<u32, D>::zeros(context, &[300, 100]).unwrap();
    assert_eq!(context.host_memory_statistics().managed_bytes, 120_000);
    assert!(managed.host().unwrap().iter().all(|&x| x == 0));
    managed.host_mut().unwrap().copy_from_slice(&numbers(30_000));
    for advice in
        [Advice::ReadMostly, Advice::NotReadMostly, Advice::Prefer(Location::Device), Advice::NoPreference]
    {
        managed.advise(advice).unwrap();
    }
    for to in [Location::Device, Location::Host] {
        managed.advise(Advice::AccessedBy(to)).unwrap();
        managed.prefetch(&stream, to).unwrap();
        assert_eq!(managed.view().to_vec(&stream).unwrap(), numbers(30_000));
        managed.advise(Advice::NotAccessedBy(to)).unwrap();
    }
    managed.view_mut().slice_axis(1, ..50).unwrap().fill(&stream, 3).unwrap();
    let host = managed.host().unwrap();
    let expected = numbers(30_000).into_iter().enumerate().map(|(k, x)| if k % 100 < 50 { 3 } else { x });
    assert!(host.iter().copied().eq(expected));
    managed.prefetch(&stream, Location::Device).unwrap();
    drop(managed); // with the prefetch in flight
    stream.synchronize().unwrap();
    assert_eq!(context.host_memory_statistics().managed, 0);

    let free = context.device().memory().unwrap().free_bytes;
    let error = ManagedArray::<u8, D>::zeros(context, &[free + 1]).unwrap_err();
    assert!(
        matches!(error, Error::OutOfMemory { requested_bytes, .. } if requested_bytes == free + 1),
        "{error}"
    );
    let empty = ManagedArray::<u8, D>::zeros(context, &[0]).unwrap();
    empty.prefetch(&stream, Location::Device).unwrap();
    empty.advise(Advice::ReadMostly).unwrap();
}

/// Portable pinned memory serves every context of the backend; any other serves its own alone, and
/// is given back.
pub(crate) fn portable_memory_serves_other_contexts<D: HostKinds>(context: &Context<D>, other: &Context<D>) {
    let stream = other.stream().unwrap();
    let mut array = Array::<u32, D>::zeros(&stream, &[35]).unwrap();
    let mut portable = context.pinned_with::<u32>(35, HostFlags::new().portable()).unwrap();
    portable.copy_from_slice(&numbers(35));
    let back = array.view_mut().upload(&stream, portable).unwrap().wait().unwrap();
    assert!(back.context().is_same(context));
    assert_eq!(array.to_vec(&stream).unwrap(), numbers(35));
    drop(array.view_mut().upload(&stream, back).unwrap()); // the other context frees it when it is done
    stream.synchronize().unwrap();
    drop(other.pinned::<u8>(1).unwrap());
    assert_eq!(context.host_memory_statistics().pinned, 0);

    let plain = context.pinned_with::<u32>(35, HostFlags::new()).unwrap();
    let refused = array.view_mut().upload(&stream, plain).unwrap_err();
    assert!(matches!(refused.error(), Error::DeviceMismatch { .. }), "{refused}");
    assert!(refused.into_buffer().is_some());
}
