//! Kernels of the program's own on the fake: images loaded, questions asked, arguments passed, and
//! objects left.
#![allow(unsafe_code)] // declares kernels, and reads the memory of the fake

use std::{num::NonZeroI32, slice};

use devarray::{
    Array, Context, Error, Result, StreamHandle,
    kernel::{Dense, Grid, Image, In, InOut, KernelError, Out, Strided, has_len},
};
use devarray_cuda::{
    CudaDevice,
    driver::{Fault, Function},
};

use super::{programs_of::Launched, state::Fake};

/// The text that the fake takes for an image of a program: entries by name, with their parameters,
/// and tables.
const IMAGE: &str = "// An image of a program
.visible .const .align 8 .b8 table[24];
.visible .entry mixed(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u64 e, .param .u64 f,
    .param .u64 g, .param .u64 h, .param .u64 i, .param .u64 j, .param .align 4 .b8 k[12])
.visible .entry scale(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u32 e)
";

devarray::kernel! {
    struct Mixed(flat: In<u8>, dense: Out<u16, Dense<2>>, strided: InOut<f64, Strided<2>>, value: [u32; 3]);
    // SAFETY: the fake runs nothing.
    image = unsafe { Image::ptx(IMAGE, "mixed") };
    launch { Grid::new([3, 2, 1], [32, 4, 1]) }
    host { dense.fill(u16::from(flat[0])); strided[[0, 0]] = f64::from(value[0]) }
}

/// The table.
static TABLE: [u64; 3] = [1, 1 << 40, u64::MAX];
/// One that is too short.
static SHORT: [u64; 1] = [1];

devarray::kernel! {
    struct Scale(from: In<u32>, to: Out<u32>, k: u32);
    // SAFETY: the fake runs nothing.
    image = unsafe { Image::ptx(IMAGE, "scale") };
    constants { "table" => &TABLE }
    launch { has_len(from, to.len())?; Grid::elements(to.len(), 64).shared_bytes(3).cooperative().cluster([1, 1, 1]) }
    host { to.fill(from[0] * k) }
}

fn open(fake: &Fake) -> Context<CudaDevice> {
    Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap()
}

fn close(fake: &Fake, context: Context<CudaDevice>) {
    assert_eq!(context.take_errors(), []);
    assert_eq!(context.device().take_errors(), []);
    drop(context);
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    fake.assert_proper();
}

/// Launches one of each way.
pub(crate) fn program(stream: &StreamHandle<CudaDevice>) -> Result<()> {
    let from = Array::full(stream, &[100], 3_u32)?;
    Scale::launch(stream, &from, &mut Array::uninit(stream, &[100])?, 5)?;
    let (flat, mut strided) = (Array::full(stream, &[4], 1_u8)?, Array::full(stream, &[2, 2], 1.0)?);
    Mixed::launch(stream, &flat, &mut Array::uninit(stream, &[2, 2])?, &mut strided, [1, 2, 3])
}

