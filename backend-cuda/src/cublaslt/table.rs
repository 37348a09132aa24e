//! The functions that are called, each listed once, and the status of a call.
#![allow(unsafe_code)] // function pointers of the library, and the one place that looks them up

use std::{
    ffi::{c_int, c_void},
    fmt,
};

use libloading::Library;

/// A handle of the library: of itself, of a description, a layout or a preference.
pub type Opaque = *mut c_void;

/// A status that is not success. An integer, because a newer library may answer one without a name here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(pub i32);

impl Status {
    /// No algorithm makes the product that was asked for.
    pub const NOT_SUPPORTED: Self = Self(15);

    /// The status of a call's answer.
    pub(crate) fn check(answer: i32) -> Result<(), Self> {
        if answer == 0 { Ok(()) } else { Err(Self(answer)) }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            1 => "CUBLAS_STATUS_NOT_INITIALIZED",
            3 => "CUBLAS_STATUS_ALLOC_FAILED",
            7 => "CUBLAS_STATUS_INVALID_VALUE",
            8 => "CUBLAS_STATUS_ARCH_MISMATCH",
            11 => "CUBLAS_STATUS_MAPPING_ERROR",
            13 => "CUBLAS_STATUS_EXECUTION_FAILED",
            14 => "CUBLAS_STATUS_INTERNAL_ERROR",
            15 => "CUBLAS_STATUS_NOT_SUPPORTED",
            16 => "CUBLAS_STATUS_LICENSE_ERROR",
            code => return write!(f, "{code}"),
        })
    }
}

/// `cublasLtMatmulAlgo_t`: how a product is made, which the library alone can read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Algorithm(pub [u64; 8]);

/// `cublasLtMatmulHeuristicResult_t`: an algorithm that the library proposes.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Found {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Bytes of memory that it needs.
    pub workspace_bytes: usize,
    /// A status: 0 if the rest is meant.
    pub state: i32,
    /// The number of times it fills the device.
    pub waves: f32,
    /// Not used.
    pub reserved: [c_int; 4],
}

macro_rules! functions {
    ($($name:ident = $symbol:literal ($($arg:ident: $type:ty),*);)*) => {
        /// The addresses of the library's functions, all of them there.
        #[derive(Clone, Copy)]
        #[allow(missing_debug_implementations, reason = "addresses mean nothing to anybody")]
        pub struct Table {
            $(
                #[doc = concat!("`", $symbol, "`.")]
                pub $name: unsafe extern "C" fn($($arg: $type),*) -> i32,
            )*
        }

        impl Table {
            /// Looks the functions up; the error is the name of one that is not there.
            ///
            /// # Safety
            ///
            /// The library is NVIDIA's cuBLASLt, and stays open as long as a table of it is used.
            pub(super) unsafe fn of(library: &Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $(
                        // SAFETY: `cublasLt.h` has this signature; a `cublasStatus_t` is an
                        // `int` there, handles are pointers.
                        $name: *unsafe { library.get::<unsafe extern "C" fn($($type),*) -> i32>($symbol.as_bytes()) }
                            .map_err(|_| $symbol)?,
                    )*
                })
            }
        }
    };
}

functions! {
    create = "cublasLtCreate" (handle: *mut Opaque);
    destroy = "cublasLtDestroy" (handle: Opaque);
    description_create = "cublasLtMatmulDescCreate" (description: *mut Opaque, compute: c_int, scale: c_int);
    description_destroy = "cublasLtMatmulDescDestroy" (description: Opaque);
    description_set = "cublasLtMatmulDescSetAttribute"
        (description: Opaque, attribute: c_int, value: *const c_void, len_bytes: usize);
    layout_create = "cublasLtMatrixLayoutCreate"
        (layout: *mut Opaque, data_type: c_int, rows: u64, columns: u64, column_stride: i64);
    layout_destroy = "cublasLtMatrixLayoutDestroy" (layout: Opaque);
    layout_set = "cublasLtMatrixLayoutSetAttribute"
        (layout: Opaque, attribute: c_int, value: *const c_void, len_bytes: usize);
    preference_create = "cublasLtMatmulPreferenceCreate" (preference: *mut Opaque);
    preference_destroy = "cublasLtMatmulPreferenceDestroy" (preference: Opaque);
    preference_set = "cublasLtMatmulPreferenceSetAttribute"
        (preference: Opaque, attribute: c_int, value: *const c_void, len_bytes: usize);
    find = "cublasLtMatmulAlgoGetHeuristic"
        (handle: Opaque, description: Opaque, a: Opaque, b: Opaque, c: Opaque, d: Opaque, preference: Opaque,
         most: c_int, found: *mut Found, count: *mut c_int);
    multiply = "cublasLtMatmul"
        (handle: Opaque, description: Opaque, alpha: *const c_void, a: u64, of_a: Opaque, b: u64, of_b: Opaque,
         beta: *const c_void, c: u64, of_c: Opaque, d: u64, of_d: Opaque, algorithm: *const Algorithm,
         workspace: u64, workspace_bytes: usize, stream: *mut c_void);
}
