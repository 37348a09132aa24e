//! The compiled kernels, as `kernels/build.py` writes them.

use super::kernel::{Family, Kernel, Module};

/// An image where the driver may read it in words.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

macro_rules! image {
    ($name:literal $suffix:literal) => {{
        static IMAGE: &Aligned<[u8]> =
            &Aligned(*include_bytes!(concat!("../../kernels/strided/", $name, $suffix)));
        &IMAGE.0
    }};
}

/// Machine code for generations 8.0, which every 8.x runs, and 9.0; for others text, which ends with
/// a zero and which the driver compiles: that of 7.0 cannot copy to shared memory asynchronously.
macro_rules! coded {
    ($major:expr, $name:literal $(, $newer:literal)?) => {
        match $major {
            8 => image!($name ".sm_80.cubin"),
            9 => image!($name ".sm_90.cubin"),
            $(10.. => image!($name $newer),)?
            _ => image!($name ".70.ptx"),
        }
    };
}

impl Module {
    /// What the driver loads for a device of generation `major.x`.
    pub fn image(self, major: u32) -> &'static [u8] {
        match self {
            Self::Rows => coded!(major, "rows"),
            Self::Gather => coded!(major, "gather"),
            Self::Join => coded!(major, "join"),
            Self::Fill => image!("fill" ".70.ptx"),
            Self::Tile1 => coded!(major, "tile_1", ".80.ptx"),
            Self::Tile2 => coded!(major, "tile_2", ".80.ptx"),
            Self::Tile4 => coded!(major, "tile_4", ".80.ptx"),
            Self::Tile8 => coded!(major, "tile_8", ".80.ptx"),
            Self::Tile16 => coded!(major, "tile_16", ".80.ptx"),
        }
    }
}

/// Whether a kernel on a generation waits by itself for the launch before it in its stream, before
/// it touches memory (`wait_for_previous` in `common.cuh`): only then may its launch begin while
/// that one works.
pub(crate) fn waits_for_the_launch_before(kernel: Kernel, major: u32) -> bool {
    major == 9 && kernel.entry.family() != Family::Fill
}