#[test]
fn arguments_are_passed_as_they_are_declared() {
    let fake = Fake::new();
    let context = open(&fake);
    let stream = context.stream().unwrap();
    let flat = Array::full(&stream, &[2, 50], 1_u8).unwrap();
    let mut dense = Array::<u16, _>::uninit(&stream, &[5, 7]).unwrap();
    let mut strided = Array::full(&stream, &[6, 4], 1.0).unwrap();
    let [a, b, c] = [flat.view().address(), dense.view().address(), strided.view().address()];
    let mut part = strided.view_mut().index(&devarray::ix![..; -2, 1..3]).unwrap();
    Mixed::launch(&stream, &flat.slice_axis(0, 1..).unwrap(), &mut dense, &mut part, [7, 8, 9]).unwrap();
    drop(part);
    let words = |words: &[u64]| words.iter().map(|word| word.to_le_bytes().to_vec()).collect::<Vec<_>>();
    let mut parameters =
        words(&[a + 50, 50, b, 5, 7, c + (5 * 4 + 1) * 8, 3, 2, (-8_i64).cast_unsigned(), 1]);
    parameters.push([7_u32, 8, 9].iter().flat_map(|word| word.to_le_bytes()).collect());
    let launched = fake.state(|state| std::mem::take(&mut state.programs.launched));
    let (grid, block, attributes) = ([3, 2, 1], [32, 4, 1], vec![]);
    assert_eq!(launched, [Launched { grid, block, shared_bytes: 0, parameters, attributes }]);
    // No element: no address.
    let nothing = Array::<u8, _>::uninit(&stream, &[0]).unwrap();
    Mixed::launch(&stream, &nothing, &mut dense, &mut strided, [0; 3]).unwrap();
    let launched = fake.state(|state| std::mem::take(&mut state.programs.launched));
    assert_eq!(launched[0].parameters[..2], words(&[0, 0]));
    drop((flat, dense, strided, nothing, stream));
    close(&fake, context);
}

#[test]
fn tables_are_written_once_and_launches_ask_for_what_they_need() {
    let fake = Fake::new();
    let context = open(&fake);
    let stream = context.stream().unwrap();
    let from = Array::full(&stream, &[100], 3_u32).unwrap();
    let mut to = Array::uninit(&stream, &[100]).unwrap();
    for _ in 0..3 {
        Scale::launch(&stream, &from, &mut to, 5).unwrap();
    }
    let driver = context.device().driver();
    assert_eq!((driver.calls(Function::ModuleLoadDataEx), driver.calls(Function::ModuleGetGlobal)), (1, 1));
    let (launched, allowed) = fake.state(|state| {
        let (&(address, len), programs) = (state.globals.values().next().unwrap(), &mut state.programs);
        let taken = (std::mem::take(&mut programs.launched), std::mem::take(&mut programs.allowed));
        // SAFETY: the variable lies there.
        let held = unsafe { slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(address), len) };
        assert_eq!(held, TABLE.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>());
        taken
    });
    assert_eq!(allowed, [3], "asked for once");
    assert_eq!(launched.len(), 3);
    assert_eq!(launched[0].attributes, [(2, [1, 0, 0]), (4, [1, 1, 1])]);
    assert_eq!((launched[0].grid, launched[0].block, launched[0].shared_bytes), ([2, 1, 1], [64, 1, 1], 3));
    drop((from, to, stream));
    close(&fake, context);
}

/// An entry of an image.
const fn entry(image: &'static str, entry: &'static str) -> Image {
    // SAFETY: the fake runs nothing.
    unsafe { Image::ptx(image, entry) }
}

/// A kernel of the image whose declaration, or what it asks for, is wrong in one way.
macro_rules! wrong {
    ($name:ident, $image:expr, $value:ty, $grid:expr $(, $table:expr)?) => {
        devarray::kernel! {
            struct $name(from: In<u32>, to: Out<u32>, k: $value);
            image = $image;
            constants { $("table" => $table)? }
            launch { $grid }
            host { to.copy_from_slice(from) }
        }
    };
}

wrong!(WiderValue, entry(IMAGE, "scale"), u64, Grid::elements(7, 64));
wrong!(OtherEntry, entry(IMAGE, "mixed"), u32, Grid::elements(7, 64));
wrong!(NoEntry, entry(IMAGE, "scales"), u32, Grid::elements(7, 64));
wrong!(NoImage, Image::none(), u32, Grid::elements(7, 64));
wrong!(BadImage, entry("nonsense", "scale"), u32, Grid::elements(7, 64));
wrong!(ShortTable, entry(IMAGE, "scale"), u32, Grid::elements(7, 64), &SHORT);
wrong!(Threads, entry(IMAGE, "scale"), u32, Grid::elements(7, 1024));
wrong!(Shared, entry(IMAGE, "scale"), u32, Grid::elements(7, 64).shared_bytes(232_447));
wrong!(Cooperative, entry(IMAGE, "scale"), u32, Grid::new([265, 1, 1], [1, 1, 1]).cooperative());
wrong!(Clusters, entry(IMAGE, "scale"), u32, Grid::new([16, 1, 1], [1, 1, 1]).cluster([16, 1, 1]));

