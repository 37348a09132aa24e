//! The images hold every listed kernel and no other, and the wait instructions that overlapping
//! launches rely on.

use std::{collections::BTreeSet, time::Instant};

use super::super::{
    image::waits_for_the_launch_before,
    kernel::{Entry, Family, Kernel, Module},
};

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

/// The operation of each instruction: on generations 8 and 9 an instruction has 16 bytes, and its
/// first 12 bits name the operation.
fn operations(code: &[u8]) -> impl Iterator<Item = u16> + '_ {
    code.chunks_exact(16).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]) & 0xfff)
}

/// `ACQBULK`, the machine instruction of `griddepcontrol.wait`.
const WAIT: u16 = 0x82e;
/// `LD`, `LDG`, `LDGSTS`, `ST`, `STG`, `CCTL`, and `EXIT`.
const TOUCHES: [u16; 7] = [0x980, 0x981, 0xfae, 0x985, 0x986, 0x98f, 0x94d];

/// The next 4 bits of an instruction name the predicate that it depends on; 7 is none.
const ALWAYS: u16 = 0x7000;

/// `LDGSTS` at a sum of two registers, one of them uniform. NVRTC 12.0 compiles it, with a cache
/// policy, to code that the device refuses.
const REFUSED: u16 = 0xdae;

/// Generations with machine code, and those without.
const CODE: [u32; 2] = [8, 9];
const TEXT: [u32; 2] = [7, 10];

fn image(module: Module, major: u32) -> &'static [u8] {
    module.image(major).unwrap()
}

/// Modules with machine code.
fn coded() -> impl Iterator<Item = Module> {
    Module::ALL.iter().copied().filter(|&module| module != Module::Fill)
}

#[test]
fn every_kernel_waits_before_it_touches_memory_where_launches_overlap() {
    let mut kernels_seen = 0;
    for module in coded() {
        for (name, code) in kernels(image(module, 9)) {
            let name = format!("{} {name}", module.name());
            let waits = code.chunks_exact(16).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
            let waits: Vec<u16> = waits.filter(|word| word & 0xfff == WAIT).collect();
            assert_eq!(waits, [ALWAYS | WAIT], "{name}");
            let first = operations(code).find(|operation| *operation == WAIT || TOUCHES.contains(operation));
            assert_eq!(first, Some(WAIT), "{name}");
            assert!(operations(code).all(|operation| operation != REFUSED), "{name}");
            assert!(
                operations(code).any(|operation| matches!(operation, 0x985 | 0x986)),
                "{name} stores something"
            );
            kernels_seen += 1;
        }
        // Other generations do not wait, so their launches must not overlap.
        let waits = |(_, code)| operations(code).any(|operation| operation == WAIT);
        assert!(!kernels(image(module, 8)).into_iter().any(waits), "{}", module.name());
        for major in TEXT {
            let text = String::from_utf8_lossy(image(module, major));
            assert!(!text.contains("griddepcontrol"), "{}", module.name());
        }
    }
    assert!(kernels_seen > 50, "{kernels_seen}");
    for major in 0..16 {
        for &entry in Entry::ALL {
            let waits = major == 9 && entry.family() != Family::Fill;
            assert_eq!(waits_for_the_launch_before(Kernel::new(entry, 1), major), waits, "{entry:?}");
        }
    }
}

/// Measures the first use of a module, which decompresses it.
#[test]
#[ignore = "measures, and compares nothing: run with --ignored --nocapture"]
fn first_uses() {
    for (module, major) in coded().flat_map(|module| CODE.map(|major| (module, major))) {
        let began = Instant::now();
        let len_bytes = image(module, major).len();
        println!("{} of generation {major}: {len_bytes} B in {:?}", module.name(), began.elapsed());
    }
}

#[test]
fn machine_code_is_an_elf_file_and_text_ends_with_a_zero() {
    for &module in Module::ALL {
        let generations = if module == Module::Fill { TEXT.into() } else { [TEXT, CODE].concat() };
        for major in generations {
            let image = image(module, major);
            let zero = image.iter().position(|&byte| byte == 0);
            match image.starts_with(b"\x7fELF") {
                true => assert!(CODE.contains(&major), "{}", module.name()),
                false => assert_eq!((zero, CODE.contains(&major)), (Some(image.len() - 1), false)),
            }
        }
    }
}

/// The kernels of an image, by name.
fn names(image: &[u8]) -> BTreeSet<String> {
    if image.starts_with(b"\x7fELF") {
        return kernels(image).into_iter().map(|(name, _)| name.replace(".text.", "")).collect();
    }
    let text = String::from_utf8_lossy(image);
    text.split(".entry ").skip(1).map(|rest| rest.split('(').next().unwrap().to_owned()).collect()
}

/// Each kernel of the list, for each of its widths.
fn listed() -> Vec<Kernel> {
    let of = |&entry: &Entry| {
        let names = entry.listed().names.iter();
        names.map(move |&(width, _)| Kernel::new(entry, width))
    };
    Entry::ALL.iter().flat_map(of).collect()
}

#[test]
fn the_list_is_what_the_images_hold() {
    assert_eq!(listed().len(), 120);
    for &module in Module::ALL {
        let of = listed().into_iter().filter(|kernel| kernel.module() == module);
        let expected: BTreeSet<String> =
            of.map(|kernel| kernel.name().unwrap().to_str().unwrap().to_owned()).collect();
        assert!(!expected.is_empty());
        for major in 7..=10 {
            assert_eq!(names(image(module, major)), expected, "{} of generation {major}", module.name());
        }
    }
}

/// No two lines have the same properties, and the properties of a kernel of tiles lead to it.
#[test]
fn each_kernel_of_tiles_is_found_by_what_it_does() {
    for &entry in Entry::ALL {
        let tile = entry.tile();
        assert_eq!(tile.is_some(), entry.family() == Family::Tile, "{entry:?}");
        assert!(tile.is_none_or(|tile| tile.entry() == Some(entry)), "{entry:?}");
    }
    // These kernels are not compiled for every width.
    assert_eq!(Kernel::new(Entry::Packed8, 2).name(), None);
    assert_eq!(Kernel::new(Entry::RowsReverse, 16).name(), None);
}
