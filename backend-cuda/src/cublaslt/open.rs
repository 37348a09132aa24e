//! Opens the library: the first one found that has the functions that are called.
#![allow(unsafe_code)] // loads a library of NVIDIA's

use std::path::Path;

use libloading::Library;

use super::{Place, Surroundings, Table, places};

/// The oldest version whose functions have the signatures declared here.
const OLDEST_MAJOR: u32 = 11;

/// Opens the library for a driver of this major version, which runs libraries of its own version and
/// of older ones. The error names the places that were searched.
pub(crate) fn open(driver_major: u32) -> Result<Table, String> {
    let majors: Vec<u32> = (OLDEST_MAJOR..=driver_major).rev().collect();
    open_first(&places(&majors, &Surroundings::of_process()), table_at)
}

/// Tries places in order. `at` returns `None` if nothing is there, and a reason if something is there that
/// cannot be used.
///
/// # Errors
///
/// The error lists the places that were tried, and the reason if a library that was found cannot be
/// used.
pub fn open_first<T>(
    places: &[Place],
    mut at: impl FnMut(&Place) -> Option<Result<T, String>>,
) -> Result<T, String> {
    let mut looked = Vec::new();
    for place in places {
        match at(place) {
            Some(Ok(found)) => return Ok(found),
            Some(Err(why)) => looked.push(format!("{place} ({why})")),
            None => looked.push(place.to_string()),
        }
    }
    Err(format!("looked for {}", looked.join(", ")))
}

/// The functions of a library at a place, which stays open from now on.
fn table_at(place: &Place) -> Option<Result<Table, String>> {
    let opened = match place {
        Place::Loaded(name) => already_loaded(name)?,
        Place::File(path) if !path.is_file() => return None,
        Place::File(path) => load(path).map_err(|error| error.to_string()),
        // A missing library is the common case, and the system's message says no more than that.
        Place::System(name) => Ok(load(Path::new(name)).ok()?),
    };
    Some(opened.and_then(|library| {
        // SAFETY: a library of this name is NVIDIA's, and is never closed: see below.
        let table = unsafe { Table::of(&library) }.map_err(|symbol| format!("has no {symbol}"))?;
        // Other code may hold functions of this library, so nobody may close it.
        std::mem::forget(library);
        Ok(table)
    }))
}

fn load(path: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: the library is NVIDIA's, whose initializers may run in any process.
    unsafe { Library::new(path) }
}

/// A library that the process has loaded.
#[cfg(unix)]
fn already_loaded(name: &str) -> Option<Result<Library, String>> {
    use libloading::os::unix::{Library as System, RTLD_LAZY};
    /// Opens the library only if it is loaded: `RTLD_NOLOAD` of this system's `dlfcn.h`.
    const ONLY_LOADED: i32 = if cfg!(target_vendor = "apple") { 0x10 } else { 0x4 };
    // SAFETY: nothing is loaded, so no initializer runs.
    let found = unsafe { System::open(Some(name), RTLD_LAZY | ONLY_LOADED) };
    found.ok().map(|library| Ok(library.into()))
}

/// A library that the process has loaded.
#[cfg(windows)]
fn already_loaded(name: &str) -> Option<Result<Library, String>> {
    use libloading::os::windows::Library as System;
    System::open_already_loaded(name).ok().map(|library| Ok(library.into()))
}

/// Other systems cannot say which libraries are loaded.
#[cfg(not(any(unix, windows)))]
fn already_loaded(_: &str) -> Option<Result<Library, String>> {
    None
}

#[cfg(test)]
mod tests {
    use std::{fs, ptr};

    use super::{
        super::{Opaque, Status, compute, data_type, description, layout, preference},
        *,
    };

    /// If a file is not a library, the error gives the loader's reason, and the search continues.
    #[test]
    fn a_file_that_is_no_library_is_told() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("libcublasLt.so.12");
        fs::write(&file, "no library").unwrap();
        let absent = Place::File(root.path().join("libcublasLt.so.11"));
        let of = [Place::File(file), absent, Place::Loaded("libnothing.so.1".to_owned())];
        let refused = open_first(&of, table_at).err().unwrap();
        let parts: Vec<_> = refused.split(", ").collect();
        let [first, second, third] = parts[..] else { panic!("{refused}") };
        assert!(
            first.contains("libcublasLt.so.12 (") && first.len() > of[0].to_string().len() + 13,
            "{refused}"
        );
        assert!(second.ends_with("libcublasLt.so.11"), "{refused}");
        assert_eq!(third, "libnothing.so.1 among what is loaded");
    }

    /// A library that is not cuBLASLt lacks its functions.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_library_of_other_functions_is_told() {
        let found = open_first(&[Place::System("libc.so.6".to_owned())], table_at);
        assert!(found.err().unwrap().contains("(has no cublasLtCreate)"));
    }

    /// The library of this machine accepts every attribute that is set here. If there is no library, the
    /// reason is printed.
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
