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
    use std::ptr;

    use super::*;

    /// The machine code of each kernel of an image, by section.
    fn kernels(elf: &[u8]) -> Vec<(&str, &[u8])> {
        let number = |at: usize, len: usize| {
            let bytes = elf[at..at + len].iter().rev();
            bytes.fold(0_usize, |sum, &byte| sum << 8 | usize::from(byte))
        };
        let (table, entry_len, entries, names) = (number(40, 8), number(58, 2), number(60, 2), number(62, 2));
        let section = |index: usize| {
            let at = table + index * entry_len;
            (number(at, 4), number(at + 24, 8), number(at + 32, 8))
        };
        let (_, names, _) = section(names);
        let name = |at: usize| {
            let text = &elf[names + at..];
            let end = text.iter().position(|&byte| byte == 0).unwrap();
            std::str::from_utf8(&text[..end]).unwrap()
        };
        let all = (0..entries).map(|index| {
            let (at, start, len_bytes) = section(index);
            (name(at), start, len_bytes)
        });
        all.filter(|(name, ..)| name.starts_with(".text."))
            .map(|(name, start, len_bytes)| (name, &elf[start..start + len_bytes]))
            .collect()
    }

    /// The operation of each instruction: of generations 8 and 9 they are 16 bytes long, and begin with 12 bits that say which.
    fn operations(code: &[u8]) -> impl Iterator<Item = u16> + '_ {
        code.chunks_exact(16).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]) & 0xfff)
    }

    /// `ACQBULK`, what `griddepcontrol.wait` is compiled to.
    const WAIT: u16 = 0x82e;
    /// `LD`, `LDG`, `LDGSTS`, `ST`, `STG`, `CCTL`, and `EXIT`.
    const TOUCHES: [u16; 7] = [0x980, 0x981, 0xfae, 0x985, 0x986, 0x98f, 0x94d];

    /// An instruction names the predicate that it depends on in the next 4 bits; 7 is none.
    const ALWAYS: u16 = 0x7000;

    /// `LDGSTS` at a sum of two registers, one of them uniform. With a policy, NVRTC 12.0 compiles it to what the device refuses.
    const REFUSED: u16 = 0xdae;

    #[test]
    fn every_kernel_waits_before_it_touches_memory_where_launches_overlap() {
        let mut kernels_seen = 0;
        for module in Module::ALL {
            let Images { sm_80, sm_90, compute_80, compute_70 } = images(module);
            for (name, code) in kernels(&sm_90.0) {
                let name = format!("{} {name}", module.name());
                let waits = code.chunks_exact(16).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
                let waits: Vec<u16> = waits.filter(|word| word & 0xfff == WAIT).collect();
                assert_eq!(waits, [ALWAYS | WAIT], "{name}");
                let first =
                    operations(code).find(|operation| *operation == WAIT || TOUCHES.contains(operation));
                assert_eq!(first, Some(WAIT), "{name}");
                assert!(operations(code).all(|operation| operation != REFUSED), "{name}");
                assert!(
                    operations(code).any(|operation| matches!(operation, 0x985 | 0x986)),
                    "{name} stores something"
                );
                kernels_seen += 1;
            }
            // The others do not, and their launches must not overlap.
            let waits = |(_, code)| operations(code).any(|operation| operation == WAIT);
            assert!(!kernels(&sm_80.0).into_iter().any(waits), "{}", module.name());
            for text in [compute_80, compute_70] {
                assert!(!String::from_utf8_lossy(&text.0).contains("griddepcontrol"), "{}", module.name());
            }
            for major in 0..16 {
                let own = ptr::eq(module.image(major).cast::<u8>(), sm_90.0.as_ptr());
                assert_eq!(waits_for_the_launch_before(major), own, "{major}");
            }
        }
        assert!(kernels_seen > 50, "{kernels_seen}");
    }

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