devarray::kernel! {
    struct Fewer(from: In<u32>, to: Out<u32>);
    image = entry(IMAGE, "scale");
    launch { Grid::elements(7, 64) }
    host { to.copy_from_slice(from) }
}

devarray::kernel! {
    struct NoTable(from: In<u32>, to: Out<u32>, k: u32);
    image = entry(IMAGE, "scale");
    constants { "chart" => &SHORT }
    launch { Grid::elements(7, 64) }
    host { to.fill(from[0] * k) }
}

#[test]
fn what_an_image_or_a_device_does_not_have_is_told_and_leaves_nothing() {
    for has_parameter_info in [true, false] {
        let fake = Fake::new();
        let table = super::driver::table();
        let table = if has_parameter_info { table } else { table.without(Function::FuncGetParamInfo) };
        let device = CudaDevice::open_with(&fake.driver_of(table), 0).unwrap();
        let context = Context::new(device).unwrap();
        let stream = context.stream().unwrap();
        let from = Array::full(&stream, &[7], 3_u32).unwrap();
        let mut to = Array::uninit(&stream, &[7]).unwrap();
        let (s, x, y) = (&stream, &from, &mut to);
        let limit = |what, requested, most| KernelError::Limit { what, requested, most };
        let (declared_bytes, found_bytes) = (8, Some(24));
        let (index, argument) = (4, "k");
        let log = "no body\nCUDA_ERROR_INVALID_PTX (218)".to_owned();
        let cases = [
            (
                WiderValue::launch(s, x, &mut *y, 5),
                KernelError::ParameterSize { index, argument, declared_bytes: 8, found_bytes: 4 },
            ),
            (
                OtherEntry::launch(s, x, &mut *y, 5),
                KernelError::ParameterSize { index, argument, declared_bytes: 4, found_bytes: 8 },
            ),
            (Fewer::launch(s, x, &mut *y), KernelError::ParameterCount { declared: 4, found: 5 }),
            (
                NoTable::launch(s, x, &mut *y, 5),
                KernelError::Constant { name: "chart", declared_bytes, found_bytes: None },
            ),
            (NoEntry::launch(s, x, &mut *y, 5), KernelError::NoEntry { entry: "scales" }),
            (NoImage::launch(s, x, &mut *y, 5), KernelError::NoImage),
            (BadImage::launch(s, x, &mut *y, 5), KernelError::Image { log }),
            (
                ShortTable::launch(s, x, &mut *y, 5),
                KernelError::Constant { name: "table", declared_bytes, found_bytes },
            ),
            (
                Threads::launch(s, x, &mut *y, 5),
                limit("threads of a block, with the registers that the kernel takes", 1024, 512),
            ),
            (Shared::launch(s, x, &mut *y, 5), limit("bytes of shared memory of a block", 232_447, 232_446)),
            (Cooperative::launch(s, x, &mut *y, 5), limit("blocks that run at once", 265, 264)),
            (Clusters::launch(s, x, &mut *y, 5), limit("blocks of a cluster", 16, 8)),
        ];
        for (launched, due) in cases {
            let Err(Error::Kernel { backend: "cuda", error, .. }) = launched else {
                panic!("{due}: {launched:?}")
            };
            match (&error, &due) {
                // The name of the code is the driver's to say.
                (KernelError::Image { log }, KernelError::Image { .. }) => {
                    assert!(log.starts_with("no body\n"), "{log}")
                }
                _ => assert_eq!(error, due),
            }
        }
        assert_eq!(fake.state(|state| std::mem::take(&mut state.programs.launched)), []);
        // The ones that were refused for what they ask left one image; the others left none.
        assert_eq!(context.device().loaded_images(), 1);
        drop((from, to, stream));
        close(&fake, context);
    }
}

