//! Arguments of kernels that core refuses, and arguments that it accepts.
#![allow(unsafe_code)] // adopts memory to try to use it twice
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{
    Array, Bool, Context, Error, Layout, Order, Result, StreamHandle,
    backend::Launch,
    ix,
    kernel::{Dense, Grid, Image, In, InOut, Kernel, KernelError, Out, Strided, has_len, same_shape},
};
use devarray_mock::MockDevice;

devarray::kernel! {
    struct Add(one: In<i32, Strided<1>>, two: In<i32, Strided<1>>, to: Out<i32, Strided<1>>);
    image = Image::none();
    launch { same_shape(one, to)?; same_shape(two, to)?; Grid::elements(to.len(), 64) }
    host { for (to, (one, two)) in to.iter_mut().zip(one.iter().zip(two.iter())) { *to = one + two } }
}

fn open() -> StreamHandle<MockDevice> {
    Context::new(MockDevice::builder().check_kernels(true).build()).unwrap().stream().unwrap()
}

fn kernel_error(launched: Result<()>) -> KernelError {
    match launched {
        Err(Error::Kernel { backend: "mock", kernel: "Add", error }) => error,
        other => panic!("{other:?}"),
    }
}

/// Makes two arrays on the same memory, like a tensor of other code that came through two doors,
/// runs the program on them, and takes the memory back.
fn twice(program: impl Fn(&StreamHandle<MockDevice>, &Array<i32, MockDevice>, &mut Array<i32, MockDevice>)) {
    let stream = open();
    let numbers: Vec<i32> = (0..12).collect();
    let released = Array::from_slice(&stream, &[12], &numbers).unwrap().release(&stream).unwrap();
    let (layout, address) = (Layout::contiguous(&[12], Order::C).unwrap(), released.address());
    // SAFETY: 48 bytes are allocated at the address until `reclaim`. That both arrays use them is
    // the mistake to be refused.
    let one = unsafe { Array::<i32, _>::adopt(&stream, address, &layout, "one") }.unwrap();
    // SAFETY: as above.
    let mut two = unsafe { Array::<i32, _>::adopt(&stream, address, &layout, "two") }.unwrap();
    program(&stream, &one, &mut two);
    drop((one, two));
    stream.synchronize().unwrap();
    // SAFETY: it is the buffer that was released, and nobody uses it.
    drop(unsafe { Array::<i32, _>::reclaim(&stream, released) }.unwrap());
}

#[test]
fn what_is_written_shares_no_memory_with_other_arguments() {
    twice(|stream, one, two| {
        let other = Array::full(stream, &[4], 1).unwrap();
        let even = one.index(&ix![..8; 2]).unwrap();
        for (range, apart) in
            [(ix![1..9; 2], true), (ix![2..10; 2], false), (ix![8..], true), (ix![6..10], false)]
        {
            let launched = Add::launch(stream, &other, &even, &mut two.view_mut().index(&range).unwrap());
            if apart {
                launched.unwrap();
            } else {
                assert_eq!(kernel_error(launched), KernelError::Overlap { argument: "to", other: "two" });
            }
        }
        // An array that is read may be read twice.
        let mut to = Array::uninit(stream, &[4]).unwrap();
        Add::launch(stream, &even, &two.slice_axis(0, ..4).unwrap(), &mut to).unwrap();
    });
}

devarray::kernel! {
    struct CountUp(to: InOut<u8, Strided<6>>);
    image = Image::none();
    launch { Grid::elements(to.len(), 64) }
    host { for byte in to.iter_mut() { *byte += 1 } }
}

