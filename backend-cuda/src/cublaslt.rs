//! cuBLASLt, opened at run time, as one replaceable table of functions: for programs that say where
//! the library is, and for tests without it.
//!
//! Nothing is linked: a program that never asks for [fast
//! products](devarray::product::Precision::Fast) needs no library. The functions return `i32`, because
//! a newer library may answer a status that no enum names yet. Programs have no use for this module; it
//! is public for tests, which replace the table by a library of their own.
//!
//! # Where it is looked for
//!
//! In the places of [`library`](crate::library); among Python packages in `nvidia/cu13/lib` and
//! `nvidia/cublas/lib` (`bin` on Windows).

mod open;
mod table;

pub use open::NAMED;
pub(crate) use open::open;
pub use table::{Algorithm, Found, Opaque, Status, Table};

/// The name errors carry.
pub(crate) const LIBRARY: &str = "cuBLASLt";

/// `cublasComputeType_t`: the types of sums, and of operands.
pub mod compute {
    /// `f32`, of the operands as they are.
    pub const F32: i32 = 68;
    /// `f32`, of operands of 11 bits.
    pub const F32_OF_TF32: i32 = 77;
}

/// `cudaDataType_t`.
pub mod data_type {
    /// `f32`.
    pub const F32: i32 = 0;
    /// `f16`.
    pub const F16: i32 = 2;
    /// `bf16`.
    pub const BF16: i32 = 14;
}

/// `cublasLtMatmulDescAttributes_t`, each an `i32`.
pub mod description {
    /// Whether the left operand is transposed.
    pub const TRANSPOSES_A: i32 = 3;
    /// Whether the right operand is transposed.
    pub const TRANSPOSES_B: i32 = 4;
}

/// `cublasLtMatrixLayoutAttribute_t`.
pub mod layout {
    /// The number of matrices, an `i32`.
    pub const BATCH_COUNT: i32 = 5;
    /// Elements from one matrix to the next, an `i64`.
    pub const BATCH_STRIDE: i32 = 6;
}

/// `cublasLtMatmulPreferenceAttributes_t`.
pub mod preference {
    /// Bytes of memory that there are for an algorithm, a `u64`.
    pub const WORKSPACE_BYTES: i32 = 1;
    /// The ways to add parts of a sum, a `u32` of bits.
    pub const REDUCTIONS: i32 = 3;
    /// The bit of [`REDUCTIONS`] for parts that are kept unrounded, in memory of their own.
    pub const UNROUNDED: u32 = 2;
    /// The alignments of operands, of the result that is read, and of the one that is written,
    /// each a `u32` of bytes.
    pub const ALIGNMENTS: [i32; 4] = [5, 6, 7, 8];
}