/// The bytes that the fake takes for machine code.
const fn code() -> Image {
    const CODE: &[u8] = b"// An image of a program
.visible .entry scale(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u32 e)\0";
    // SAFETY: the fake runs nothing.
    unsafe { Image::binary(CODE, "scale") }
}
wrong!(OfCode, code(), u32, Grid::elements(7, 64));

#[test]
fn machine_code_goes_to_the_driver_as_it_is() {
    let fake = Fake::new();
    let context = open(&fake);
    let stream = context.stream().unwrap();
    let (from, mut to) = (Array::full(&stream, &[7], 3_u32).unwrap(), Array::uninit(&stream, &[7]).unwrap());
    OfCode::launch(&stream, &from, &mut to, 5).unwrap();
    assert_eq!(fake.state(|state| std::mem::take(&mut state.programs.launched)).len(), 1);
    drop((from, to, stream));
    close(&fake, context);
}

/// A hundred declarations with tables, so a hundred modules.
mod hundred {
    use super::*;

    macro_rules! kernels {
        ($($name:ident)*) => {
            $(wrong!($name, entry(IMAGE, "scale"), u32, Grid::elements(10, 64), &TABLE);)*

            pub(super) fn launch_all(
                stream: &StreamHandle<CudaDevice>,
                from: &Array<u32, CudaDevice>,
                to: &mut Array<u32, CudaDevice>,
            ) -> Result<usize> {
                let mut count = 0;
                $($name::launch(stream, from, &mut *to, 3)?; count += 1;)*
                Ok(count)
            }
        };
    }

    kernels! {
        A0 A1 A2 A3 A4 A5 A6 A7 A8 A9 B0 B1 B2 B3 B4 B5 B6 B7 B8 B9 C0 C1 C2 C3 C4 C5 C6 C7 C8 C9 D0 D1 D2 D3 D4 D5 D6 D7 D8 D9
        E0 E1 E2 E3 E4 E5 E6 E7 E8 E9 F0 F1 F2 F3 F4 F5 F6 F7 F8 F9 G0 G1 G2 G3 G4 G5 G6 G7 G8 G9 H0 H1 H2 H3 H4 H5 H6 H7 H8 H9
        I0 I1 I2 I3 I4 I5 I6 I7 I8 I9 J0 J1 J2 J3 J4 J5 J6 J7 J8 J9
    }
}

#[test]
fn ten_thousand_launches_of_a_hundred_kernels_leave_nothing_behind() {
    let fake = Fake::new();
    let context = open(&fake);
    let stream = context.stream().unwrap();
    let from = Array::full(&stream, &[10], 3_u32).unwrap();
    let mut to = Array::uninit(&stream, &[10]).unwrap();
    fake.state(|state| state.programs.counts_only = true);
    let mut launches = hundred::launch_all(&stream, &from, &mut to).unwrap();
    let (live, calls) = (fake.state(|state| state.live.len()), context.device().driver().total_calls());
    while launches < 10_000 {
        launches += hundred::launch_all(&stream, &from, &mut to).unwrap();
    }
    assert_eq!((launches, fake.state(|state| state.programs.counted)), (10_000, 10_000));
    assert_eq!(fake.state(|state| state.live.len()), live, "nothing is made for a launch");
    let driver = context.device().driver().clone();
    assert_eq!(driver.calls(Function::ModuleLoadDataEx), 100);
    assert_eq!(driver.total_calls() - calls, 2 * 9_900, "is the context current, and launch");
    drop((from, to, stream));
    close(&fake, context);
    assert_eq!(driver.calls(Function::ModuleUnload), 100);
}

