//! The macro that declares a kernel.

/// Declares a kernel: a type with a function `launch`, which takes a stream and the arguments in
/// order.
///
/// ```
/// use devarray::{Array, Context, kernel::{Grid, Image, In, Out, has_len}};
///
/// # const SCALE: &str = ""; // stands for `include_str!("scale.ptx")`
/// devarray::kernel! {
///     /// Multiplies by a number: to = k · from.
///     pub struct Scale(from: In<f32>, to: Out<f32>, k: f32);
///
///     // SAFETY: the entry, which is `void scale(const float* from, size_t from_len, float* to, size_t to_len, float k)`,
///     // reads `from[i]` and writes `to[i]` for each i below `to_len`, which is `from_len`.
///     image = unsafe { Image::ptx(SCALE, "scale") };
///
///     launch {
///         has_len(from, to.len())?;
///         Grid::elements(to.len(), 256)
///     }
///
///     host {
///         for (to, from) in to.iter_mut().zip(from) {
///             *to = k * from;
///         }
///     }
/// }
///
/// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[3], &[1.0_f32, 2.0, 3.0])?;
/// let mut y = Array::uninit(&stream, &[3])?;
/// Scale::launch(&stream, &x, &mut y, 10.0)?;
/// assert_eq!(y.to_vec(&stream)?, [10.0, 20.0, 30.0]);
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// - [This table](mod@crate::kernel) lists the kinds of arguments.
/// - `image` names the device code of the declaration. The author vouches for the conditions of
///   [`Image::ptx`](crate::kernel::Image::ptx). The `unsafe` is the author's own, so the lint `unsafe_code`
///   sees it. [`Image::none()`](crate::kernel::Image::none) is safe: a kernel without an image runs on the
///   CPU and on the simulator.
/// - `constants { "table" => &TABLE, … }`, after the image and before `launch`, names tables for
///   variables in the image's constant memory; the host function uses the same `static`.
/// - `launch` is a block whose value is a [`Grid`](crate::kernel::Grid). `?` and `return` in it may
///   [refuse](crate::kernel::Refusal). In the block, an argument is its
///   [layout](crate::kernel::ArgumentLayout), or its value. The block checks preconditions of the
///   entry: lengths that must agree, values that must be in range. A call into a device from there panics.
/// - `host` is a block that does the work of the entry on slices or on
///   [views](crate::kernel::HostView). It sees only its arguments. A call into a device from there
///   panics, because the device waits for the block, and the panic is a finding. A thread that the
///   block starts and waits for must not call a device either. Objects of a device that are dropped
///   while a host function unwinds may end the process.
///
/// A launch that may be refused:
///
/// ```
/// # use devarray::{Array, Context};
/// use devarray::kernel::{Grid, Image, In, Out, ensure, has_len};
///
/// devarray::kernel! {
///     /// to = from[at]
///     struct Pick(from: In<f32>, to: Out<f32>, at: u64);
///     image = Image::none();
///     launch {
///         has_len(to, 1)?;
///         // The entry reads `from[at]` without looking: this is what makes it safe.
///         ensure(at < from.len() as u64, || format!("`at` is {at}, and `from` has {} elements", from.len()))?;
///         Grid::elements(1, 1)
///     }
///     host { to[0] = from[at as usize] }
/// }
///
/// # let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// # let x = Array::from_slice(&stream, &[3], &[1.0_f32, 2.0, 3.0])?;
/// # let mut y = Array::full(&stream, &[], 0.0)?;
/// Pick::launch(&stream, &x, &mut y, 2)?;
/// let refused = Pick::launch(&stream, &x, &mut y, 3).unwrap_err();
/// assert_eq!(refused.to_string(), "mock: Pick: `at` is 3, and `from` has 3 elements");
/// assert_eq!(y.to_vec(&stream)?, [3.0]);
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// The function `launch` takes references by value: a `&mut Array` that is used again is given as
/// `&mut *array`. It does not synchronize. It is ordered like any operation: it waits for work that conflicts
/// with it, and later conflicting work waits for it. A launch that has nothing to write launches nothing. On
/// the stream of a [recording](crate::recorded) it is recorded, with its values. The block `launch` runs
/// then, and again when recorded work is launched with arguments that begin elsewhere.
///
/// # Errors
///
/// `launch` returns:
///
/// - [`Error::Kernel`](crate::Error::Kernel): an argument is not contiguous though it must be, or
///   overlaps a written one; the block `launch` refuses; the driver refuses the image, or the image
///   differs from the declaration; there are not as many threads, or not as much memory, as the
///   grid asks for.
/// - [`Error::Recording`](crate::Error::Recording): an array is not an argument of the recording.
/// - [`Error::DeviceMismatch`](crate::Error::DeviceMismatch),
///   [`Error::Hazard`](crate::Error::Hazard), [`Error::Unsupported`](crate::Error::Unsupported),
///   and any other device error.
#[doc(alias = "RawKernel")]
#[doc(alias = "ElementwiseKernel")]
#[doc(alias = "SourceModule")]
#[macro_export]
macro_rules! kernel {
    (
        $(#[$meta:meta])*
        $vis:vis struct $Kernel:ident($($arg:ident: $kind:ty),* $(,)?);

        image = $image:expr;

        $(constants { $($name:literal => $table:expr),* $(,)? })?

        launch $launch:block

        host $host:block
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy)]
        $vis struct $Kernel;

        // Names of items and of types are not hygienic: names that begin with `__` belong to this
        // macro. The macro names the types of arguments in several places, and in some of them such
        // items are in scope. So `submit` and `host_argument` compare the given type with the
        // declared one.
        impl $Kernel {
            /// Enqueues the kernel. Does not synchronize. `devarray::kernel!` lists the errors.
            #[track_caller]
            #[allow(dead_code, clippy::too_many_arguments, clippy::missing_errors_doc)]
            #[allow(clippy::undocumented_unsafe_blocks)]
            $vis fn launch<'call, __Device: $crate::backend::Launch>(
                stream: &$crate::StreamHandle<__Device>,
                $($arg: impl $crate::kernel::PassesAs<'call, $kind, __Device>,)*
            ) -> $crate::Result<()> {
                #[allow(unused_variables, clippy::unnecessary_wraps)]
                fn __kernel_grid(
                    $($arg: <$kind as $crate::kernel::Argument>::Known<'_>,)*
                ) -> ::core::result::Result<$crate::kernel::Grid, $crate::kernel::Refusal> {
                    ::core::result::Result::Ok($launch)
                }
                $(let $arg = $crate::kernel::PassesAs::<'call, $kind, __Device>::bind($arg);)*
                let arguments = [$(<$kind as $crate::kernel::Argument>::erased::<__Device>(&$arg),)*];
                // This is a function, not a closure that holds the arguments, because a recording
                // keeps it.
                let grid: $crate::kernel::GridOf<__Device> = |given| {
                    let [$($arg,)*] = given else {
                        ::core::unreachable!("there is one argument for each that is declared")
                    };
                    __kernel_grid($(<$kind as $crate::kernel::Argument>::known::<__Device>(
                        $arg,
                        ::core::stringify!($arg),
                    ),)*)
                };
                // SAFETY: there is one argument for each that is declared, in order; the grid is the
                // kernel's own answer to them.
                unsafe { $crate::kernel::submit::<Self, __Device>(stream, grid, &arguments) }
            }
        }

        // SAFETY: the declaration is one `static`; the author of the image vouches for it, and
        // `__kernel_erased` calls safe code with the arguments as they are declared.
        unsafe impl $crate::kernel::Kernel for $Kernel {
            fn declaration() -> &'static $crate::kernel::Declaration {
                #[allow(unused_variables, unused_mut, clippy::too_many_arguments)]
                fn __kernel_host($(mut $arg: <$kind as $crate::kernel::Argument>::Host<'_>,)*) $host

                #[allow(unused_mut, unused_variables, clippy::undocumented_unsafe_blocks)]
                unsafe fn __kernel_erased(arguments: &[$crate::kernel::HostArgument<'_>]) {
                    let mut arguments = arguments.iter().zip(__KERNEL_DECLARATION.arguments());
                    $(
                        let (argument, declared) = arguments.next().expect(::core::stringify!($arg));
                        // SAFETY: the caller gives the arguments of the declaration below, in its
                        // order.
                        let $arg = unsafe { $crate::kernel::host_argument::<$kind>(argument, declared.kind) };
                    )*
                    // SAFETY: it is dropped when the host function returns or unwinds.
                    let _running = unsafe { $crate::kernel::Running::new(::core::stringify!($Kernel)) };
                    __kernel_host($($arg,)*);
                }

                // The author's expression stands in no `unsafe` block of this macro: the author
                // writes the `unsafe`.
                const __KERNEL_IMAGE: $crate::kernel::Image = $image;
                const __KERNEL_TABLES: &[$crate::kernel::Constant] =
                    &[$($($crate::kernel::Constant::new($name, $table),)*)?];

                #[allow(clippy::undocumented_unsafe_blocks)]
                // SAFETY: as for the trait.
                static __KERNEL_DECLARATION: $crate::kernel::Declaration = unsafe {
                    $crate::kernel::Declaration::new(
                        ::core::stringify!($Kernel),
                        __KERNEL_IMAGE,
                        &[$($crate::kernel::ArgumentDeclaration::new(
                            ::core::stringify!($arg),
                            <$kind as $crate::kernel::Argument>::KIND,
                        ),)*],
                        __KERNEL_TABLES,
                        __kernel_erased,
                    )
                };
                &__KERNEL_DECLARATION
            }
        }
    };
    (
        $(#[$meta:meta])*
        $vis:vis struct $Kernel:ident $arguments:tt;
        image = $image:expr;
        $(constants $constants:tt)?
        launch $launch:block
    ) => {
        ::core::compile_error!("a kernel ends with `host { … }`: what its entry does, in Rust, on memory of the host");
    };
}
