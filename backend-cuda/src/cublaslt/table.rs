//! The functions that are called, each listed once, and the status that a call returns.

use std::{
    ffi::{c_int, c_void},
    fmt,
};

/// A handle that the library made: of itself, of a description, a layout or a preference.
pub type Opaque = *mut c_void;

/// A status that is not success. It is an integer, because a newer library may return one without a name
/// here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(pub i32);

impl Status {
    /// No algorithm computes the requested product.
    pub const NOT_SUPPORTED: Self = Self(15);

    /// The status in a call's return value.
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

/// `cublasLtMatmulAlgo_t`: the algorithm for a product, which only the library can read.
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
    /// A status: 0 if the other fields are valid.
    pub state: i32,
    /// The number of times that the product fills the device.
    pub waves: f32,
    /// Not used.
    pub reserved: [c_int; 4],
}

crate::library::table! {
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
