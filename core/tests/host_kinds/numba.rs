//! The tricky behaviours of Numba that concern arrays, host memory and copies, by their number in the list of
//! forty. Each is either kept or fixed; if it is fixed, the test is the case that used to fail. They are
//! generic over the device.

use devarray::{
    Array, Context, HostArray, Layout, LayoutError, MappedArray, NdLayout, Order, PinnedLimits,
    backend::HostFlags,
    ix,
    memory::{MemoryLimit, ReleaseLimits},
};

use super::laws::HostKinds;

fn numbers(len: i32) -> Vec<i32> {
    (100..100 + len).collect()
}

/// Defines the behaviours and a list of all, so that no suite can leave one out.
macro_rules! behaviours {
    ($($(#[$doc:meta])* fn $name:ident($context:ident) $body:block)*) => {
        $($(#[$doc])* pub(crate) fn $name<D: HostKinds>($context: &Context<D>) $body)*

        /// All behaviours, in order.
        pub(crate) fn all<D: HostKinds>() -> Vec<(&'static str, fn(&Context<D>))> {
            vec![$((stringify!($name), $name::<D> as fn(&Context<D>))),*]
        }
    };
}

/// Drops an array of each size, in bytes, and returns how many arrays and bytes then wait.
fn dropped<D: HostKinds>(context: &Context<D>, sizes: &[usize]) -> (usize, usize) {
    let stream = context.stream().unwrap();
    for &size in sizes {
        drop(Array::<u8, D>::uninit(&stream, &[size]).unwrap());
    }
    (context.pending_releases().count, context.pending_releases().len_bytes)
}

behaviours! {
    /// Kept: ten may wait; the eleventh makes all of them be given back.
    fn numba_01_the_eleventh_flushes(context) {
        context.set_release_limits(ReleaseLimits::new(10, 1000));
        assert_eq!(dropped(context, &[1; 10]), (10, 10));
        assert_eq!(dropped(context, &[1]), (0, 0));
        context.set_release_limits(ReleaseLimits::default());
    }

    /// Kept: one byte more than may wait has the same effect, and the last byte allowed does not.
    fn numba_02_a_byte_more_flushes(context) {
        context.set_release_limits(ReleaseLimits::new(10, 1000));
        assert_eq!(dropped(context, &[600, 400]), (2, 1000));
        assert_eq!(dropped(context, &[1]), (0, 0));
        context.set_release_limits(ReleaseLimits::default());
    }

    /// Kept: deferrals nest, and memory within the limits goes on waiting when they end. Fixed: memory over
    /// the limits is given back then.
    fn numba_03_deferrals_nest(context) {
        context.set_release_limits(ReleaseLimits::new(10, 1000));
        context.defer_cleanup(|| {
            context.defer_cleanup(|| assert_eq!(dropped(context, &[1; 20]), (20, 20)));
            context.release_pending();
            assert_eq!(dropped(context, &[1; 5]), (5, 5), "the outer one holds");
        });
        assert_eq!(dropped(context, &[]), (5, 5));
        context.defer_cleanup(|| dropped(context, &[1; 6]));
        assert_eq!(dropped(context, &[]), (0, 0));
        context.set_release_limits(ReleaseLimits::default());
    }

    /// Fixed: waiting memory is given back when memory is short, inside a deferral too.
    fn numba_04_shortage_flushes_a_deferral(context) {
        context.set_memory_limit(MemoryLimit::Bytes(1000)).unwrap();
        context.defer_cleanup(|| {
            assert_eq!(dropped(context, &[900]), (1, 900));
            assert_eq!(dropped(context, &[901]), (1, 901));
        });
        context.set_memory_limit(MemoryLimit::Unlimited).unwrap();
    }

    /// Kept: an allocation is tried once more, and then fails; the error says why, and nothing else happened.
    fn numba_05_shortage_is_tried_once_more(context) {
        let stream = context.stream().unwrap();
        context.set_memory_limit(MemoryLimit::Bytes(1000)).unwrap();
        let kept = Array::full(&stream, &[500], 7_u8).unwrap();
        assert!(Array::<u8, D>::uninit(&stream, &[501]).unwrap_err().is_retryable());
        assert_eq!(kept.to_vec(&stream).unwrap(), [7; 500]);
        let _ = Array::<u8, D>::uninit(&stream, &[500]).unwrap();
        context.set_memory_limit(MemoryLimit::Unlimited).unwrap();
    }

    /// Kept: unpinning is immediate, and the same range can be pinned again.
    fn numba_06_unpinning_is_immediate(context) {
        let mut data = numbers(100);
        for _ in 0..3 {
            context.with_pinned(&mut data, |_| assert_eq!(context.host_memory_statistics().registered, 1)).unwrap();
            assert_eq!(context.host_memory_statistics().registered, 0);
        }
    }

    /// Fixed: an allocation of plain pinned memory, too, is tried again after idle memory was given back.
    fn numba_07_pinned_memory_is_tried_again(context) {
        context.set_pinned_limits(PinnedLimits::new(10_000, 8000));
        drop(context.pinned::<u8>(7000).unwrap());
        assert!(context.host_memory_statistics().idle_bytes >= 7000);
        assert_eq!(context.pinned::<u8>(9000).unwrap().len(), 9000);
        context.set_pinned_limits(PinnedLimits::default());
    }

    /// Fixed: the bytes of pinned memory are counted.
    fn numba_08_pinned_bytes_are_counted(context) {
        let before = context.host_memory_statistics().pinned_bytes;
        let buffer = context.pinned::<f64>(1000).unwrap();
        assert_eq!(context.host_memory_statistics().pinned_bytes, before + 8000);
        drop(buffer);
        assert_eq!(context.host_memory_statistics().pinned_bytes, before);
    }

    /// Kept: an array without elements has no address, and is contiguous both ways.
    fn numba_09_no_elements_have_no_address(context) {
        let stream = context.stream().unwrap();
        let empty = Array::<f64, D>::uninit(&stream, &[3, 0, 2]).unwrap();
        assert!(empty.is_c_contiguous() && empty.is_f_contiguous());
        assert_eq!(empty.view().bytes().unwrap().address(), 0);
        assert_eq!(MappedArray::<f64, D>::zeros(context, &[0]).unwrap().address(), 0);
    }

    /// Kept: the strides of an array without elements do not matter to a copy.
    fn numba_10_strides_of_no_elements_do_not_matter(context) {
        let stream = context.stream().unwrap();
        let mut empty = Array::<i32, D>::uninit(&stream, &[0, 4]).unwrap();
        let odd = Layout::new(&[0, 4], &[-77, 13], 0).unwrap();
        empty.view_mut().copy_from_host(&stream, &[], &odd).unwrap();
        empty.view().copy_to_host(&stream, &mut [], &odd).unwrap();
    }

    /// Fixed: an array without elements is not silently copied to one with elements.
    fn numba_11_no_elements_do_not_fill_some(context) {
        let stream = context.stream().unwrap();
        let mut some = Array::<i32, D>::zeros(&stream, &[4]).unwrap();
        let none = Array::<i32, D>::zeros(&stream, &[0]).unwrap();
        assert!(some.view_mut().copy_from(&stream, &none.view()).is_err());
        assert!(some.view_mut().copy_from_slice(&stream, &[]).is_err());
    }

    /// Kept, and documented: axes of extent 1 do not matter to a copy between squeezed views.
    fn numba_12_axes_of_extent_one_can_be_ignored(context) {
        let stream = context.stream().unwrap();
        let host = Layout::contiguous(&[1, 6, 1], Order::C).unwrap();
        let mut array = Array::<i32, D>::zeros(&stream, &[6, 1]).unwrap();
        array.view_mut().squeeze().copy_from_host(&stream, &numbers(6), &host.squeeze()).unwrap();
        assert_eq!(array.to_vec(&stream).unwrap(), numbers(6));
        let mut back = [0; 6];
        array.view().squeeze().copy_to_host(&stream, &mut back, &host.squeeze()).unwrap();
        assert_eq!(back[..], numbers(6));
        // If they are not squeezed, shapes must be equal.
        assert!(array.view_mut().copy_from_host(&stream, &numbers(6), &host).is_err());
    }

    /// Fixed: a stride of 0 along an axis of extent 1 leaves an array contiguous.
    fn numba_13_stride_zero_of_an_axis_of_extent_one(_context) {
        let layout = Layout::new(&[1, 4], &[0, 1], 0).unwrap();
        assert!(layout.is_c_contiguous() && layout.is_f_contiguous());
    }

    /// Kept: the empty index of an array without axes is its element.
    fn numba_14_the_empty_index(context) {
        let stream = context.stream().unwrap();
        let scalar = Array::from_slice(&stream, &[], &[7]).unwrap();
        assert_eq!(scalar.view().index(&[]).unwrap().to_vec(&stream).unwrap(), [7]);
    }

    /// Kept, and documented: an array without axes and one of one element copy to each other, squeezed.
    fn numba_15_no_axes_and_one_element(context) {
        let stream = context.stream().unwrap();
        let one = Array::from_slice(&stream, &[1], &[7]).unwrap();
        let mut scalar = Array::<i32, D>::zeros(&stream, &[]).unwrap();
        scalar.view_mut().copy_from(&stream, &one.view().squeeze()).unwrap();
        assert_eq!(scalar.to_vec(&stream).unwrap(), [7]);
    }

    /// Kept for the host: a source in any order and with gaps is put in the order of the destination. Fixed
    /// for the device, where Numba refuses.
    fn numba_16_sources_are_reordered(context) {
        let stream = context.stream().unwrap();
        let host = numbers(24);
        let columns = Layout::new(&[3, 4], &[1, 3], 0).unwrap();
        let gaps = Layout::new(&[3, 4], &[8, 2], 0).unwrap();
        for (source, at) in [(columns, [1, 3]), (gaps, [8, 2])] {
            let expected: Vec<i32> = (0..12).map(|k| 100 + (k / 4) * at[0] + (k % 4) * at[1]).collect();
            let mut array = Array::<i32, D>::uninit_in(&stream, &[3, 4], Order::C).unwrap();
            array.view_mut().copy_from_host(&stream, &host, &source).unwrap();
            assert_eq!(array.to_vec(&stream).unwrap(), expected);
            let turned = array.view().to_contiguous(&stream, Order::F).unwrap();
            let mut other = Array::<i32, D>::zeros(&stream, &[3, 4]).unwrap();
            other.view_mut().copy_from(&stream, &turned.view()).unwrap();
            assert_eq!(other.to_vec(&stream).unwrap(), expected);
        }
    }

    /// Kept: only the distinct elements of a broadcast need to be stored and copied.
    fn numba_17_a_broadcast_is_stored_as_its_core(context) {
        let stream = context.stream().unwrap();
        let before = context.statistics().uploaded_bytes;
        let core = Array::from_slice(&stream, &[3], &numbers(3)).unwrap();
        assert_eq!(context.statistics().uploaded_bytes - before, 12);
        let many = core.view().broadcast_to(&[1000, 3]).unwrap();
        assert_eq!((many.shape(), many.strides()), (&[1000, 3][..], &[0, 1][..]));
        assert_eq!(many.slice_axis(0, 998..).unwrap().to_vec(&stream).unwrap(), [100, 101, 102, 100, 101, 102]);
    }

    /// Fixed: a copy to the host touches no gap.
    fn numba_19_gaps_on_the_host_stay(context) {
        let stream = context.stream().unwrap();
        let array = Array::from_slice(&stream, &[2, 3], &numbers(6)).unwrap();
        let mut host = [-1; 20];
        array.view().copy_to_host(&stream, &mut host, &Layout::new(&[2, 3], &[10, 2], 3).unwrap()).unwrap();
        let mut expected = [-1; 20];
        for k in 0..6 {
            expected[3 + k / 3 * 10 + k % 3 * 2] = 100 + i32::try_from(k).unwrap();
        }
        assert_eq!(host, expected);
    }

    /// Fixed: arrays with negative strides copy to the host, on either side.
    fn numba_20_negative_strides_to_the_host(context) {
        let stream = context.stream().unwrap();
        let array = Array::from_slice(&stream, &[4], &numbers(4)).unwrap();
        let reversed = array.view().flip(&[0]).unwrap();
        assert_eq!(reversed.to_vec(&stream).unwrap(), [103, 102, 101, 100]);
        let mut host = [0; 4];
        reversed.copy_to_host(&stream, &mut host, &Layout::new(&[4], &[-1], 3).unwrap()).unwrap();
        assert_eq!(host[..], numbers(4));
    }

    /// Fixed: a reversed view can be indexed again.
    fn numba_21_a_reversed_view_is_a_view(context) {
        let stream = context.stream().unwrap();
        let array = Array::from_slice(&stream, &[9], &numbers(9)).unwrap();
        let reversed = array.view().index(&ix![..; -1]).unwrap();
        assert_eq!(reversed.index(&ix![0]).unwrap().to_vec(&stream).unwrap(), [108]);
        assert_eq!(reversed.index(&ix![2..5]).unwrap().to_vec(&stream).unwrap(), [106, 105, 104]);
    }

    /// Fixed: a slice of a repeated axis has the length of the slice.
    fn numba_22_a_slice_of_a_repeated_axis(context) {
        let stream = context.stream().unwrap();
        let one = Array::from_slice(&stream, &[1], &[5]).unwrap();
        let many = one.view().broadcast_to(&[10]).unwrap();
        assert_eq!(many.slice_axis(0, 2..6).unwrap().to_vec(&stream).unwrap(), [5; 4]);
    }

    /// Fixed: an index of the last axis of an array in F order keeps its strides.
    fn numba_23_an_index_of_the_last_axis_in_f_order(context) {
        let stream = context.stream().unwrap();
        let host = Layout::contiguous(&[5, 6, 7], Order::C).unwrap();
        let array = Array::from_host(&stream, &numbers(210), &host, Order::F).unwrap();
        let plane = array.view().index(&ix![.., .., 3]).unwrap();
        assert_eq!(plane.strides(), [1, 5]);
        let expected: Vec<i32> = (0..30).map(|k| 103 + k / 6 * 42 + k % 6 * 7).collect();
        assert_eq!(plane.to_vec(&stream).unwrap(), expected);
    }

    /// Fixed: a reshape walks the elements in the order asked for, whatever the layout, or says that it needs a copy.
    fn numba_24_reshape_walks_in_the_order_asked_for(context) {
        let stream = context.stream().unwrap();
        let host = Layout::contiguous(&[4, 6], Order::C).unwrap();
        let array = Array::from_host(&stream, &numbers(24), &host, Order::F).unwrap();
        assert_eq!(array.view().reshape(&[24], Order::C).unwrap_err(), LayoutError::NeedsCopy.into());
        let flat = array.view().reshape_or_copy(&stream, &[24], Order::C).unwrap();
        assert!(flat.is_copied());
        assert_eq!(flat.view().to_vec(&stream).unwrap(), numbers(24));
    }

    /// Fixed: shapes may be given as arrays, slices and vectors alike, the same shape too.
    fn numba_25_reshape_takes_any_kind_of_shape(context) {
        let stream = context.stream().unwrap();
        let array = Array::from_slice(&stream, &[2, 3], &numbers(6)).unwrap();
        assert_eq!(array.view().reshape(&vec![2, 3], Order::C).unwrap().shape(), [2, 3]);
        assert_eq!(array.view().reshape(&[2_usize, 3][..], Order::C).unwrap().shape(), [2, 3]);
    }

    /// Fixed: order A of a one-dimensional array is C.
    fn numba_26_order_a_of_one_axis_is_c(context) {
        let stream = context.stream().unwrap();
        let array = Array::from_slice(&stream, &[8], &numbers(8)).unwrap();
        assert_eq!(array.view().reshape(&[2, 4], Order::A).unwrap().strides(), [4, 1]);
    }

    /// Fixed: an array has no stream of its own that a reshape could lose; the call names it.
    fn numba_27_no_view_loses_its_stream(context) {
        let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
        let mut array = Array::<i32, D>::zeros(&one, &[2, 3]).unwrap();
        array.view_mut().reshape(&[6], Order::C).unwrap().copy_from_slice(&two, &numbers(6)).unwrap();
        assert_eq!(array.view().reshape(&[3, 2], Order::C).unwrap().to_vec(&one).unwrap(), numbers(6));
    }

    /// Fixed: only -1 is inferred.
    fn numba_28_only_minus_one_is_inferred(context) {
        let stream = context.stream().unwrap();
        let array = Array::from_slice(&stream, &[8], &numbers(8)).unwrap();
        assert_eq!(array.view().reshape(&[2, -1], Order::C).unwrap().shape(), [2, 4]);
        let refused = array.view().reshape(&[2, -2], Order::C).unwrap_err();
        assert_eq!(refused, LayoutError::NegativeExtent { extent: -2 }.into());
    }

    /// Fixed: a negative axis number can be squeezed.
    fn numba_29_a_negative_axis_is_squeezed(context) {
        let stream = context.stream().unwrap();
        let array = Array::from_slice(&stream, &[3, 1], &numbers(3)).unwrap();
        assert_eq!(array.view().squeeze_axes(&[-1]).unwrap().shape(), [3]);
    }

    /// Kept: the last section of a split is the remainder.
    fn numba_30_the_last_section_is_the_remainder(context) {
        let stream = context.stream().unwrap();
        let array = Array::from_slice(&stream, &[7], &numbers(7)).unwrap();
        let lens: Vec<usize> = array.view().split(3).unwrap().map(|part| part.len()).collect();
        assert_eq!(lens, [3, 3, 1]);
    }

    /// Fixed: a transpose is a view, of any rank.
    fn numba_31_a_transpose_is_a_view(context) {
        let stream = context.stream().unwrap();
        let array = Array::from_slice(&stream, &[2, 3, 4], &numbers(24)).unwrap();
        let before = context.statistics();
        assert_eq!(array.view().transpose().strides(), [1, 4, 12]);
        assert_eq!(context.statistics(), before, "nothing was submitted");
    }

    /// Fixed: a source in F order with fewer axes is not scrambled.
    fn numba_34_a_source_in_f_order_with_fewer_axes(context) {
        let stream = context.stream().unwrap();
        let host = Layout::contiguous(&[3, 4], Order::C).unwrap();
        let source = Array::from_host(&stream, &numbers(12), &host, Order::F).unwrap();
        let mut target = Array::<i32, D>::zeros(&stream, &[2, 3, 4]).unwrap();
        target.view_mut().copy_from(&stream, &source.view().broadcast_to(&[2, 3, 4]).unwrap()).unwrap();
        assert_eq!(target.to_vec(&stream).unwrap(), [numbers(12), numbers(12)].concat());
    }

    /// Fixed: `portable` and `wc` are honoured, and a slice of mapped memory has its device address.
    fn numba_40_mapped_flags_and_slices(context) {
        let flags = HostFlags::new().portable().write_combined();
        let buffer = context.pinned_with::<i32>(12, flags.mapped()).unwrap();
        assert_eq!(buffer.flags(), flags.mapped());
        drop(buffer);
        let mapped = MappedArray::<i32, D>::zeros_with(context, &[3, 4], flags).unwrap();
        let row = mapped.view().slice_axis(0, 1..2).unwrap();
        assert_ne!(mapped.address(), 0);
        assert_eq!(row.bytes().unwrap().address(), mapped.address() + 16);
    }

    /// Beyond the list: `fill` for elements of every width from 1 to 16 bytes, with gaps that stay.
    fn fill_of_every_width(context) {
        let stream = context.stream().unwrap();
        for width in 1..=16_usize {
            let value: Vec<u8> = (1..=16).take(width).collect();
            let mut array = devarray::ErasedArray::<D>::zeros(&stream, &[5, 7], width).unwrap();
            let view = array.view_mut().index(&ix![..; 2, ..; -3]).unwrap();
            { view }.fill_bytes(&stream, &value).unwrap();
            let bytes = array.view().to_bytes(&stream).unwrap();
            for (at, item) in bytes.chunks(width).enumerate() {
                let filled = (at / 7) % 2 == 0 && (at % 7) % 3 == 0;
                assert_eq!(item, if filled { &value[..] } else { &[0; 16][..width] }, "width {width}, {at}");
            }
        }
    }

    /// Beyond the list: bytes of device memory, in and out, in parts, between devices' buffers, bounds checked.
    fn bytes_of_device_memory(context) {
        let stream = context.stream().unwrap();
        let mut array = Array::<u8, D>::zeros(&stream, &[4, 8]).unwrap();
        let source = Array::from_slice(&stream, &[16], &(0..16).collect::<Vec<u8>>()).unwrap();
        let mut bytes = array.view_mut().bytes_mut().unwrap();
        bytes.copy_from_host(&stream, 30, &[7, 8]).unwrap();
        bytes.copy_from_device(&stream, 5, &source.view().bytes().unwrap().slice(3, 4).unwrap()).unwrap();
        let mut expected = [0; 32];
        expected[5..9].copy_from_slice(&[3, 4, 5, 6]);
        expected[30..].copy_from_slice(&[7, 8]);
        let mut part = [9; 10];
        bytes.as_view().copy_to_host(&stream, 22, &mut part).unwrap();
        assert_eq!(part[..], expected[22..]);
        for (position, len) in [(31, 2), (32, 1), (33, 0), (usize::MAX, 1), (0, 33)] {
            let outside = |result: devarray::Result<()>| {
                let error = result.unwrap_err();
                assert!(matches!(error, devarray::Error::Layout(LayoutError::OutOfBounds { .. }, ..)), "{error}");
            };
            outside(bytes.copy_from_host(&stream, position, &vec![1; len]));
            outside(bytes.as_view().copy_to_host(&stream, position, &mut vec![1; len]));
            outside(bytes.as_view().slice(position, len).map(drop));
        }
        drop(bytes);
        let host: HostArray<u8> = array.to_host(&stream).unwrap();
        assert_eq!(host.as_slice(), expected);
        let gaps = array.view().slice_axis(1, ..3).unwrap();
        assert_eq!(gaps.bytes().unwrap_err(), LayoutError::NeedsCopy.into());
        let row = array.view().slice_axis(0, 1..2).unwrap().bytes().unwrap();
        assert_eq!(row.address(), array.view().bytes().unwrap().address() + 8);
    }
}