#[test]
fn a_load_that_fails_anywhere_is_tried_again_by_the_next_launch() {
    let functions = [
        Function::ModuleLoadDataEx,
        Function::ModuleGetGlobal,
        Function::MemcpyHtoDAsync,
        Function::StreamSynchronize,
        Function::ModuleGetFunction,
        Function::FuncGetAttribute,
        Function::FuncSetAttribute,
        Function::OccupancyMaxActiveBlocks,
        Function::LaunchKernelEx,
    ];
    for function in functions {
        let fake = Fake::new();
        let context = open(&fake);
        let stream = context.stream().unwrap();
        let from = Array::full(&stream, &[10], 3_u32).unwrap();
        let mut to = Array::uninit(&stream, &[10]).unwrap();
        let driver = context.device().driver().clone();
        driver.fail(Fault::new(0, NonZeroI32::new(999).unwrap()).of(function));
        let failed = Scale::launch(&stream, &from, &mut to, 5);
        assert!(driver.heal(), "{function:?} was called");
        assert!(
            matches!(&failed, Err(Error::Driver { operation: "Scale", code: 999, .. })),
            "{function:?}: {failed:?}"
        );
        Scale::launch(&stream, &from, &mut to, 5).unwrap();
        assert_eq!(fake.state(|state| state.programs.launched.len()), 1, "{function:?}");
        drop((from, to, stream));
        close(&fake, context);
    }
}

/// An image that begins another one: it has no entry.
const HEAD: &str = IMAGE.split_at(24).0;

wrong!(OfImage, entry(IMAGE, "scale"), u32, Grid::elements(7, 64));
wrong!(OfHead, entry(HEAD, "scale"), u32, Grid::elements(7, 64));

#[test]
fn an_image_that_begins_another_is_another() {
    let fake = Fake::new();
    let context = open(&fake);
    let stream = context.stream().unwrap();
    let (from, mut to) =
        (Array::full(&stream, &[7], 3_u32).unwrap(), Array::full(&stream, &[7], 3_u32).unwrap());
    OfImage::launch(&stream, &from, &mut to, 5).unwrap();
    let Err(Error::Kernel { error, .. }) = OfHead::launch(&stream, &from, &mut to, 5) else {
        panic!("launched")
    };
    assert_eq!(error, KernelError::NoEntry { entry: "scale" });
    assert_eq!(context.device().loaded_images(), 1);
    drop((from, to, stream));
    close(&fake, context);
}

#[test]
fn one_kernel_on_two_devices_has_a_module_on_each() {
    let fake = Fake::new();
    let driver = fake.driver();
    let [one, two] =
        [0, 1].map(|ordinal| Context::new(CudaDevice::open_with(&driver, ordinal).unwrap()).unwrap());
    for context in [&one, &two, &one] {
        program(&context.stream().unwrap()).unwrap();
        assert_eq!(context.device().loaded_images(), 2, "one with the table, and one without");
    }
    assert_eq!(driver.calls(Function::ModuleLoadDataEx), 4);
    drop(one);
    program(&two.stream().unwrap()).unwrap();
    assert_eq!(driver.calls(Function::ModuleLoadDataEx), 4, "those of the other device are not touched");
    close(&fake, two);
}

#[test]
fn threads_that_launch_a_kernel_first_at_once_load_it_once() {
    let fake = Fake::new();
    let context = open(&fake);
    let from = Array::full(&context.stream().unwrap(), &[10], 3_u32).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                fake.install();
                let stream = context.stream().unwrap();
                let mut to = Array::uninit(&stream, &[10]).unwrap();
                (0..20).for_each(|_| Scale::launch(&stream, &from, &mut to, 5).unwrap());
            });
        }
    });
    assert_eq!(context.device().driver().calls(Function::ModuleLoadDataEx), 1);
    let allowed = fake.state(|state| std::mem::take(&mut state.programs.allowed));
    assert_eq!(allowed, [3], "asked for once");
    drop(from);
    close(&fake, context);
}
