//! The functions that are called, each listed once, and the status of a call.
#![allow(unsafe_code)] // function pointers of the library

use std::{
    ffi::{c_char, c_int, c_void},
    fmt, ptr,
};

/// A communicator of the library.
pub type Comm = *mut c_void;

/// A status that is not success. An integer, because a newer library may answer one without a name here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(pub i32);

impl Status {
    /// The call has begun, and NCCL finishes it in the background.
    pub const IN_PROGRESS: Self = Self(7);

    /// The status of a call's answer.
    pub(crate) fn check(answer: i32) -> Result<(), Self> {
        if answer == 0 { Ok(()) } else { Err(Self(answer)) }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            1 => "ncclUnhandledCudaError",
            2 => "ncclSystemError",
            3 => "ncclInternalError",
            4 => "ncclInvalidArgument",
            5 => "ncclInvalidUsage",
            6 => "ncclRemoteError",
            7 => "ncclInProgress",
            code => return write!(f, "ncclResult_t {code}"),
        })
    }
}

/// `ncclUniqueId`: the address at which ranks find each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct UniqueId(pub [u8; 128]);

/// `ncclConfig_t` of version 2.18; a newer library takes its own defaults for what it does not have.
#[derive(Debug)]
#[repr(C)]
pub struct Config {
    len_bytes: usize,
    magic: u32,
    version: u32,
    /// 0: calls return at once, and their end is asked for.
    pub blocking: c_int,
    cluster_size: c_int,
    least_blocks: c_int,
    most_blocks: c_int,
    network: *const c_char,
    shares_on_split: c_int,
}

/// An integer that the library chooses.
const UNDEFINED: c_int = c_int::MIN;

impl Config {
    /// Calls that return at once; all else as the library chooses.
    #[must_use]
    pub const fn non_blocking() -> Self {
        Self {
            len_bytes: size_of::<Self>(),
            magic: 0xcafe_beef,
            version: 21800,
            blocking: 0,
            cluster_size: UNDEFINED,
            least_blocks: UNDEFINED,
            most_blocks: UNDEFINED,
            network: ptr::null(),
            shares_on_split: UNDEFINED,
        }
    }
}

crate::library::table! {
    get_version = "ncclGetVersion" (version: *mut c_int);
    get_unique_id = "ncclGetUniqueId" (id: *mut UniqueId);
    init = "ncclCommInitRankConfig" (comm: *mut Comm, ranks: c_int, id: UniqueId, rank: c_int, config: *mut Config);
    finalize = "ncclCommFinalize" (comm: Comm);
    destroy = "ncclCommDestroy" (comm: Comm);
    abort = "ncclCommAbort" (comm: Comm);
    async_error = "ncclCommGetAsyncError" (comm: Comm, status: *mut c_int);
    group_start = "ncclGroupStart" ();
    group_end = "ncclGroupEnd" ();
    send = "ncclSend" (from: *const c_void, count: usize, of: c_int, peer: c_int, comm: Comm, stream: *mut c_void);
    receive = "ncclRecv" (to: *mut c_void, count: usize, of: c_int, peer: c_int, comm: Comm, stream: *mut c_void);
    all_gather = "ncclAllGather"
        (from: *const c_void, to: *mut c_void, count: usize, of: c_int, comm: Comm, stream: *mut c_void);
    broadcast = "ncclBroadcast"
        (from: *const c_void, to: *mut c_void, count: usize, of: c_int, root: c_int, comm: Comm, stream: *mut c_void);
}

impl Table {
    /// The version: 22803 is 2.28.3.
    pub(super) fn version(&self) -> Result<i32, Status> {
        let mut version = 0;
        // SAFETY: the pointer is to a local of the right type.
        Status::check(unsafe { (self.get_version)(&raw mut version) })?;
        Ok(version)
    }
}
