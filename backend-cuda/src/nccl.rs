//! NCCL, opened at run time, as one replaceable table of functions: for programs that say where the
//! library is, and for tests without it.
//!
//! Nothing is linked: a program without [communicators](devarray::collective) needs no library. The
//! functions return `i32`, because a newer library may answer a status that no enum names yet. Programs
//! have no use for this module; it is public for tests, which replace the table by a library of their own.
//!
//! It is looked for in the places of [`library`](crate::library); among Python packages in
//! `nvidia/nccl/lib`. Versions from 2.18 on will do. Settings of NCCL's own (`NCCL_SOCKET_IFNAME`,
//! `NCCL_NVLS_ENABLE`, …) are the user's: none is set here.

#![allow(unsafe_code)] // looks up functions of NVIDIA's library

mod table;

pub use table::{Comm, Config, Status, Table, UniqueId};

use crate::library::{Named, Surroundings, open_first, places, table_at};

/// The name errors carry.
pub(crate) const LIBRARY: &str = "NCCL";

/// The oldest version with all that is called here: 2.18.
const OLDEST: i32 = 21800;

/// Its file, and where Python packages have it.
const NAMED: Named = Named {
    windows: "nccl{}.dll",
    others: "libnccl.so.{}",
    windows_packages: &["nvidia/nccl/bin"],
    packages: &["nvidia/nccl/lib"],
};

/// Opens the library. The error names the places that were searched.
pub(crate) fn open() -> Result<Table, String> {
    open_first(&places(&NAMED, &[2], &Surroundings::of_process()), |place| {
        // SAFETY: a library of this name is NVIDIA's, and `table_at` never closes it.
        let opened = table_at(place, |library| unsafe { Table::of(library) })?;
        Some(opened.and_then(|table| match table.version() {
            Ok(version) if version >= OLDEST => Ok(table),
            Ok(version) => Err(format!("is version {version}; {OLDEST} is the oldest that will do")),
            Err(status) => Err(format!("says no version: {status}")),
        }))
    })
}
