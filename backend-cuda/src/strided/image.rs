//! The compiled kernels, as `kernels/build.py` writes them.

use std::ffi::c_void;

use super::launch::Module;

/// An image where the driver may read it in words.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

/// What one module is for the device generations: machine code for two of them, and for the others text that the driver
/// compiles.
struct Images {
    /// Machine code of generation 8.0, which every 8.x runs.
    sm_80: &'static Aligned<[u8]>,
    /// Machine code of generation 9.0.
    sm_90: &'static Aligned<[u8]>,
    /// Text, ended by a zero, for 8.0 and newer.
    compute_80: &'static Aligned<[u8]>,
    /// Text, ended by a zero, for 7.0 and newer, without asynchronous copies to shared memory.
    compute_70: &'static Aligned<[u8]>,
}

macro_rules! image {
    ($name:literal, $suffix:literal) => {{
        static IMAGE: &Aligned<[u8]> =
            &Aligned(*include_bytes!(concat!("../../kernels/strided/", $name, $suffix)));
        IMAGE
    }};
}

macro_rules! images {
    ($($module:ident $name:literal;)*) => {
        fn images(module: Module) -> Images {
            match module {
                $(Module::$module => Images {
                    sm_80: image!($name, ".sm_80.cubin"),
                    sm_90: image!($name, ".sm_90.cubin"),
                    compute_80: image!($name, ".80.ptx"),
                    compute_70: image!($name, ".70.ptx"),
                },)*
            }
        }
    };
}

images! {
    Rows "rows";
    Gather "gather";
    Tile1 "tile_1";
    Tile2 "tile_2";
    Tile4 "tile_4";
    Tile8 "tile_8";
    Tile16 "tile_16";
}

impl Module {
    /// What the driver loads for a device of generation `major.x`.
    pub(crate) fn image(self, major: u32) -> *const c_void {
        let images = images(self);
        let image = match major {
            ..8 => images.compute_70,
            8 => images.sm_80,
            9 => images.sm_90,
            10.. => images.compute_80,
        };
        image.0.as_ptr().cast()
    }
}

/// Whether the image for a generation waits by itself for the launch before it in its stream, before it touches memory
/// (`wait_for_previous` in `common.cuh`): only then may a launch begin while that one works.
pub(crate) fn waits_for_the_launch_before(major: u32) -> bool {
    major == 9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_code_is_an_elf_file_and_text_ends_with_a_zero() {
        for module in Module::ALL {
            let Images { sm_80, sm_90, compute_80, compute_70 } = images(module);
            for code in [sm_80, sm_90] {
                assert!(code.0.starts_with(b"\x7fELF"), "{}", module.name());
            }
            for text in [compute_80, compute_70] {
                assert_eq!(
                    text.0.iter().position(|&byte| byte == 0),
                    Some(text.0.len() - 1),
                    "{}",
                    module.name()
                );
            }
        }
    }
}
