//! Opens a library: the first that is there and has the functions that are called.
#![allow(unsafe_code)] // loads a library of NVIDIA's

use std::path::Path;

use libloading::Library;

use super::Place;

/// Tries places in order. `at` answers `None` where nothing is, and why where something is that will not do.
///
/// # Errors
///
/// The places that were tried, and why a library that was found will not do.
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

/// The functions of a library at a place, which stays open from now on. `table` looks them up; its error is the
/// name of one that is not there.
pub(crate) fn table_at<T>(
    place: &Place,
    table: impl FnOnce(&Library) -> Result<T, &'static str>,
) -> Option<Result<T, String>> {
    let opened = match place {
        Place::Loaded(name) => already_loaded(name)?,
        Place::File(path) if !path.is_file() => return None,
        Place::File(path) => load(path).map_err(|error| error.to_string()),
        // That it is not there is the common case, and the system's text for it says no more.
        Place::System(name) => Ok(load(Path::new(name)).ok()?),
    };
    Some(opened.and_then(|library| {
        let table = table(&library).map_err(|symbol| format!("has no {symbol}"))?;
        // Other code may hold what this one gave out, so nobody may close it.
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
    /// Only if it is loaded: `RTLD_NOLOAD` of this system's `dlfcn.h`.
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

/// Other systems cannot be asked for loaded libraries.
#[cfg(not(any(unix, windows)))]
fn already_loaded(_: &str) -> Option<Result<Library, String>> {
    None
}
