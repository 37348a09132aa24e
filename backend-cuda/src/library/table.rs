//! A table of a library's functions.
#![allow(unsafe_code)] // function pointers of a library, and the one place that looks them up

/// Declares `Table`: a pointer for each function, whose C name and arguments are given once. A function returns an
/// `i32`, because a newer library may return a status that no enum names yet.
macro_rules! table {
    ($($name:ident = $symbol:literal ($($arg:ident: $type:ty),*);)*) => {
        /// The addresses of the library's functions. All of them exist.
        #[derive(Clone, Copy)]
        #[allow(missing_debug_implementations, reason = "addresses mean nothing to anybody")]
        pub struct Table {
            $(
                #[doc = concat!("`", $symbol, "`.")]
                pub $name: unsafe extern "C" fn($($arg: $type),*) -> i32,
            )*
        }

        #[allow(unsafe_code)] // looks functions up
        impl Table {
            /// Looks the functions up. The error is the name of a missing one.
            ///
            /// # Safety
            ///
            /// The library is the one whose header declares these functions so, and stays open as long as a table of
            /// its functions is used.
            pub(super) unsafe fn of(library: &libloading::Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $(
                        // SAFETY: the header has this signature, as the caller promises. A status is an `int` there,
                        // and handles are pointers.
                        $name: *unsafe { library.get::<unsafe extern "C" fn($($type),*) -> i32>($symbol.as_bytes()) }
                            .map_err(|_| $symbol)?,
                    )*
                })
            }
        }
    };
}
pub(crate) use table;
