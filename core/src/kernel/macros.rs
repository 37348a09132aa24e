//! The macro that declares a kernel.

/// Declares a kernel: a type with a function `launch`, which takes a stream and the arguments in
/// order.
///
/// ```
/// #![allow(unsafe_code)]
/// use devarray::{Array, Context, kernel::{Grid, Image, In, Out, has_len}};
///
/// devarray::kernel! {
///     /// Multiplies by a number: to = k · from.
///     pub struct Scale(from: In<f32>, to: Out<f32>, k: f32);
///
///     // SAFETY: the entry, which is `void scale(const float* from, size_t from_len, float* to, size_t to_len, float k)`,
///     // reads `from[i]` and writes `to[i]` for each i below `to_len`, which is `from_len`.
///     unsafe image = Image::none(); // Image::ptx(include_str!("scale.ptx"), "scale")
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
/// - The arguments are those of [this table](mod@crate::kernel).
/// - `unsafe image` is where device code and declaration meet, so it is where the safety lies: what
///   [`Declaration::new`](crate::kernel::Declaration::new) asks.
/// - `constants { "table" => &TABLE, … }`, after the image and before `launch`, names tables for
///   variables in the image's constant memory; the host function uses the same `static`.
/// - `launch` is an expression of type [`Grid`](crate::kernel::Grid), in which `?` may refuse. An
///   argument is its [`Layout`](crate::Layout) there, or its value. What the entry relies on is
///   checked here: lengths that must agree, values that must be in range.
/// - `host` is a block that does what the entry does, to slices or to
///   [views](crate::kernel::HostView).
///
/// The function `launch` takes references by value: a `&mut Array` that is used again is given as
/// `&mut *array`. It does not synchronize. It is ordered with other work as any operation is: it
/// waits for what wrote what it reads, and what uses what it writes waits for it. A launch that has
/// nothing to write launches nothing.
///
/// # Errors
///
/// Of `launch`:
///
/// - [`Error::Kernel`](crate::Error::Kernel): an argument that is not contiguous though it must be,
///   or that overlaps one that is written; an image that the driver refuses or that is not what is
///   declared; more threads or memory than there are.
/// - [`Error::Layout`](crate::Error::Layout): what the part `launch` refuses.
/// - [`Error::DeviceMismatch`](crate::Error::DeviceMismatch),
///   [`Error::Hazard`](crate::Error::Hazard), [`Error::Unsupported`](crate::Error::Unsupported),
///   and what else the device says.
#[doc(alias = "RawKernel")]
#[doc(alias = "ElementwiseKernel")]
#[doc(alias = "SourceModule")]
#[macro_export]
macro_rules! kernel {
    (
        $(#[$meta:meta])*
        $vis:vis struct $Kernel:ident($($arg:ident: $kind:ty),* $(,)?);

        $unsafe:ident image = $image:expr;

        $(constants { $($name:literal => $table:expr),* $(,)? })?

        launch $launch:block

        host $host:block
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy)]
        $vis struct $Kernel;

        impl $Kernel {
            /// Enqueues the kernel. Does not synchronize. See [`kernel!`](devarray::kernel!) for the errors.
            #[track_caller]
            #[allow(dead_code, clippy::too_many_arguments, clippy::missing_errors_doc)]
            $vis fn launch<'given, D: $crate::backend::Launch>(
                stream: &$crate::StreamHandle<D>,
                $($arg: impl $crate::kernel::Given<'given, $kind, D>,)*
            ) -> $crate::Result<()> {
                #[allow(unused_variables, clippy::unnecessary_wraps)]
                fn grid(
                    $($arg: <$kind as $crate::kernel::Argument>::Known<'_>,)*
                ) -> $crate::Result<$crate::kernel::Grid> {
                    ::core::result::Result::Ok($launch)
                }
                $(let $arg = $crate::kernel::Given::<'given, $kind, D>::bind($arg);)*
                $crate::kernel::submit::<Self, D>(
                    stream,
                    || grid($(<$kind as $crate::kernel::Argument>::known::<D>(&$arg),)*),
                    &[$(<$kind as $crate::kernel::Argument>::erased::<D>(&$arg),)*],
                )
            }
        }

        // SAFETY: the author of the declaration vouches, by the word before `image`.
        $unsafe impl $crate::kernel::Kernel for $Kernel {
            fn declaration() -> &'static $crate::kernel::Declaration {
                #[allow(unused_variables, unused_mut, clippy::too_many_arguments)]
                fn host($(mut $arg: <$kind as $crate::kernel::Argument>::Host<'_>,)*) $host

                #[allow(unused_mut, unused_variables, clippy::undocumented_unsafe_blocks)]
                $unsafe fn erased(arguments: &[$crate::kernel::HostArgument<'_>]) {
                    let mut arguments = arguments.iter();
                    host($({
                        let argument = arguments.next().expect(::core::stringify!($arg));
                        // SAFETY: the caller's promise; the arguments are those of the declaration below, in its order.
                        $unsafe { <$kind as $crate::kernel::Argument>::host(argument) }
                    },)*);
                }

                // Outside the block below: what the author writes here is safe code. Names of items are not
                // hygienic, so these are nobody else's.
                const __KERNEL_IMAGE: $crate::kernel::Image = $image;
                const __KERNEL_TABLES: &[$crate::kernel::Constant] =
                    &[$($($crate::kernel::Constant::new($name, $table),)*)?];

                #[allow(clippy::undocumented_unsafe_blocks)]
                // SAFETY: as the author of the declaration vouches; `erased` calls `host` with the arguments, in order.
                static DECLARATION: $crate::kernel::Declaration = $unsafe {
                    $crate::kernel::Declaration::new(
                        ::core::stringify!($Kernel),
                        __KERNEL_IMAGE,
                        &[$($crate::kernel::ArgumentDeclaration::new(
                            ::core::stringify!($arg),
                            <$kind as $crate::kernel::Argument>::KIND,
                        ),)*],
                        __KERNEL_TABLES,
                        erased,
                    )
                };
                &DECLARATION
            }
        }
    };
}