/// Elements of other code that are interleaved along six axes. A search of fewer steps than the
/// limit finds that no two indices reach one element. With every second position along an axis the
/// search would take more steps, and an array that may reach an element twice is not written.
#[test]
fn what_is_written_reaches_no_element_twice_for_all_that_can_be_told() {
    let stream = Context::new(MockDevice::new()).unwrap().stream().unwrap();
    let (shape, strides) = ([13, 7, 12, 5, 4, 9], [244_187, 209_360, 127_249, 111_004, 7336, 260_305]);
    let layout = Layout::new(&shape, &strides, 0).unwrap();
    let memory = Array::<u8, _>::zeros(&stream, &[layout.span().end]).unwrap().release(&stream).unwrap();
    // SAFETY: the memory holds the elements, until `reclaim`.
    let mut array = unsafe { Array::<u8, _>::adopt(&stream, memory.address(), &layout, ()) }.unwrap();
    let mut half = array.view_mut().index(&ix![.., .., .., ..; 2, .., ..]).unwrap();
    let refused = CountUp::launch(&stream, &mut half);
    let Err(Error::Kernel { error, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(error, KernelError::Aliased { argument: "to" });
    drop(half);
    CountUp::launch(&stream, &mut array).unwrap();
    assert_eq!(array.to_vec(&stream).unwrap(), vec![1; shape.iter().product()]);
    drop(array);
    stream.synchronize().unwrap();
    // SAFETY: it is the buffer that was released, and nobody uses it.
    drop(unsafe { Array::<u8, _>::reclaim(&stream, memory) }.unwrap());
}

#[test]
fn what_is_read_may_be_repeated() {
    let stream = open();
    let (one, ten) = (Array::full(&stream, &[], 1).unwrap(), Array::full(&stream, &[1], 10).unwrap());
    let mut to = Array::uninit(&stream, &[3]).unwrap();
    let (one, ten) = (one.broadcast_to(&[3]).unwrap(), ten.broadcast_to(&[3]).unwrap());
    Add::launch(&stream, &one, &ten, &mut to).unwrap();
    assert_eq!(to.to_vec(&stream).unwrap(), [11; 3]);
}

#[test]
fn a_refusal_of_the_kernel_itself_is_a_pure_error() {
    let stream = open();
    let (one, mut to) = (Array::full(&stream, &[3], 1).unwrap(), Array::full(&stream, &[4], 2).unwrap());
    let launched = Add::launch(&stream, &one, &one, &mut to);
    let (expected, found) = ([3][..].into(), [4][..].into());
    let due = KernelError::Shape { argument: "to", other: "one", expected, found };
    assert_eq!(kernel_error(launched), due);
    assert_eq!(stream.context().statistics().launches, 0);
}

#[test]
fn a_hazard_names_the_argument() {
    let context = Context::new(MockDevice::new()).unwrap();
    let (one, two) = (context.strict_stream().unwrap(), context.strict_stream().unwrap());
    let (x, y) = (Array::full(&two, &[3], 1).unwrap(), Array::full(&one, &[3], 2).unwrap());
    let mut to = Array::uninit(&two, &[3]).unwrap();
    let refused = Add::launch(&two, &x, &y, &mut to).unwrap_err();
    let told = "mock: Add: argument `two` conflicts with an earlier write of bytes 0..12 on stream 1: wait for an event of that stream first";
    assert_eq!(refused.to_string(), told);
    let Error::Hazard { hazard, .. } = refused else { panic!("{refused}") };
    assert_eq!(hazard.argument, Some("two"));
    // A download is no kernel, so the hazard names no argument.
    let Err(Error::Hazard { hazard, .. }) = y.to_vec(&two) else { panic!("a read is not ordered") };
    assert_eq!(hazard.argument, None);
    two.wait(&one.record().unwrap()).unwrap();
    Add::launch(&two, &x, &y, &mut to).unwrap();
    assert_eq!(to.to_vec(&two).unwrap(), [3; 3]);
}

#[test]
fn every_error_says_what_is_wrong() {
    let told = [
        KernelError::NoImage,
        KernelError::Image { log: "line 7".to_owned() },
        KernelError::NoEntry { entry: "scale" },
        KernelError::ParameterCount { declared: 3, found: 5 },
        KernelError::ParameterSize { index: 4, argument: "k", declared_bytes: 4, found_bytes: 8 },
        KernelError::Constant { name: "table", declared_bytes: 12, found_bytes: Some(16) },
        KernelError::Constant { name: "table", declared_bytes: 12, found_bytes: None },
        KernelError::Limit { what: "threads of a block", requested: 2048, most: 1024 },
        KernelError::NotContiguous { argument: "from" },
        KernelError::Rank { argument: "from", expected: 2, found: 3 },
        KernelError::Length { argument: "from", expected: 4, found: 5 },
        KernelError::Shape {
            argument: "to",
            other: "from",
            expected: [2, 3][..].into(),
            found: [3, 2][..].into(),
        },
        KernelError::Refused { reason: "`k` must not be 0".to_owned() },
        KernelError::Aliased { argument: "to" },
        KernelError::Overlap { argument: "to", other: "from" },
    ];
    let due = [
        "the declaration has no image for this device",
        "the driver refused the image: line 7",
        "the image has no entry `scale`",
        "the entry takes 5 parameters, the declaration gives 3",
        "parameter 4 of the entry has 8 bytes, argument `k` gives 4",
        "the table `table` has 12 bytes, and in the image 16",
        "the table `table` has 12 bytes, and in the image there is none of this name",
        "2048 threads of a block: at most 1024",
        "argument `from` must be C-contiguous: `to_contiguous(&stream, Order::C)` makes it so",
        "argument `from` must have 2 axes, and has 3",
        "argument `from` must have 4 elements, and has 5",
        "argument `to` must have the shape of `from`, [2, 3], and has [3, 2]",
        "`k` must not be 0",
        "argument `to` is written, and reaches one element by two indices",
        "argument `to` is written, and shares memory with argument `from`",
    ];
    assert_eq!(told.map(|error| error.to_string()), due);
}

/// A pair of numbers, which a kernel takes by value.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Range {
    low: f32,
    high: f32,
}

devarray::kernel! {
    /// Whether each number is in the range.
    struct Within(from: In<f32, Dense<2>>, to: Out<Bool, Dense<2>>, range: Range, count: InOut<u64>);
    image = Image::none();
    launch { same_shape(from, to)?; has_len(count, 1)?; Grid::elements(to.len(), 64) }
    host {
        for (to, from) in to.iter_mut().zip(from.iter()) {
            *to = (range.low..range.high).contains(from).into();
            count[0] += u64::from(*to == Bool::TRUE);
        }
    }
}

/// A function that is generic over the device, like one in a library.
fn within<D: Launch>(
    stream: &StreamHandle<D>,
    numbers: &Array<f32, D>,
    range: Range,
) -> Result<(Vec<Bool>, u64)> {
    let mut found = Array::uninit(stream, numbers.shape())?;
    let mut count = Array::zeros(stream, &[])?;
    // It runs twice: arguments are borrowed only for the call.
    for _ in 0..2 {
        Within::launch(stream, numbers, &mut found, range, &mut count)?;
    }
    Ok((found.to_vec(stream)?, count.to_vec(stream)?[0]))
}

#[test]
fn a_kernel_of_records_and_truth_values_in_a_generic_function() {
    let stream = open();
    let numbers = Array::from_slice(&stream, &[2, 2], &[1.0, 2.0, 3.0, 4.0]).unwrap();
    let (found, count) = within(&stream, &numbers, Range { low: 2.0, high: 4.0 }).unwrap();
    assert_eq!((found, count), (vec![Bool::FALSE, Bool::TRUE, Bool::TRUE, Bool::FALSE], 4));
    let parameters: Vec<_> = Within::declaration().parameters().collect();
    let due = [
        ("from", 8),
        ("from", 8),
        ("from", 8),
        ("to", 8),
        ("to", 8),
        ("to", 8),
        ("range", 8),
        ("count", 8),
        ("count", 8),
    ];
    assert_eq!(parameters, due);
}

/// A type that means one thing where a kernel declares its argument and another where the argument
/// is given, because it uses a name that the macro uses.
/// is given: it depends on a name that the macro uses.
mod two_meanings {
    use devarray::kernel::{Argument, Grid, Image, In, Out};

    pub(super) const __KERNEL_TABLES: &[u8] = &[];
    static TABLE: [u8; 1] = [0];

    pub(super) struct Chosen<const N: usize>;

    pub(super) trait Choose {
        type Kind: Argument;
    }

    impl Choose for Chosen<0> {
        type Kind = In<u8>;
    }

    impl Choose for Chosen<1> {
        type Kind = Out<u8>;
    }

    devarray::kernel! {
        pub(super) struct Write(to: <Chosen<{ __KERNEL_TABLES.len() }> as Choose>::Kind);
        image = Image::none();
        constants { "table" => &TABLE }
        launch { Grid::elements(to.len(), 1) }
        host { to.fill(9) }
    }

    devarray::kernel! {
        pub(super) struct Longer(to: Out<[u8; 4 + 4 * __KERNEL_TABLES.len()]>);
        image = Image::none();
        constants { "table" => &TABLE }
        launch { Grid::elements(to.len(), 1) }
        host { to.fill([9; 8]) }
    }

    devarray::kernel! {
        pub(super) struct Value(to: Out<u8>, value: [u8; 4 + 4 * __KERNEL_TABLES.len()]);
        image = Image::none();
        constants { "table" => &TABLE }
        launch { Grid::elements(to.len(), 1) }
        host { to.copy_from_slice(&value) }
    }
}

#[test]
fn an_argument_is_given_as_it_is_declared() {
    let stream = open();
    let refused = |launched: Result<()>| match launched {
        Err(Error::Kernel { error: KernelError::Declaration { argument, .. }, .. }) => argument,
        other => panic!("{other:?}"),
    };
    let shared = Array::from_slice(&stream, &[4], &[7_u8; 4]).unwrap().into_shared();
    assert_eq!(refused(two_meanings::Write::launch(&stream, &shared)), "to");
    assert_eq!(shared.to_vec(&stream).unwrap(), [7; 4]);
    let mut items = Array::from_slice(&stream, &[1], &[[7_u8; 4]]).unwrap();
    assert_eq!(refused(two_meanings::Longer::launch(&stream, &mut items)), "to");
    assert_eq!(items.to_vec(&stream).unwrap(), [[7; 4]]);
    let mut bytes = Array::from_slice(&stream, &[8], &[7_u8; 8]).unwrap();
    assert_eq!(refused(two_meanings::Value::launch(&stream, &mut bytes, [9; 4])), "value");
    assert_eq!(bytes.to_vec(&stream).unwrap(), [7; 8]);
}
