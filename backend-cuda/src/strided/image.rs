//! The compiled kernels, as `kernels/build.py` writes them.

use super::kernel::{Family, Kernel};
use crate::{
    driver::Answer,
    packed::{Packed, packed},
};

macro_rules! modules {
    ($($module:ident: $images:ident $name:literal;)*) => {
        /// A module of kernels, loaded when one of them is first needed. Each module of tiles is
        /// `tile.cu` compiled for one width.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Module {
            $($module),*
        }

        impl Module {
            pub const ALL: &'static [Self] = &[$(Self::$module),*];

            /// The name of its file, without suffix.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$module => $name),*
                }
            }

            /// The image that the driver loads for a device of generation `major.x`.
            pub fn image(self, major: u32) -> Answer<&'static [u8]> {
                let packed: &'static Packed = match self {
                    $(Self::$module => packed!(major $images "strided/" $name)),*
                };
                packed.image()
            }
        }
    };
}

modules! {
    Rows: code "rows";
    Gather: code "gather";
    Fill: text "fill";
    Join: code "join";
    Tile1: asynchronous "tile_1";
    Tile2: asynchronous "tile_2";
    Tile4: asynchronous "tile_4";
    Tile8: asynchronous "tile_8";
    Tile16: asynchronous "tile_16";
}

/// Whether a kernel, on devices of a generation, calls `wait_for_previous` (`common.cuh`) before it
/// touches memory, and so waits for the previous launch in its stream. Only such a kernel may begin
/// while the previous launch still works.
pub(crate) fn waits_for_the_launch_before(kernel: Kernel, major: u32) -> bool {
    major == 9 && kernel.entry.family() != Family::Fill
}
