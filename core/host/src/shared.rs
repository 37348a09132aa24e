//! State that the clones of a device, its streams and its turns share.

use std::sync::Arc;

use devarray::backend::DeviceInfo;

use crate::{
    index_errors::IndexErrors,
    memory::Room,
    order::{Flags, Later},
    threads::Threads,
};

/// The state of one device.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) info: DeviceInfo,
    pub(crate) room: Arc<Room>,
    pub(crate) later: Later,
    pub(crate) flags: Flags,
    pub(crate) threads: Threads,
    pub(crate) index_errors: IndexErrors,
}
