//! cuBLASLt, opened at run time as one replaceable table of functions. For programs that say where
//! the library is, and for tests without it.
//!
//! Nothing is linked: a program that never asks for [fast products](devarray::product::Precision::Fast)
//! needs no library. The functions return `i32`, because a newer library may return a status that no
//! enum names yet. Programs do not need this module. It is public for tests, which replace the table by
//! their own library.
//!
//! # Where it is looked for
//!
//! The search follows NVIDIA's `cuda.pathfinder`, and begins with the newest version that the
//! driver runs:
//!
//! 1. a library that any code of the process has loaded;
//! 2. `nvidia/cu13/lib`, `nvidia/cublas/lib` (`bin` on Windows) in the directories of Python packages:
//!    `PYTHONPATH`, then the environments `VIRTUAL_ENV` and `CONDA_PREFIX`, the interpreters in `PATH`,
//!    and the user's own packages;
//! 3. `lib` in `CONDA_PREFIX` (`Library/bin` on Windows);
//! 4. the system's loader: `LD_LIBRARY_PATH`, its cache, `PATH` on Windows;
//! 5. `lib64` and `lib` (`bin` on Windows) in `CUDA_HOME`, then in `CUDA_PATH`.
//!
//! An opened library stays open until the process ends.

mod open;
mod places;
mod table;

pub(crate) use open::open;
pub use open::open_first;
pub use places::{Place, Surroundings, places};
pub use table::{Algorithm, Found, Opaque, Status, Table};

/// The name errors carry.
pub(crate) const LIBRARY: &str = "cuBLASLt";

/// `cublasComputeType_t`: the types of sums, and of operands.
pub mod compute {
    /// `f32`, with the operands as they are.
    pub const F32: i32 = 68;
    /// `f32`, with operands of 11 bits.
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
    /// The number of elements from one matrix to the next, an `i64`.
    pub const BATCH_STRIDE: i32 = 6;
}

/// `cublasLtMatmulPreferenceAttributes_t`.
pub mod preference {
    /// The bytes of memory that an algorithm may use, a `u64`.
    pub const WORKSPACE_BYTES: i32 = 1;
    /// The ways to add parts of a sum, a `u32` of bits.
    pub const REDUCTIONS: i32 = 3;
    /// The bit of [`REDUCTIONS`] for parts that are kept unrounded, in separate memory.
    pub const UNROUNDED: u32 = 2;
    /// The alignments of the operands, of the result that is read, and of the result that is
    /// written, each a `u32` of bytes.
    pub const ALIGNMENTS: [i32; 4] = [5, 6, 7, 8];
}
