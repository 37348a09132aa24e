//! Opens cuBLASLt.
#![allow(unsafe_code)] // looks up functions of NVIDIA's library

use super::Table;
use crate::library::{Named, Place, Surroundings, open_first, places, table_at};

/// The oldest version whose functions are as declared here.
const OLDEST_MAJOR: u32 = 11;

/// Its file, and where Python packages have it.
pub const NAMED: Named = Named {
    windows: "cublasLt64_{}.dll",
    others: "libcublasLt.so.{}",
    windows_packages: &["nvidia/cu{}/bin/x86_64", "nvidia/cublas/bin"],
    packages: &["nvidia/cu{}/lib", "nvidia/cublas/lib"],
};

/// Opens the library for a driver of this major version, which runs libraries of its own version and
/// of older ones. The error names the places that were searched.
pub(crate) fn open(driver_major: u32) -> Result<Table, String> {
    let majors: Vec<u32> = (OLDEST_MAJOR..=driver_major).rev().collect();
    open_first(&places(&NAMED, &majors, &Surroundings::of_process()), at)
}

fn at(place: &Place) -> Option<Result<Table, String>> {
    // SAFETY: a library of this name is NVIDIA's, and `table_at` never closes it.
    table_at(place, |library| unsafe { Table::of(library) })
}

#[cfg(test)]
mod tests {
    use std::{fs, ptr};

    use super::{
        super::{Opaque, Status, compute, data_type, description, layout, preference},
        *,
    };

    /// A file that is no library is told with the loader's reason, and the search goes on.
    #[test]
    fn a_file_that_is_no_library_is_told() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("libcublasLt.so.12");
        fs::write(&file, "no library").unwrap();
        let absent = Place::File(root.path().join("libcublasLt.so.11"));
        let of = [Place::File(file), absent, Place::Loaded("libnothing.so.1".to_owned())];
        let refused = open_first(&of, at).err().unwrap();
        let parts: Vec<_> = refused.split(", ").collect();
        let [first, second, third] = parts[..] else { panic!("{refused}") };
        assert!(
            first.contains("libcublasLt.so.12 (") && first.len() > of[0].to_string().len() + 13,
            "{refused}"
        );
        assert!(second.ends_with("libcublasLt.so.11"), "{refused}");
        assert_eq!(third, "libnothing.so.1 among what is loaded");
    }

    /// Another library than cuBLASLt lacks its functions.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_library_of_other_functions_is_told() {
        let found = open_first(&[Place::System("libc.so.6".to_owned())], at);
        assert!(found.err().unwrap().contains("(has no cublasLtCreate)"));
    }

    /// The library of this machine accepts every attribute that we set. Without a library, the reason is told.
    #[test]
    fn the_real_library_or_a_reason() {
        let table = match open(13) {
            Ok(table) => table,
            Err(reason) => return assert!(reason.starts_with("looked for "), "{reason}"),
        };
        let make = |made: &dyn Fn(*mut Opaque) -> i32| {
            let mut raw = ptr::null_mut();
            assert_eq!(Status::check(made(&raw mut raw)), Ok(()));
            raw
        };
        // SAFETY: the pointer is to a local of the right type.
        let described = make(&|to| unsafe { (table.description_create)(to, compute::F32, data_type::F32) });
        // SAFETY: likewise.
        let laid = make(&|to| unsafe { (table.layout_create)(to, data_type::BF16, 3, 4, 5) });
        // SAFETY: likewise.
        let preferred = make(&|to| unsafe { (table.preference_create)(to) });
        let number = 1_u64;
        let value = (&raw const number).cast();
        let (four, eight) = (size_of::<i32>(), size_of::<u64>());
        let mut sizes = vec![
            (table.description_set, described, description::TRANSPOSES_A, four),
            (table.description_set, described, description::TRANSPOSES_B, four),
            (table.layout_set, laid, layout::BATCH_COUNT, four),
            (table.layout_set, laid, layout::BATCH_STRIDE, eight),
            (table.preference_set, preferred, preference::WORKSPACE_BYTES, eight),
            (table.preference_set, preferred, preference::REDUCTIONS, four),
        ];
        let alignments = preference::ALIGNMENTS.map(|each| (table.preference_set, preferred, each, four));
        sizes.extend(alignments);
        for (set, of, attribute, len_bytes) in sizes {
            // SAFETY: the handle is alive, and the value has as many bytes.
            let answers = [len_bytes, 3].map(|len| unsafe { set(of, attribute, value, len) });
            assert_eq!(answers, [0, 7], "attribute {attribute}; the twin has another size");
        }
        for (destroy, of) in [
            (table.description_destroy, described),
            (table.layout_destroy, laid),
            (table.preference_destroy, preferred),
        ] {
            // SAFETY: made above, destroyed once.
            assert_eq!(unsafe { destroy(of) }, 0);
        }
        assert_eq!(size_of::<super::super::Found>(), 96);
    }
}
