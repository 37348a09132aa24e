//! The compiled kernels, as `kernels/build.py` writes them.

use super::kernel::{Family, Kernel, Module};

/// An image where the driver may read it in words.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

type Image = &'static Aligned<[u8]>;

/// What one module is for the device generations. Text ends with a zero; the driver compiles it.
struct Images {
    /// Text for 7.0 and newer, without asynchronous copies to shared memory.
    compute_70: Image,
    /// Text for 8.0 and newer, where it is another.
    compute_80: Option<Image>,
    /// Machine code of generations 8.0, which every 8.x runs, and 9.0.
    machine_code: Option<[Image; 2]>,
}

macro_rules! image {
    ($name:literal $suffix:literal) => {{
        static IMAGE: Image = &Aligned(*include_bytes!(concat!("../../kernels/strided/", $name, $suffix)));
        IMAGE
    }};
}

macro_rules! with_machine_code {
    ($name:literal, $compute_80:expr) => {
        Images {
            compute_70: image!($name ".70.ptx"),
            compute_80: $compute_80,
            machine_code: Some([image!($name ".sm_80.cubin"), image!($name ".sm_90.cubin")]),
        }
    };
    ($name:literal) => {
        with_machine_code!($name, Some(image!($name ".80.ptx")))
    };
}

fn images(module: Module) -> Images {
    match module {
        Module::Rows => with_machine_code!("rows", None),
        Module::Gather => with_machine_code!("gather", None),
        Module::Join => with_machine_code!("join", None),
        Module::Fill => Images { compute_70: image!("fill" ".70.ptx"), compute_80: None, machine_code: None },
        Module::Tile1 => with_machine_code!("tile_1"),
        Module::Tile2 => with_machine_code!("tile_2"),
        Module::Tile4 => with_machine_code!("tile_4"),
        Module::Tile8 => with_machine_code!("tile_8"),
        Module::Tile16 => with_machine_code!("tile_16"),
    }
}

impl Module {
    /// What the driver loads for a device of generation `major.x`.
    pub fn image(self, major: u32) -> &'static [u8] {
        let Images { compute_70, compute_80, machine_code } = images(self);
        let image = match (major, machine_code) {
            (..8, _) => compute_70,
            (8, Some([code, _])) | (9, Some([_, code])) => code,
            _ => compute_80.unwrap_or(compute_70),
        };
        &image.0
    }
}

/// Whether a kernel on a generation waits by itself for the launch before it in its stream, before
/// it touches memory (`wait_for_previous` in `common.cuh`): only then may its launch begin while
/// that one works.
pub(crate) fn waits_for_the_launch_before(kernel: Kernel, major: u32) -> bool {
    major == 9 && kernel.entry.family() != Family::Fill
}
