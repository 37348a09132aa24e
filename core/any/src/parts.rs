//! The built-in backends: types that hold a part of any of them, and macros that do the same to
//! each.

/// The built-in backends, by name.
pub const BUILT_IN: &[&str] = &[
    #[cfg(feature = "cuda")]
    "cuda",
    #[cfg(feature = "host")]
    "host",
    #[cfg(feature = "mock")]
    "mock",
];

/// Calls a macro with the given tokens, and for each backend with its feature, its variant, its
/// field, the method that asks for it, its device, and its name. `on_each!` repeats the list.
macro_rules! each_backend {
    ($macro:ident! { $($given:tt)* }) => {
        $macro! {
            { $($given)* }
            { "cuda" Cuda cuda as_cuda devarray_cuda::CudaDevice, "the CUDA backend" }
            { "host" Host host as_host devarray_host::HostDevice, "the CPU" }
            { "mock" Mock mock as_mock devarray_mock::MockDevice, "the simulator" }
        }
    };
}

/// Evaluates an expression with the parts that values hold, if all belong to one backend; otherwise
/// the expression after `else`.
macro_rules! on_each {
    ($(($any:ident, $value:expr, $part:ident)),+ => $body:expr $(, else $mixed:expr)?) => {
        match ($($value,)+) {
            #[cfg(feature = "cuda")]
            ($($any::Cuda($part),)+) => $body,
            #[cfg(feature = "host")]
            ($($any::Host($part),)+) => $body,
            #[cfg(feature = "mock")]
            ($($any::Mock($part),)+) => $body,
            $(
                #[allow(unreachable_patterns)] // if there is one backend
                _ => $mixed,
            )?
        }
    };
}

/// Declares an enum with a variant for each built-in backend. The types are in brackets.
macro_rules! one_of_each {
    (
        { $(#[$docs:meta])* $any:ident: [$($part:ty),*] }
        $({ $feature:tt $variant:ident $field:ident $as:ident $device:ty, $name:literal })*
    ) => {
        $(#[$docs])*
        #[non_exhaustive] // the list of variants depends on features
        pub enum $any {
            $(
                #[doc = concat!("Belongs to ", $name, ".")]
                #[cfg(feature = $feature)]
                $variant($part),
            )*
        }

        $(
            #[cfg(feature = $feature)]
            impl From<$part> for $any {
                #[inline]
                fn from(part: $part) -> Self {
                    Self::$variant(part)
                }
            }

            #[cfg(feature = $feature)]
            impl $any {
                #[doc = concat!("The one of ", $name, ", if it is one.")]
                #[must_use]
                pub fn $as(&self) -> Option<&$part> {
                    #[allow(unreachable_patterns)] // if there is one backend
                    match self {
                        Self::$variant(part) => Some(part),
                        _ => None,
                    }
                }
            }
        )*

        impl $any {
            /// The backend that it belongs to, in one word, as in
            /// [`DeviceInfo::backend`](devarray::backend::DeviceInfo::backend).
            #[must_use]
            pub fn backend(&self) -> &'static str {
                match self {
                    $(
                        #[cfg(feature = $feature)]
                        Self::$variant(_) => $feature,
                    )*
                }
            }
        }

        /// Prints what the backend's own buffer prints.
        impl std::fmt::Debug for $any {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                on_each!(($any, self, part) => std::fmt::Debug::fmt(part, f))
            }
        }
    };
}
