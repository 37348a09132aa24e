//! Libraries of NVIDIA's that are opened at run time: where they are looked for, and how.
//!
//! In the order of NVIDIA's `cuda.pathfinder`, newest version that the driver runs first:
//!
//! 1. a library that any code of the process has loaded;
//! 2. the directories of Python packages: `PYTHONPATH`, then the environments `VIRTUAL_ENV` and
//!    `CONDA_PREFIX`, the interpreters in `PATH`, and the user's own packages;
//! 3. `lib` in `CONDA_PREFIX` (`Library/bin` on Windows);
//! 4. the system's loader: `LD_LIBRARY_PATH`, its cache, `PATH` on Windows;
//! 5. `lib64` and `lib` (`bin` on Windows) in `CUDA_HOME`, then in `CUDA_PATH`.
//!
//! An opened library stays open until the process ends. Programs have no use for this module; it is public
//! for tests.

mod open;
mod places;
mod table;

pub use open::open_first;
pub(crate) use open::table_at;
pub use places::{Named, Place, Surroundings, places};
pub(crate) use table::table;
